#pragma once
//! @file
//! The unit kernel: units shared by rows (shared_units.hpp) are worked through once for each class.
//!
//! Lanes are classes, and a unit's features are columns of the warp's shared memory. Of a split
//! unit lanes are own classes first: the recurrence leaves K and, of each own feature, one sum for
//! each point. Then lanes are classes: each multiplies the factors of the path's other features and
//! takes one dot product for each own feature.

#include "algorithms/treeshap/quadrature_kernel.cuh"
#include "algorithms/treeshap/unit_items.cuh"

namespace retable::treeshap {

//! A lane's memory where a unit is not split: of each feature x and a sum.
template <int Q, int R>
struct UnitMemory : DeviceMemory<Q, R, Features::kFew, true> {
  static constexpr bool kCategories = false;
  static constexpr bool kUnits = false;

  __device__ __forceinline__ UnitMemory(float4* stack_of_warp, char* columns_of_warp,
                                        std::uint32_t lane) {
    this->stack = stack_of_warp + lane;
    this->columns = columns_of_warp + lane * R * sizeof(float);
    this->phi_bytes = 32 * R * sizeof(float);
    this->step = UnitColumnBytes(Q, false);
    this->threads = 32;
  }

  __device__ __forceinline__ void Begin(std::uint32_t feature, const float (&x)[R]) {
    const float zero[R] = {};
    char* column = this->Column(feature);
    *reinterpret_cast<RowVector<R>*>(column + this->phi_bytes) = Packed<R>(x);
    *reinterpret_cast<RowVector<R>*>(column) = Packed<R>(zero);
  }

  __device__ __forceinline__ float Phi(std::uint32_t feature, int r) const {
    return reinterpret_cast<const float*>(this->Column(feature))[r];
  }
};

//! Where a unit is split: of each own feature x and Q sums, in vectors of four, the last perhaps of
//! two. The upper slots of the stack are in local memory, for the columns take much.
template <int Q>
struct SplitMemory : DeviceMemory<Q, 1, Features::kFew, false> {
  static constexpr bool kSumByPoint = true;
  static constexpr bool kCategories = false;
  static constexpr bool kUnits = false;
  static constexpr int kFours = Q / 4;
  static_assert(Q % 2 == 0);

  char* columns_of_team;     // its first warp's
  std::uint32_t warp_bytes;  // to those of the next
  std::uint32_t lane;

  __device__ __forceinline__ SplitMemory(float4* stack_of_warp, char* columns_of_warp,
                                         std::uint32_t its_lane) {
    this->stack = stack_of_warp + its_lane;
    this->columns = columns_of_warp;
    this->step = UnitColumnBytes(Q, true);
    this->threads = 32;
    lane = its_lane;
  }

  static __device__ __forceinline__ float4* Fours(char* column, std::uint32_t lane) {
    return reinterpret_cast<float4*>(column + 32 * sizeof(float)) + lane;
  }
  static __device__ __forceinline__ float2* Twos(char* column, std::uint32_t lane) {
    return reinterpret_cast<float2*>(column + 32 * (1 + 4 * kFours) * sizeof(float)) + lane;
  }
  static __device__ __forceinline__ void Read(char* column, std::uint32_t lane, float (&sums)[Q]) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const float4 four = Fours(column, lane)[32 * i];
      sums[4 * i] = four.x;
      sums[4 * i + 1] = four.y;
      sums[4 * i + 2] = four.z;
      sums[4 * i + 3] = four.w;
    }
    if constexpr (Q % 4 != 0) {
      const float2 two = *Twos(column, lane);
      sums[Q - 2] = two.x;
      sums[Q - 1] = two.y;
    }
  }
  static __device__ __forceinline__ void Write(char* column, std::uint32_t lane,
                                               const float (&sums)[Q]) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      Fours(column, lane)[32 * i] =
          make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
    }
    if constexpr (Q % 4 != 0) *Twos(column, lane) = make_float2(sums[Q - 2], sums[Q - 1]);
  }

  __device__ __forceinline__ char* Column(std::uint32_t bits) const {
    return this->columns + (bits & tape::kFeatureMask) * this->step;
  }
  __device__ __forceinline__ void Begin(std::uint32_t feature, const float (&x)[1]) {
    reinterpret_cast<float*>(Column(feature))[lane] = x[0];
  }
  __device__ __forceinline__ void X(std::uint32_t bits, float (&x)[1]) const {
    x[0] = reinterpret_cast<const float*>(Column(bits))[lane];
  }
  __device__ __forceinline__ void AddPhi(std::uint32_t bits, const float (&change)[Q]) {
    char* column = Column(bits);
    float sums[Q];
    Read(column, lane, sums);
#pragma unroll
    for (int q = 0; q < Q; ++q) sums[q] += change[q];
    Write(column, lane, sums);
  }
  __device__ __forceinline__ void ClearSums(std::uint32_t features) {
    const float zero[Q] = {};
    for (std::uint32_t f = 0; f < features; ++f) Write(Column(f), lane, zero);
  }
  // Of any of the team's own classes.
  __device__ __forceinline__ void SumsOf(std::uint32_t own, std::uint32_t feature,
                                         float (&sums)[Q]) const {
    Read(columns_of_team + own / 32 * warp_bytes + feature * this->step, own % 32, sums);
  }
};

//! x of a unit's features for the lane's rows. Lane i holds the i-th feature: a key has no more of
//! them than bits.
template <int R, class Memory>
__device__ __forceinline__ void LoadColumns(const UnitLaunch& p, std::uint32_t features,
                                            std::uint32_t feature, const std::uint32_t (&row)[R],
                                            Memory& memory) {
  constexpr std::uint32_t kAhead = 4;
  for (std::uint32_t f = 0; f < features; f += kAhead) {
    float values[kAhead][R];
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      const std::uint32_t column = __shfl_sync(0xffffffffu, feature, min(f + i, features - 1));
      const float* x = p.x + static_cast<std::size_t>(column) * p.stride;
#pragma unroll
      for (int r = 0; r < R; ++r) values[i][r] = __ldg(x + row[r]);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (f + i >= features) break;
      memory.Begin(f + i, values[i]);
    }
  }
}

//! The classes of a split unit's item.
struct ItemClasses {
  const std::uint32_t* list;  //!< GroupingLaunch::split_classes, of the first one
  std::uint32_t count;
  std::uint32_t first_own;  //!< the number of the item's first own class
  std::uint32_t own;        //!< features
  std::uint32_t width;
  float4* table;  //!< of the first one
};

__device__ __forceinline__ ItemClasses ClassesOf(const UnitLaunch& p, const UnitItem& item,
                                                 const Unit& unit) {
  const std::uint32_t first = item.unit * p.row_count;
  const std::uint32_t first_own = item.row - first;
  const uint2 span =
      __ldg(p.spans + item.unit * MostItems(p.row_count, 32) + first_own / (32 * p.members));
  return {p.split_classes + first + span.x,
          span.y,
          first_own,
          unit.own,
          unit.width,
          p.table + __ldg(p.bases + item.unit) + span.x * unit.width};
}

//! Adds what one tape of a split unit gives its classes, once all of the team's sums are there.
//! `first`: nothing stands in the table yet. `factors`: of the path's other features.
template <int Q>
__device__ __forceinline__ void AddClasses(const ItemClasses& classes, std::uint32_t thread,
                                           std::uint32_t threads, const Float4* factors,
                                           std::uint32_t factor_count, bool first,
                                           const SplitMemory<Q>& memory) {
  for (std::uint32_t i = thread; i < classes.count; i += threads) {
    const std::uint32_t one = __ldg(classes.list + i);
    const std::uint32_t own_class = (one & 0xffffu) - classes.first_own;
    float g[Q];
    tape::PathProduct<Q>(factors, factor_count, one >> 16, g);
    float4* to = classes.table + i * classes.width;
    for (std::uint32_t f = 0; f < classes.own; f += 4) {
      const float4 before = first ? make_float4(0, 0, 0, 0) : to[f / 4];
      float sum[4] = {before.x, before.y, before.z, before.w};
#pragma unroll
      for (std::uint32_t j = 0; j < 4; ++j) {
        if (f + j >= classes.own) break;
        float sums[Q];
        memory.SumsOf(own_class, f + j, sums);
        sum[j] += tape::SumOfPoints<Q>(g, sums);
      }
      to[f / 4] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
  }
}

//! Teams of warps take items in turn. A team shares the unit's tapes, of which the next is on its
//! way while one is worked through. Its warps run on one scheduler of the multiprocessor and go
//! through the same operations at the same time: what they wait for most is code.
template <int Q, int R, bool General, bool Split>
__global__ void __launch_bounds__(32 * kTeams * kMostMembers, 1) UnitKernel(UnitLaunch p) {
  extern __shared__ float4 unit_shared[];
  using Memory = std::conditional_t<Split, SplitMemory<Q>, UnitMemory<Q, R>>;
  using Queue = ItemQueue<Unit>;
  static_assert(!Split || R == 1);
  __shared__ std::uint32_t announced[2][kTeams][Queue::kWords];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t team = warp % kTeams;
  const std::uint32_t member = warp / kTeams;
  const std::uint32_t team_threads = blockDim.x / kTeams;
  const auto meet = [&] {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(team_threads) : "memory");
  };
  const std::uint32_t stack_words = p.shared_slots * Memory::kVectors * 32;
  const std::uint32_t warp_words =
      stack_words + p.features * (UnitColumnBytes(Q, Split) / sizeof(float4));
  auto* words = reinterpret_cast<Float4*>(unit_shared) + team * 2 * p.unit_words;
  float4* mine = unit_shared + kTeams * 2 * p.unit_words + warp * warp_words;
  Memory memory(mine, reinterpret_cast<char*>(mine + stack_words), lane);
  [[maybe_unused]] float4 local[Split ? kLocalSlots * Memory::kVectors : 1];
  if constexpr (Split) {
    memory.local = local;
    memory.shared_slots = static_cast<int>(p.shared_slots);
    memory.warp_bytes = kTeams * warp_words * sizeof(float4);
    memory.columns_of_team = memory.columns - member * memory.warp_bytes;
  }
  Queue queue(p.items, p.units, p.counters);
  if (member == 0) queue.Start();
  for (std::uint32_t turn = 0;; turn ^= 1) {
    std::uint32_t* now = announced[turn][team];
    const UnitItem& item = Queue::Item(now);
    const Unit& unit = Queue::Of(now);
    if (member == 0) queue.Publish(now);
    meet();  // the item is known, and nobody reads the last one's tape any more
    if (!Queue::Any(now)) return;
    // A whole tape at once: read word by word it would wait for the second-level cache each time.
    const Float4* from = p.words + unit.first_word;
    std::uint32_t length = unit.words;
    CopyAsync(words, from, length, member * 32 + lane, team_threads);
    if (member == 0) queue.ReadItem();
    const std::uint32_t first = member * 32 * R + lane * R;
    const bool active = member * 32 * R < item.count;
    if (active) {
      const std::uint32_t features = Split ? unit.own : unit.features;
      const std::uint32_t feature = p.feature_lists[unit.first_feature + min(lane, features - 1)];
      std::uint32_t row[R];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        row[r] = p.rows[item.row + min(first + r, item.count - 1)];
      }
      LoadColumns<R>(p, features, feature, row, memory);
    }
    if (member == 0) queue.ReadRecord();
    const std::uint32_t width = Split ? unit.own_width : unit.width;
    float4* to = p.table + item.table + first * width;
    [[maybe_unused]] ItemClasses classes;
    if constexpr (Split) classes = ClassesOf(p, item, unit);
    bool first_tape = true;
    for (std::uint32_t buffer = 0; length > 0; buffer ^= 1, first_tape = false) {
      WaitForCopies();
      meet();  // this tape is here for all, and nobody reads the one before any more
      const Float4* at = words + buffer * p.unit_words;
      const Float4 head = *at;
      from += length;
      length = tape::Bits(head.x);
      if (length > 0) {
        CopyAsync(words + (buffer ^ 1) * p.unit_words, from, length, member * 32 + lane,
                  team_threads);
      }
      if (!Split && !active) continue;
      const std::uint32_t factor_count = Split ? tape::Bits(head.w) : 0;
      const Float4* factors = at + 1 + tape::Bits(head.y) * tape::RecordSize(Q);
      tape::LaneState<Q, R> state;
      if (active) {
        if constexpr (Split) memory.ClearSums(unit.own);
        tape::StartUnit<General, Q, R>(at + 1, tape::Bits(head.y), state, memory);
        tape::RunChunk<General, Q, R>(factors + factor_count * tape::FactorSize(Q), state, memory);
      }
      if constexpr (Split) {
        meet();  // all of the team's sums are there
        AddClasses<Q>(classes, member * 32 + lane, team_threads, factors, factor_count, first_tape,
                      memory);
      }
      const std::uint32_t k_at = tape::Bits(head.z);
      if (k_at == LikeUnit::kNoK || !active) continue;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (first + r >= item.count) continue;
#pragma unroll
        for (int v = 0; v < (Q + 3) / 4; ++v) {
          const auto k = [&](int q) { return q < Q ? state.k[q * R + r] : 0.0f; };
          to[r * width + k_at + v] =
              make_float4(k(4 * v), k(4 * v + 1), k(4 * v + 2), k(4 * v + 3));
        }
      }
    }
    if constexpr (!Split) {
      if (!active) continue;
      const std::uint32_t own = unit.own;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (first + r >= item.count) continue;
        const auto phi = [&](std::uint32_t f) { return f < own ? memory.Phi(f, r) : 0.0f; };
        for (std::uint32_t f = 0; f < own; f += 4) {
          to[r * width + f / 4] = make_float4(phi(f), phi(f + 1), phi(f + 2), phi(f + 3));
        }
      }
    }
  }
}

template <int Q, bool General, bool Split>
void LaunchUnitsKind(const UnitLaunch& launch, cudaStream_t stream) {
  const auto kernel = UnitKernel<Q, RowsPerLane(Q), General, Split>;
  const std::size_t bytes = UnitSharedBytes(Q, launch);
  AllowSharedMemory(kernel, bytes);
  // Blocks for the largest GPU: those without work return at once, and no result depends on them.
  kernel<<<148 * kMostMembers / launch.members, 32 * kTeams * launch.members, bytes, stream>>>(
      launch);
  CheckCuda(cudaGetLastError(), "unit kernel");
}

template <int Q>
void LaunchUnitsPoints(const UnitLaunch& launch, cudaStream_t stream) {
  if constexpr (Q >= kLeastSplitPoints) {
    if (launch.split) {
      launch.missing ? LaunchUnitsKind<Q, true, true>(launch, stream)
                     : LaunchUnitsKind<Q, false, true>(launch, stream);
      return;
    }
  }
  launch.missing ? LaunchUnitsKind<Q, true, false>(launch, stream)
                 : LaunchUnitsKind<Q, false, false>(launch, stream);
}

}  // namespace retable::treeshap
