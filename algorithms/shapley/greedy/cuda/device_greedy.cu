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
#include <mutex>

#include "algorithms/shapley/greedy/options.hpp"
#include "algorithms/shapley/kernels/codes.cuh"
#include "algorithms/shapley/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shapley {
namespace {

constexpr int kWarpsABlock = kThreads / 32;

struct Request {
  std::size_t n, candidates, words;
  std::uint64_t seed;
  int d;
  bool by_ranks;
};

struct Tables {
  const std::int64_t* fixed;
  const double* value;
};

// Rows of the candidates' Cholesky factors.
struct QuadratureRows {
  double* entries;  // [candidate][stride]
  RowSums* sums;
  std::size_t stride;
  QuadratureScale scale;
};

// What all kernels see.
struct View {
  Request request;
  Tables tables;
  std::uint64_t* code;    // one a candidate
  std::uint32_t* choice;  // candidate chosen at each step, counted through all steps
  long long* score;       // herding
  QuadratureRows rows;    // quadrature

  __device__ const std::uint64_t* Code(std::size_t c) const { return code + c * request.words; }
};

__global__ void DrawCandidates(View view) {
  extern __shared__ std::uint16_t memory[];
  const std::size_t c = blockIdx.x;
  DrawOrder(view.request.seed, kGreedyStream, c, view.request.d, memory, memory + view.request.d);
  EncodeOrder(memory, view.request.d, view.request.by_ranks, memory + view.request.d,
              view.code + c * view.request.words, view.request.words);
}

__global__ void DrawChosen(View view, std::int32_t* orders) {
  extern __shared__ std::uint16_t memory[];
  DrawOrder(view.request.seed, kGreedyStream, view.choice[blockIdx.x], view.request.d, memory,
            memory + view.request.d);
  for (int k = static_cast<int>(threadIdx.x); k < view.request.d;
       k += static_cast<int>(blockDim.x)) {
    orders[static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(view.request.d) +
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
    return view.tables.fixed[common];
  }
}

template <bool kRanks>
__device__ double Value(const View& view, Common<kRanks> common) {
  if constexpr (kRanks) {
    return static_cast<double>(common);
  } else {
    return view.tables.value[common];
  }
}

// Chooses at `step`, then brings the candidates of later steps below `end` up to date.
template <bool kRanks>
__global__ void HerdStep(View view, std::size_t step, std::size_t end) {
  const std::size_t first = step * view.request.candidates;
  const std::size_t chosen =
      first + BestOf(
                  view.request.candidates, [&](std::size_t i) { return view.score[first + i]; },
                  [](long long a, long long b) { return a < b; });
  const std::size_t warp = Warp();
  if (warp == 0 && Lane() == 0) view.choice[step] = static_cast<std::uint32_t>(chosen);
  const std::size_t c = first + view.request.candidates + warp;
  if (c >= end * view.request.candidates) return;
  const auto common = Compare<kRanks>(view.Code(c), view.Code(chosen), view.request.words);
  if (Lane() == 0) view.score[c] += Fixed<kRanks>(view, common);
}

// Adds the kernels of the candidates of steps [from, end) to all chosen before `from`.
template <bool kRanks>
__global__ void CatchUp(View view, std::size_t from, std::size_t end) {
  const std::size_t first = from * view.request.candidates,
                    count = (end - from) * view.request.candidates;
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
    for (std::size_t w = Lane(); w < view.request.words; w += 32) {
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
  const std::size_t first = step * view.request.candidates;
  const std::size_t chosen =
      first + BestOf(
                  view.request.candidates,
                  [&](std::size_t i) { return view.rows.sums[first + i].Gain(view.rows.scale); },
                  [](double a, double b) { return a > b; });
  const std::size_t warp = Warp();
  if (warp == 0 && Lane() == 0) view.choice[step] = static_cast<std::uint32_t>(chosen);
  const std::size_t c = first + view.request.candidates + warp;
  if (c >= view.request.n * view.request.candidates) return;
  const double* left = view.rows.entries + chosen * view.rows.stride;
  double* mine = view.rows.entries + c * view.rows.stride;
  double lane = 0;
  for (std::size_t j = Lane(); j < step; j += 32) lane = AddProduct(lane, mine[j], left[j]);
  const double known = WarpSum(lane);
  const auto common = Compare<kRanks>(view.Code(c), view.Code(chosen), view.request.words);
  if (Lane() != 0) return;
  const RowSums at = view.rows.sums[chosen];
  const double diagonal = sqrt(at.Pivot(view.rows.scale));
  const double entry = (Value<kRanks>(view, common) - known) / diagonal;
  mine[step] = entry;
  view.rows.sums[c].Add(entry, (1 - at.along) / diagonal);
}

__global__ void GatherRows(View view, double* rows, RowSums* sums) {
  const std::size_t i = blockIdx.x;
  for (std::size_t j = threadIdx.x; j < i; j += blockDim.x) {
    rows[i * view.request.n + j] = view.rows.entries[view.choice[i] * view.rows.stride + j];
  }
  if (threadIdx.x == 0) sums[i] = view.rows.sums[view.choice[i]];
}

unsigned Blocks(std::size_t warps) {
  return static_cast<unsigned>(std::max<std::size_t>(1, (warps + kWarpsABlock - 1) / kWarpsABlock));
}

// Chooses the same orders, with the same weights, as the CPU, bit for bit. Device memory holds the
// codes of all candidates of all steps, and for quadrature a row of n doubles for each. sample()
// throws std::invalid_argument for d over 12288, std::runtime_error for too little device memory or
// a failed launch.
class DeviceGreedy final : public PermutationSampler {
 public:
  DeviceGreedy(const GreedyOptions& options, bool quadrature)
      : options_(options), quadrature_(quadrature) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    CheckSample(n, d);
    if (n == 0) return EmptySample(0, d);
    const KernelTables kernel = PermutationKernel(options_.kernel, options_.lambda, d).Tables();
    const std::lock_guard lock(mutex_);
    View view = Prepare(kernel, n, seed);
    if (!quadrature_) {
      view.score = score_.Zeros(n * options_.candidates);
      return kernel.by_ranks ? Herd<true>(view) : Herd<false>(view);
    }
    view.rows.stride = n;
    view.rows.entries = row_.Reserve(n * options_.candidates * view.rows.stride);
    view.rows.sums = sums_.Zeros(n * options_.candidates);
    view.rows.scale = QuadratureScale::Of(kernel.self);
    return kernel.by_ranks ? Quadrature<true>(view) : Quadrature<false>(view);
  }

  std::vector<Work> work(std::size_t n, int d) const override {
    return GreedyWork(options_, n, d, quadrature_);
  }

 private:
  View Prepare(const KernelTables& kernel, std::size_t n, std::uint64_t seed) const {
    if (kernel.dimension > kLargestDeviceDimension) {
      throw std::invalid_argument("on a CUDA device at most 12288 players: take device = \"cpu\"");
    }
    const std::size_t all = n * options_.candidates;
    if (all > 0x7FFFFFFF) throw std::invalid_argument("more than 2^31 - 1 candidates in all");
    View view{};
    view.request = {n, options_.candidates, kernel.words, seed, kernel.dimension, kernel.by_ranks};
    view.tables = {fixed_.Upload(kernel.fixed), value_.Upload(kernel.value)};
    view.code = code_.Reserve(std::max<std::size_t>(1, all * kernel.words));
    view.choice = choice_.Reserve(n);
    DrawCandidates<<<static_cast<unsigned>(all), 128, OrderBytes(view.request.d)>>>(view);
    CheckCuda(cudaGetLastError(), "drawing candidates");
    return view;
  }

  template <bool kRanks>
  PermutationSample Herd(const View& view) const {
    for (std::size_t step = 0; step < view.request.n; ++step) {
      const std::size_t end = std::min(view.request.n, (step / kBlock + 1) * kBlock);
      if (step > 0 && step % kBlock == 0) {
        const std::size_t groups =
            ((end - step) * view.request.candidates + kTogether - 1) / kTogether;
        const std::size_t warps = groups * ((step + kChunk - 1) / kChunk);
        CatchUp<kRanks><<<Blocks(warps), kThreads>>>(view, step, end);
      }
      HerdStep<kRanks>
          <<<Blocks((end - step - 1) * view.request.candidates), kThreads>>>(view, step, end);
    }
    CheckCuda(cudaGetLastError(), "herding");
    return Orders(view);
  }

  template <bool kRanks>
  PermutationSample Quadrature(const View& view) const {
    for (std::size_t step = 0; step < view.request.n; ++step) {
      QuadratureStep<kRanks>
          <<<Blocks((view.request.n - step - 1) * view.request.candidates), kThreads>>>(view, step);
    }
    double* rows = gathered_.Zeros(view.request.n * view.request.n);
    RowSums* sums = chosen_sums_.Reserve(view.request.n);
    GatherRows<<<static_cast<unsigned>(view.request.n), kThreads>>>(view, rows, sums);
    CheckCuda(cudaGetLastError(), "quadrature");
    PermutationSample sample = Orders(view);
    std::vector<double> left(view.request.n * view.request.n);
    gathered_.Download(left);
    std::vector<RowSums> at(view.request.n);
    chosen_sums_.Download(at);
    CholeskyRows factor(view.request.n);
    for (std::size_t i = 0; i < at.size(); ++i) {
      factor.Add(left.data() + i * view.request.n, at[i], view.rows.scale);
    }
    sample.weights = factor.Weights();
    return sample;
  }

  PermutationSample Orders(const View& view) const {
    PermutationSample sample = EmptySample(view.request.n, view.request.d);
    std::int32_t* orders = orders_.Reserve(sample.orders.size());
    DrawChosen<<<static_cast<unsigned>(view.request.n), 128, OrderBytes(view.request.d)>>>(view,
                                                                                           orders);
    CheckCuda(cudaGetLastError(), "the chosen permutations");
    orders_.Download(sample.orders);
    return sample;
  }

  GreedyOptions options_;
  bool quadrature_;
  mutable std::mutex mutex_;
  // Kept between calls.
  mutable DeviceArray<std::int64_t> fixed_;
  mutable DeviceArray<double> value_, row_, gathered_;
  mutable DeviceArray<std::uint64_t> code_;
  mutable DeviceArray<std::uint32_t> choice_;
  mutable DeviceArray<long long> score_;
  mutable DeviceArray<RowSums> sums_, chosen_sums_;
  mutable DeviceArray<std::int32_t> orders_;
};

Method<PermutationSampler> DeviceMethod(const char* name, const char* summary, bool quadrature) {
  return {.name = name,
          .device = Device::kCuda,
          .summary = summary,
          .citation = "Mitchell et al. 2022, sections 3.1 and 3.2",
          .parameters = GreedyParameters(),
          .make = [quadrature](const Parameters& p) {
            return std::make_unique<DeviceGreedy>(GreedyOptions::From(p), quadrature);
          }};
}

RETABLE_REGISTER(PermutationSampler, herding,
                 (DeviceMethod("Herding", "kernel herding, the CPU's choices", false)));
RETABLE_REGISTER(PermutationSampler, sbq,
                 (DeviceMethod("SBQ", "sequential Bayesian quadrature, the CPU's choices", true)));

}  // namespace
}  // namespace retable::shapley
