#pragma once
//! @file
//! Tuning constants of the family's kernels: H200, 2026-11-20 and 21, MNIST (60,000 x 784, K = 28)
//! unless said. Measurements: docs/lab/extratrees.

#include <cstddef>
#include <cstdint>

namespace retable::extratrees {
namespace frontier {

// Which kernel grows a node, by its samples. Row limits are for one-byte codes.
inline constexpr std::uint32_t kSubtreeRows = 32;  //!< one warp; a sample is one bit of a word
inline constexpr std::uint32_t kWarpRows = 256;    //!< one warp; 32 codes a sample: 8 KiB on chip
inline constexpr std::uint32_t kBlockRows = 2048;  //!< one block; 64 KiB on chip: three blocks fit
inline constexpr std::uint32_t kFewestRows = 128;  //!< on chip, where a block's memory is small
inline constexpr std::uint32_t kBlockWarps = 8;
inline constexpr std::uint32_t kSubtreeWarps = 8;

// Large nodes: lanes are samples, neighbours in a column.
inline constexpr std::uint32_t kLargeGroup = 4;  //!< candidates a block tries: bound by registers
inline constexpr std::uint32_t kLargeWarps = 8;
inline constexpr std::uint32_t kMaxLargeClasses = 1024;     //!< 40 KiB of shared memory
inline constexpr std::uint32_t kMaxLargeCandidates = 1024;  //!< more: rows, one block a node
//! Lanes that are candidates would be idle where there are few.
RETABLE_HD std::uint32_t LargerThan(std::uint32_t candidates) {
  return candidates <= 8 ? kWarpRows : kBlockRows;
}
inline constexpr int kSplitWarps = 16;  //!< warps of the block that partitions a node

// Class counts in shared memory need 33 words a class, sums 33 doublewords: about 66 and 33 KiB
// beside the codes at these limits. Above, one warp grows a node.
inline constexpr std::uint32_t kSharedCountClasses = 512;
inline constexpr std::uint32_t kSharedSumsClasses = 128;

inline constexpr std::uint32_t kNodeReserve =
    16;  //!< nodes a warp takes from the pool by one atomic
inline constexpr std::uint32_t kSubtreesAtOnce = 1u << 15;  //!< enough to fill the device
inline constexpr std::uint32_t kRootThreads = 512;

}  // namespace frontier

// Votes (256 trees, 70,000 rows): one warp a row.
inline constexpr int kVoteWarps = 8;
inline constexpr std::uint32_t kVoteSharedClasses = 256;  //!< 16 KiB a block; more: global atomics
inline constexpr std::size_t kVoteRows = 1u << 17;        //!< bounds the device memory of a call

// Pinned copies: two buffers of kStagingBytes, filled by all cores in slices that fit the L2.
inline constexpr std::size_t kStagingBytes = std::size_t{8} << 20;
inline constexpr std::size_t kStagingSlice = std::size_t{1} << 18;

namespace published {

inline constexpr std::uint32_t kThreads = 128;     //!< one thread a row, feature or cut
inline constexpr std::uint32_t kTreeThreads = 32;  //!< one thread a tree: more blocks

}  // namespace published
}  // namespace retable::extratrees
