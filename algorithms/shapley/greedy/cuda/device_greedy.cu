//! @file
//! Greedy choice of permutations on a CUDA device.
//!
//! The candidates of a step do not depend on earlier choices, so all are drawn and coded first. A
//! warp keeps one candidate up to date: after each choice it adds the kernel to the chosen order
//! (herding: an exact integer) or the next entry of the candidate's row of the Cholesky factor
//! (quadrature: a dot product of 32 lanes, LaneDot's order of additions). One launch a step first
//! finds the best of the step's candidates, by every warp for itself.
//!
//! Herding looks only kBlock steps ahead: the candidates of a block of steps catch up with all
//! earlier choices in one launch, four candidates a warp, so that codes come from the first-level
//! cache. O(candidates n^2 d^2 / 64) population counts, and n + n / kBlock launches.

#include <algorithm>

#include "algorithms/shapley/greedy/cuda/device_greedy.hpp"
#include "algorithms/shapley/greedy/quadrature_math.hpp"
#include "algorithms/shapley/kernels/codes.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shapley {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsABlock = kThreads / 32;
constexpr std::size_t kBlock = 16;  // steps that herding looks ahead
constexpr int kTogether = 4;        // candidates a warp compares at a time
constexpr std::size_t kChunk = 32;  // chosen orders a warp compares them with

// What all kernels see.
struct View {
  std::size_t n, candidates, words;
  std::uint64_t seed;
  int d;
  bool by_ranks;
  const std::int64_t* fixed;
  const double* value;
  std::uint64_t* code;    // of every candidate
  std::uint32_t* choice;  // candidate chosen at each step, counted through all steps
  long long* score;       // herding
  double* row;            // quadrature: candidate x stride
  RowSums* sums;          // quadrature
  std::size_t stride;
  QuadratureScale scale;

  __device__ const std::uint64_t* Code(std::size_t c) const { return code + c * words; }
};

__global__ void DrawCandidates(View view) {
  extern __shared__ std::uint16_t memory[];
  const std::size_t c = blockIdx.x;
  DrawOrder(view.seed, kGreedyStream, c, view.d, memory, memory + view.d);
  EncodeOrder(memory, view.d, view.by_ranks, memory + view.d, view.code + c * view.words,
              view.words);
}

__global__ void DrawChosen(View view, std::int32_t* orders) {
  extern __shared__ std::uint16_t memory[];
  DrawOrder(view.seed, kGreedyStream, view.choice[blockIdx.x], view.d, memory, memory + view.d);
  for (int k = static_cast<int>(threadIdx.x); k < view.d; k += static_cast<int>(blockDim.x)) {
    orders[static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(view.d) +
           static_cast<std::size_t>(k)] = memory[k];
  }
}

__device__ int Lane() {
  return static_cast<int>(threadIdx.x % 32);
}
__device__ std::size_t Warp() {
  return (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
}

// The index of the best of `count` keys by a warp; the first of equals. `better(a, b)`.
template <class Key, class Better>
__device__ std::size_t BestOf(std::size_t count, Key key, Better better) {
  auto best = key(0);
  std::size_t at = 0;
  for (std::size_t i = Lane(); i < count; i += 32) {
    const auto mine = key(i);
    if (better(mine, best)) {
      best = mine;
      at = i;
    }
  }
  for (int width = 16; width > 0; width /= 2) {
    const auto other = __shfl_xor_sync(0xFFFFFFFFu, best, width);
    const auto where = __shfl_xor_sync(0xFFFFFFFFu, static_cast<unsigned long long>(at), width);
    if (better(other, best) || (!better(best, other) && where < at)) {
      best = other;
      at = where;
    }
  }
  return at;
}

template <bool kRanks>
__device__ long long Fixed(const View& view, Common<kRanks> common) {
  if constexpr (kRanks) {
    return common;
  } else {
    return view.fixed[common];
  }
}

template <bool kRanks>
__device__ double Value(const View& view, Common<kRanks> common) {
  if constexpr (kRanks) {
    return static_cast<double>(common);
  } else {
    return view.value[common];
  }
}

// Chooses at `step`, then brings the candidates of later steps below `end` up to date.
template <bool kRanks>
__global__ void HerdStep(View view, std::size_t step, std::size_t end) {
  const std::size_t first = step * view.candidates;
  const std::size_t chosen =
      first + BestOf(
                  view.candidates, [&](std::size_t i) { return view.score[first + i]; },
                  [](long long a, long long b) { return a < b; });
  const std::size_t warp = Warp();
  if (warp == 0 && Lane() == 0) view.choice[step] = static_cast<std::uint32_t>(chosen);
  const std::size_t c = first + view.candidates + warp;
  if (c >= end * view.candidates) return;
  const auto common = Compare<kRanks>(view.Code(c), view.Code(chosen), view.words);
  if (Lane() == 0) view.score[c] += Fixed<kRanks>(view, common);
}

// Adds the kernels of the candidates of steps [from, end) to all chosen before `from`.
template <bool kRanks>
__global__ void CatchUp(View view, std::size_t from, std::size_t end) {
  const std::size_t first = from * view.candidates, count = (end - from) * view.candidates;
  const std::size_t chunks = (from + kChunk - 1) / kChunk;
  const std::size_t group = Warp() / chunks * kTogether;
  if (group >= count) return;
  const std::size_t begin = Warp() % chunks * kChunk, stop = min(begin + kChunk, from);
  const std::uint64_t* mine[kTogether];
  for (std::size_t g = 0; g < kTogether; ++g) {
    mine[g] = view.Code(first + min(group + g, count - 1));
  }
  Common<kRanks> kept[kTogether] = {};  // lane t holds the outcome with chosen order begin + t
  for (std::size_t t = begin; t < stop; ++t) {
    const std::uint64_t* other = view.Code(view.choice[t]);
    Common<kRanks> part[kTogether] = {};
    for (std::size_t w = Lane(); w < view.words; w += 32) {
      const std::uint64_t word = other[w];
#pragma unroll
      for (int g = 0; g < kTogether; ++g) part[g] += Part<kRanks>(mine[g][w], word);
    }
#pragma unroll
    for (int g = 0; g < kTogether; ++g) {
      const auto whole = WarpSum(part[g]);
      if (static_cast<std::size_t>(Lane()) == t - begin) kept[g] = whole;
    }
  }
  for (std::size_t g = 0; g < kTogether; ++g) {
    long long score =
        begin + static_cast<std::size_t>(Lane()) < stop ? Fixed<kRanks>(view, kept[g]) : 0;
    score = WarpSum(score);
    if (Lane() == 0 && group + g < count) {
      atomicAdd(reinterpret_cast<unsigned long long*>(view.score + first + group + g),
                static_cast<unsigned long long>(score));
    }
  }
}

// Chooses at `step`, then extends the row of every candidate of later steps by one entry.
template <bool kRanks>
__global__ void QuadratureStep(View view, std::size_t step) {
  const std::size_t first = step * view.candidates;
  const std::size_t chosen =
      first + BestOf(
                  view.candidates,
                  [&](std::size_t i) { return view.sums[first + i].Gain(view.scale); },
                  [](double a, double b) { return a > b; });
  const std::size_t warp = Warp();
  if (warp == 0 && Lane() == 0) view.choice[step] = static_cast<std::uint32_t>(chosen);
  const std::size_t c = first + view.candidates + warp;
  if (c >= view.n * view.candidates) return;
  const double* left = view.row + chosen * view.stride;
  double* mine = view.row + c * view.stride;
  double lane = 0;
  for (std::size_t j = Lane(); j < step; j += 32) lane = AddProduct(lane, mine[j], left[j]);
  const double known = WarpSum(lane);
  const auto common = Compare<kRanks>(view.Code(c), view.Code(chosen), view.words);
  if (Lane() != 0) return;
  const RowSums at = view.sums[chosen];
  const double diagonal = sqrt(at.Pivot(view.scale));
  const double entry = (Value<kRanks>(view, common) - known) / diagonal;
  mine[step] = entry;
  view.sums[c].Add(entry, (1 - at.along) / diagonal);
}

__global__ void GatherRows(View view, double* rows, RowSums* sums) {
  const std::size_t i = blockIdx.x;
  for (std::size_t j = threadIdx.x; j < i; j += blockDim.x) {
    rows[i * view.n + j] = view.row[view.choice[i] * view.stride + j];
  }
  if (threadIdx.x == 0) sums[i] = view.sums[view.choice[i]];
}

unsigned Blocks(std::size_t warps) {
  return static_cast<unsigned>(std::max<std::size_t>(1, (warps + kWarpsABlock - 1) / kWarpsABlock));
}

}  // namespace

class DeviceGreedy::State {
 public:
  View Prepare(const KernelTables& kernel, const GreedyRequest& request) {
    if (kernel.dimension > kLargestDeviceDimension) {
      throw std::invalid_argument("on a CUDA device at most 12288 players: take device = \"cpu\"");
    }
    const std::size_t all = request.n * request.candidates;
    if (all > 0x7FFFFFFF) throw std::invalid_argument("more than 2^31 - 1 candidates in all");
    View view{};
    view.n = request.n;
    view.candidates = request.candidates;
    view.words = kernel.words;
    view.seed = request.seed;
    view.d = kernel.dimension;
    view.by_ranks = kernel.by_ranks;
    view.fixed = fixed_.Upload(kernel.fixed);
    view.value = value_.Upload(kernel.value);
    view.code = code_.Reserve(std::max<std::size_t>(1, all * kernel.words));
    view.choice = choice_.Reserve(request.n);
    DrawCandidates<<<static_cast<unsigned>(all), 128, OrderBytes(view.d)>>>(view);
    CheckCuda(cudaGetLastError(), "drawing candidates");
    return view;
  }

  GreedyChoice Herd(const KernelTables& kernel, const GreedyRequest& request) {
    View view = Prepare(kernel, request);
    view.score = score_.Zeros(request.n * request.candidates);
    return kernel.by_ranks ? HerdAll<true>(view) : HerdAll<false>(view);
  }

  GreedyChoice Quadrature(const KernelTables& kernel, const GreedyRequest& request) {
    View view = Prepare(kernel, request);
    view.stride = request.n;
    view.row = row_.Reserve(request.n * request.candidates * view.stride);
    view.sums = sums_.Zeros(request.n * request.candidates);
    view.scale = QuadratureScale::Of(kernel.self);
    return kernel.by_ranks ? QuadratureAll<true>(view) : QuadratureAll<false>(view);
  }

 private:
  template <bool kRanks>
  GreedyChoice HerdAll(const View& view) {
    for (std::size_t step = 0; step < view.n; ++step) {
      const std::size_t end = std::min(view.n, (step / kBlock + 1) * kBlock);
      if (step > 0 && step % kBlock == 0) {
        const std::size_t groups = ((end - step) * view.candidates + kTogether - 1) / kTogether;
        const std::size_t warps = groups * ((step + kChunk - 1) / kChunk);
        CatchUp<kRanks><<<Blocks(warps), kThreads>>>(view, step, end);
      }
      HerdStep<kRanks><<<Blocks((end - step - 1) * view.candidates), kThreads>>>(view, step, end);
    }
    CheckCuda(cudaGetLastError(), "herding");
    return Orders(view);
  }

  template <bool kRanks>
  GreedyChoice QuadratureAll(const View& view) {
    for (std::size_t step = 0; step < view.n; ++step) {
      QuadratureStep<kRanks>
          <<<Blocks((view.n - step - 1) * view.candidates), kThreads>>>(view, step);
    }
    double* rows = gathered_.Zeros(view.n * view.n);
    RowSums* sums = chosen_sums_.Reserve(view.n);
    GatherRows<<<static_cast<unsigned>(view.n), kThreads>>>(view, rows, sums);
    CheckCuda(cudaGetLastError(), "quadrature");
    GreedyChoice choice = Orders(view);
    choice.rows.resize(view.n * view.n);
    gathered_.Download(choice.rows);
    std::vector<RowSums> at(view.n);
    chosen_sums_.Download(at);
    for (const RowSums& s : at) {
      choice.squares.push_back(s.squares);
      choice.along.push_back(s.along);
    }
    return choice;
  }

  GreedyChoice Orders(const View& view) {
    GreedyChoice choice;
    choice.orders.resize(view.n * static_cast<std::size_t>(view.d));
    std::int32_t* orders = orders_.Reserve(choice.orders.size());
    DrawChosen<<<static_cast<unsigned>(view.n), 128, OrderBytes(view.d)>>>(view, orders);
    CheckCuda(cudaGetLastError(), "the chosen permutations");
    orders_.Download(choice.orders);
    return choice;
  }

  DeviceArray<std::int64_t> fixed_;
  DeviceArray<double> value_, row_, gathered_;
  DeviceArray<std::uint64_t> code_;
  DeviceArray<std::uint32_t> choice_;
  DeviceArray<long long> score_;
  DeviceArray<RowSums> sums_, chosen_sums_;
  DeviceArray<std::int32_t> orders_;
};

DeviceGreedy::DeviceGreedy() : state_(std::make_unique<State>()) {}
DeviceGreedy::~DeviceGreedy() = default;

GreedyChoice DeviceGreedy::Herd(const KernelTables& kernel, const GreedyRequest& request) {
  return request.n == 0 ? GreedyChoice{} : state_->Herd(kernel, request);
}

GreedyChoice DeviceGreedy::Quadrature(const KernelTables& kernel, const GreedyRequest& request) {
  return request.n == 0 ? GreedyChoice{} : state_->Quadrature(kernel, request);
}

}  // namespace retable::shapley
