#include "algorithms/treeshap/quadrature/sharing/sort_rows.cuh"

#include <cub/block/block_radix_sort.cuh>

#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

namespace {

constexpr int kOwn = (kGroupedRows + kSortThreads - 1) / kSortThreads;
using Sort = cub::BlockRadixSort<std::uint32_t, kSortThreads, kOwn, std::uint16_t>;
static_assert(kOrderTrees == 4 && kGroupedRows <= 1u << 16);

// Four lanes a row, one for each tree.
__global__ void __launch_bounds__(kFindThreads) FindKeys(OrderLaunch p) {
  const std::uint32_t thread = blockIdx.x * kFindThreads + threadIdx.x;
  const std::uint32_t row = thread / kOrderTrees;
  const std::uint32_t tree = thread % kOrderTrees;
  std::uint32_t key = 0;
  if (row < p.count && tree < p.trees) {
    const std::uint32_t root =
        tree < 2 ? (tree == 0 ? p.roots[0] : p.roots[1]) : (tree == 2 ? p.roots[2] : p.roots[3]);
    key = OrderKeyPart(p.nodes, root, p.rows + static_cast<std::size_t>(row) * p.features);
  }
  key |= __shfl_xor_sync(0xffffffffu, key, 1);
  key |= __shfl_xor_sync(0xffffffffu, key, 2);
  if (row < p.count && tree == 0) p.keys[row] = key;
}

// One block.
__global__ void __launch_bounds__(kSortThreads) SortRows(OrderLaunch p) {
  extern __shared__ uint4 shared[];
  std::uint32_t key[kOwn];
  std::uint16_t row[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::uint32_t place = threadIdx.x * kOwn + i;
    key[i] = place < p.count ? p.keys[place] : ~0u;  // equal keys keep their order: behind all rows
    row[i] = static_cast<std::uint16_t>(place);
  }
  Sort(*reinterpret_cast<Sort::TempStorage*>(shared)).Sort(key, row, 0, p.bits);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::uint32_t rank = threadIdx.x * kOwn + i;
    if (rank >= p.count) break;
    const std::uint32_t within = rank % 64;
    const bool whole = rank - within + 64 <= p.count;
    p.order[whole ? rank - within + within % 32 * 2 + within / 32 : rank] = row[i];
  }
}

}  // namespace

void LaunchRowOrder(const OrderLaunch& launch, cudaStream_t stream) {
  const std::uint32_t blocks = (launch.count * kOrderTrees + kFindThreads - 1) / kFindThreads;
  FindKeys<<<blocks, kFindThreads, 0, stream>>>(launch);
  constexpr std::size_t kBytes = sizeof(Sort::TempStorage);
  AllowSharedMemory(SortRows, kBytes);
  SortRows<<<1, kSortThreads, kBytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "order of rows");
}

}  // namespace retable::treeshap
