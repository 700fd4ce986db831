//! @file
//! Games of conjunctions on a CUDA device. A thread takes a term: for a walk it looks up the places
//! of the term's players and adds to two of the walk's differences, in shared memory; for a
//! coalition it tests masks. Blocks of a walk or of a group of coalitions share the terms among
//! them and join their sums by atomic additions, which are exact on integers.

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "algorithms/shapley/games/term_game.hpp"
#include "algorithms/shapley/kernels/codes.cuh"
#include "algorithms/shapley/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shapley {
namespace {

using Sum = unsigned long long;  // two's complement: what atomicAdd takes

constexpr int kMostPlayers = 4096;  // their places and differences fit 48 KiB
constexpr int kGroup = 4;           // coalitions that a thread tests a term against

struct TermView {
  const std::int64_t* coefficient;
  const std::uint16_t* players;
  const std::uint32_t *begin, *middle;
  const std::uint64_t *with, *without;
  std::size_t terms;
  int d;

  __device__ Sum Coefficient(std::size_t t) const { return static_cast<Sum>(coefficient[t]); }
};

__device__ void AddWhereNotZero(Sum* to, Sum value) {
  if (value != 0) atomicAdd(to, value);
}

// change[walk][k]: what place k adds. Block (walk, part).
__global__ void ChangesOfWalks(TermView view, const std::int32_t* orders, Sum* changes) {
  extern __shared__ Sum change[];
  const auto places = static_cast<std::uint32_t>(view.d) + 2;
  auto* place = reinterpret_cast<std::uint16_t*>(change + places);
  for (std::uint32_t k = threadIdx.x; k < places; k += blockDim.x) change[k] = 0;
  const std::int32_t* order = orders + std::size_t{blockIdx.x} * static_cast<std::size_t>(view.d);
  for (int k = static_cast<int>(threadIdx.x); k < view.d; k += static_cast<int>(blockDim.x)) {
    place[order[k]] = static_cast<std::uint16_t>(k + 1);
  }
  __syncthreads();
  const std::size_t step = std::size_t{gridDim.y} * blockDim.x;
  for (std::size_t t = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x; t < view.terms;
       t += step) {
    std::uint32_t from = 0, to = places - 1;
    const std::uint32_t middle = view.middle[t], end = view.begin[t + 1];
    for (std::uint32_t p = view.begin[t]; p < middle; ++p) {
      from = max(from, std::uint32_t{place[view.players[p]]});
    }
    for (std::uint32_t p = middle; p < end; ++p) {
      to = min(to, std::uint32_t{place[view.players[p]]});
    }
    if (from >= to) continue;
    atomicAdd(change + from, view.Coefficient(t));
    atomicAdd(change + to, Sum{0} - view.Coefficient(t));
  }
  __syncthreads();
  Sum* all = changes + std::size_t{blockIdx.x} * places;
  for (std::uint32_t k = threadIdx.x; k < places; k += blockDim.x) {
    AddWhereNotZero(all + k, change[k]);
  }
}

// A warp takes a walk: values are the running sums of its changes.
__global__ void ValuesOfWalks(const Sum* changes, int d, std::size_t walks, double unit,
                              double* values) {
  const std::size_t walk = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (walk >= walks) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto length = static_cast<std::size_t>(d);
  const Sum* change = changes + walk * (length + 2);
  double* to = values + walk * (length + 1);
  Sum before = 0;
  for (int first = 0; first <= d; first += 32) {
    Sum sum = first + lane <= d ? change[first + lane] : 0;
    for (int width = 1; width < 32; width *= 2) {
      const Sum other = __shfl_up_sync(0xFFFFFFFFu, sum, width);
      if (lane >= width) sum += other;
    }
    sum += before;
    if (first + lane <= d)
      to[first + lane] = static_cast<double>(static_cast<long long>(sum)) * unit;
    before = __shfl_sync(0xFFFFFFFFu, sum, 31);
  }
}

// Block (group of coalitions, part of the terms).
__global__ void SumsOfCoalitions(TermView view, const std::uint64_t* coalitions, std::size_t count,
                                 Sum* sums) {
  const std::size_t words = (static_cast<std::size_t>(view.d) + 63) / 64;
  const std::size_t first = std::size_t{blockIdx.x} * kGroup;
  const std::size_t step = std::size_t{gridDim.y} * blockDim.x;
  Sum sum[kGroup] = {};
  for (std::size_t t = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x; t < view.terms;
       t += step) {
    std::uint64_t broken[kGroup] = {};
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t with = view.with[w * view.terms + t];
      const std::uint64_t without = view.without[w * view.terms + t];
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        const std::uint64_t in = coalitions[min(first + g, count - 1) * words + w];
        broken[g] |= (with & ~in) | (without & in);
      }
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) sum[g] += broken[g] == 0 ? view.Coefficient(t) : 0;
  }
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    const Sum whole = WarpSum(sum[g]);
    if (threadIdx.x % 32 == 0 && first + g < count) AddWhereNotZero(sums + first + g, whole);
  }
}

__global__ void ValuesOfSums(const Sum* sums, std::size_t count, double unit, double* values) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < count) values[k] = static_cast<double>(static_cast<long long>(sums[k])) * unit;
}

class DeviceTermGame final : public Game {
 public:
  explicit DeviceTermGame(const TermGame& game) {
    if (game.dimension() > kMostPlayers) {
      throw std::invalid_argument(
          "on a CUDA device a game of conjunctions has at most 4096 players: take device = "
          "\"cpu\"");
    }
    const TermTables tables = game.tables();
    unit_ = tables.unit;
    view_ = {coefficient_.Upload(tables.coefficient),
             players_.Upload(tables.players),
             begin_.Upload(tables.begin),
             middle_.Upload(tables.middle),
             with_.Upload(tables.with),
             without_.Upload(tables.without),
             game.terms(),
             game.dimension()};
    multiprocessors_ = MultiprocessorCount();
  }

  int dimension() const override { return view_.d; }

  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::size_t count = values.size();
    if (count == 0) return;
    const std::lock_guard lock(mutex_);
    const std::size_t groups = (count + kGroup - 1) / kGroup;
    const dim3 grid(static_cast<unsigned>(groups), PartsFor(groups));
    Sum* sums = sums_.Zeros(count);
    SumsOfCoalitions<<<grid, kThreads>>>(view_, coalitions_.Upload(coalitions), count, sums);
    ValuesOfSums<<<BlocksFor(count), kThreads>>>(sums, count, unit_, values_.Reserve(count));
    CheckCuda(cudaGetLastError(), "values of coalitions");
    values_.Download(values);
  }

  void walk(std::span<const std::int32_t> order, std::span<double> values) const override {
    walks(order, values);
  }

  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override {
    const auto d = static_cast<std::size_t>(view_.d);
    const std::size_t count = orders.size() / d;
    if (count == 0) return;
    const std::lock_guard lock(mutex_);
    const dim3 grid(static_cast<unsigned>(count), PartsFor(count));
    const std::size_t bytes = (d + 2) * sizeof(Sum) + d * sizeof(std::uint16_t);
    Sum* changes = sums_.Zeros(count * (d + 2));
    ChangesOfWalks<<<grid, kThreads, bytes>>>(view_, orders_.Upload(orders), changes);
    ValuesOfWalks<<<BlocksFor(32 * count), kThreads>>>(changes, view_.d, count, unit_,
                                                       values_.Reserve(values.size()));
    CheckCuda(cudaGetLastError(), "values of walks");
    values_.Download(values);
  }

 private:
  // Blocks that share the terms, so that few walks use the whole device too: eight blocks to a
  // multiprocessor, each with a few terms a thread at least.
  unsigned PartsFor(std::size_t walks) const {
    const std::size_t wanted = 8 * static_cast<std::size_t>(multiprocessors_) / walks;
    const std::size_t most = view_.terms / (4 * kThreads);
    return static_cast<unsigned>(std::max<std::size_t>(1, std::min(wanted, most)));
  }

  TermView view_{};
  double unit_ = 1;
  int multiprocessors_ = 1;
  DeviceArray<std::int64_t> coefficient_;
  DeviceArray<std::uint16_t> players_;
  DeviceArray<std::uint32_t> begin_, middle_;
  DeviceArray<std::uint64_t> with_, without_;
  mutable std::mutex mutex_;
  mutable DeviceArray<std::uint64_t> coalitions_;
  mutable DeviceArray<std::int32_t> orders_;
  mutable DeviceArray<Sum> sums_;
  mutable DeviceArray<double> values_;
};

}  // namespace

std::unique_ptr<Game> MakeDeviceTermGame(const TermGame& game) {
  return std::make_unique<DeviceTermGame>(game);
}

}  // namespace retable::shapley
