#include "algorithms/treeshap/pair_kernel.cuh"
#include "algorithms/treeshap/quadrature_tape.hpp"

namespace retable::treeshap {

namespace {

// One lane of the warp; uniform state is the same in all lanes.
template <int Q>
class PairLane {
 public:
  __device__ PairLane(const PairLaunch& launch, float* shared, std::uint32_t segment)
      : p_(launch), lane_(threadIdx.x) {
    row_ = blockIdx.x * 32 + lane_;
    group_ = launch.segments[segment].group;
    stack_ = shared;
    const std::uint32_t pair_count = launch.features * (launch.features - 1) / 2;
    pairs_ = stack_ + launch.slots * kSlot;
    ratios_ = pairs_ + (launch.shared_pairs != 0 ? pair_count * 32 : 0);
    features_ = reinterpret_cast<std::uint32_t*>(ratios_ + launch.positions * Q);
    if (launch.shared_pairs != 0) {
      for (std::uint32_t i = 0; i < pair_count; ++i) pairs_[i * 32 + lane_] = 0;
    }
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      t_[q] = launch.t[segment * Q + q];
      g_[q] = 1;
    }
    op_ = launch.segments[segment].first_op;
  }

  __device__ void Run() {
    for (;; ++op_) {
      const PairOp op = p_.ops[op_];
      const std::uint32_t slot = op.code >> 8;
      switch (op.code & 255u) {
        case pairs::kLeafParent:
          LeafParent(op.node);
          break;
        case pairs::kDown:
          Down(op.node, slot);
          break;
        case pairs::kMid:
          Middle(op.node, slot);
          break;
        case pairs::kUp:
          Up(op.node, slot, false);
          break;
        case pairs::kUpLeaf:
          Up(op.node, slot, true);
          break;
        case pairs::kEndTree:
          EndTree();
          break;
        default:
          return;
      }
    }
  }

 private:
  static constexpr std::uint32_t kSlot = (2 * Q + 2) * 32;

  // delta, and whether the row follows to the first and to the second child.
  struct Route {
    float delta;
    bool first, second;
  };

  __device__ bool InSet(std::uint32_t offset, float value) const {
    const std::uint32_t head = __ldg(p_.sets + offset);
    if (!(value >= 0) || value >= static_cast<float>((head & 0x7fffffffu) * 32)) {
      return (head >> 31) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    return ((__ldg(p_.sets + offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
  }

  __device__ Route Take(const PairNode& node) const {
    const std::uint32_t feature = node.feature & tape::kFeatureMask;
    const float x = __ldg(p_.x + static_cast<std::size_t>(feature) * p_.stride + row_);
    bool inside = x >= node.lower && x < node.upper;
    bool above = x >= node.threshold;
    if ((node.feature & tape::kCategorical) != 0) {
      const std::uint32_t set = __float_as_uint(node.lower);
      inside = set == ~0u || InSet(set, x);
      above = !InSet(__float_as_uint(node.upper), x);
    }
    if (x != x) {
      inside = (node.feature & tape::kMissingInside) != 0;
      above = (node.feature & tape::kMissingAbove) != 0;
    }
    const bool second = above == (node.second_above != 0);
    return {inside ? (above ? node.above : node.below) : 0.0f, inside && !second, inside && second};
  }

  __device__ void LoadTables(std::uint32_t n, float (&g)[Q], float (&e)[Q]) const {
    const auto* from = reinterpret_cast<const float4*>(p_.tables + std::size_t{n} * 2 * Q);
#pragma unroll
    for (int v = 0; v < Q / 4; ++v) {
      const float4 a = __ldg(from + v);
      const float4 b = __ldg(from + Q / 4 + v);
      g[4 * v] = a.x, g[4 * v + 1] = a.y, g[4 * v + 2] = a.z, g[4 * v + 3] = a.w;
      e[4 * v] = b.x, e[4 * v + 1] = b.y, e[4 * v + 2] = b.z, e[4 * v + 3] = b.w;
    }
  }

  // The state of the node's feature below one of its edges, or above it again. Uniform but for the
  // bit.
  __device__ void SetLive(const PairNode& node, float cover, bool follows) {
    __syncwarp();
    if (lane_ < Q) {
      float t = t_[0];
#pragma unroll
      for (int q = 1; q < Q; ++q) t = lane_ == q ? t_[q] : t;
      ratios_[node.position * Q + lane_] = (1.0f - cover) / (t + cover * (1.0f - t));
    }
    if (lane_ == 0) features_[node.position] = node.feature & tape::kFeatureMask;
    __syncwarp();
    const unsigned long long bit = 1ull << node.position;
    mask_ = follows ? mask_ | bit : mask_ & ~bit;
  }

  __device__ void Down(std::uint32_t n, std::uint32_t slot) {
    const PairNode node = p_.nodes[n];
    const Route route = Take(node);
    float g[Q];
    float e[Q];
    LoadTables(n, g, e);
    float* at = stack_ + slot * kSlot + lane_;
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      at[q * 32] = g_[q];
      g_[q] -= g_[q] * fmaf(g[q], route.delta, node.weight);
    }
    at[2 * Q * 32] = __uint_as_float(static_cast<std::uint32_t>(mask_));
    at[(2 * Q + 1) * 32] = __uint_as_float(static_cast<std::uint32_t>(mask_ >> 32));
    SetLive(node, node.first_cover, route.first);
  }

  __device__ void Middle(std::uint32_t n, std::uint32_t slot) {
    const PairNode node = p_.nodes[n];
    const Route route = Take(node);
    float g[Q];
    float e[Q];
    LoadTables(n, g, e);
    float* at = stack_ + slot * kSlot + lane_;
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      at[(Q + q) * 32] = k_[q];
      g_[q] = at[q * 32] * fmaf(g[q], route.delta, node.weight);
    }
    RestoreMask(at);
    SetLive(node, node.second_cover, route.second);
  }

  __device__ void RestoreMask(const float* at) {
    mask_ = static_cast<unsigned long long>(__float_as_uint(at[(2 * Q + 1) * 32])) << 32 |
            __float_as_uint(at[2 * Q * 32]);
  }

  __device__ void Up(std::uint32_t n, std::uint32_t slot, bool leaf) {
    const PairNode node = p_.nodes[n];
    const Route route = Take(node);
    float g[Q];
    float e[Q];
    LoadTables(n, g, e);
    const float* at = stack_ + slot * kSlot + lane_;
    float part[Q];
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const float first = leaf ? k_[q] : at[(Q + q) * 32];
      const float difference = (leaf ? node.second_value : k_[q]) - first;
      part[q] = at[q * 32] * e[q] * difference * route.delta;
      k_[q] = fmaf(fmaf(g[q], route.delta, node.weight), difference, first);
    }
    RestoreMask(at);
    if (node.position < node.live) {  // a repeat: its state above the node is live again
      const bool follows = ((mask_ >> node.position) & 1ull) != 0;
      SetLive(node, node.cover, follows);
    }
    AddPairs(node, part);
  }

  __device__ void LeafParent(std::uint32_t n) {
    const PairNode node = p_.nodes[n];
    const Route route = Take(node);
    float g[Q];
    float e[Q];
    LoadTables(n, g, e);
    const float difference = node.second_value - node.first_value;
    float part[Q];
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      part[q] = g_[q] * e[q] * difference * route.delta;
      k_[q] = fmaf(fmaf(g[q], route.delta, node.weight), difference, node.first_value);
    }
    AddPairs(node, part);
  }

  __device__ void AddPairs(const PairNode& node, const float (&part)[Q]) {
    const std::uint32_t feature = node.feature & tape::kFeatureMask;
    float cold = 0;
#pragma unroll
    for (int q = 0; q < Q; ++q) cold -= part[q] / (1.0f - t_[q]);
    for (std::uint32_t j = 0; j < node.live; ++j) {
      if (j == node.position) continue;
      const float* ratio = ratios_ + j * Q;
      float hot = 0;
#pragma unroll
      for (int q = 0; q < Q; ++q) hot = fmaf(part[q], ratio[q], hot);
      const float value = ((mask_ >> j) & 1ull) != 0 ? hot : cold;
      const std::uint32_t pair = PairIndex(feature, features_[j]);
      if (p_.shared_pairs != 0) {
        pairs_[pair * 32 + lane_] += value;
      } else if (value != 0) {
        AddGlobal(pair, value);
      }
    }
  }

  __device__ void AddGlobal(std::uint32_t pair, float value) {
    const std::size_t pair_count = std::size_t{p_.features} * (p_.features - 1) / 2;
    const long long fixed = __double2ll_rn(static_cast<double>(value) * p_.scale);
    atomicAdd(p_.out + (group_ * pair_count + pair) * p_.stride + row_,
              static_cast<unsigned long long>(fixed));
  }

  __device__ void EndTree() {
    if (p_.shared_pairs == 0) return;
    const std::uint32_t pair_count = p_.features * (p_.features - 1) / 2;
    for (std::uint32_t i = 0; i < pair_count; ++i) {
      const float value = pairs_[i * 32 + lane_];
      if (value != 0) AddGlobal(i, value);
    }
  }

  const PairLaunch& p_;
  std::uint32_t lane_;
  std::uint32_t row_ = 0;
  std::uint32_t group_ = 0;
  std::uint32_t op_ = 0;
  float* stack_ = nullptr;
  float* pairs_ = nullptr;
  float* ratios_ = nullptr;            // positions x Q
  std::uint32_t* features_ = nullptr;  // of each position
  float t_[Q];
  float g_[Q];
  float k_[Q];
  unsigned long long mask_ = 0;
};

template <int Q>
__global__ void __launch_bounds__(32) PairKernel(PairLaunch launch) {
  extern __shared__ float pair_shared[];
  PairLane<Q> lane(launch, pair_shared, blockIdx.y);
  lane.Run();
}

template <int Q>
void Launch(const PairLaunch& launch, cudaStream_t stream) {
  const std::size_t bytes = PairSharedBytes(Q, launch);
  CudaCheck(cudaFuncSetAttribute(PairKernel<Q>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "interaction kernel's shared memory");
  // The grid's second axis holds 65535 blocks: more trees take several launches.
  constexpr std::uint32_t kMost = 65535;
  for (std::uint32_t first = 0; first < launch.segment_count; first += kMost) {
    PairLaunch part = launch;
    part.segments += first;
    part.t += std::size_t{first} * Q;
    part.segment_count =
        launch.segment_count - first < kMost ? launch.segment_count - first : kMost;
    PairKernel<Q><<<dim3(launch.stride / 32, part.segment_count), 32, bytes, stream>>>(part);
    CudaCheck(cudaGetLastError(), "interaction kernel");
  }
}

}  // namespace

void LaunchPairs(int points, const PairLaunch& launch, cudaStream_t stream) {
  if (points == 4) {
    Launch<4>(launch, stream);
  } else {
    Launch<8>(launch, stream);
  }
}

}  // namespace retable::treeshap
