#pragma once
//! @file
//! Sums of a stream that is spread over machines or GPUs: the same bits however it is spread.
//!
//! Problem: floating-point sums depend on the order of additions, so that a result would change
//! with the number of ranks. Approach: the stream is cut into chunks of a fixed length, whose sums
//! depend on the chunk alone. Chunks are the leaves of one fixed binary tree: node i of level v
//! covers the chunks i 2^v to (i+1) 2^v - 1, and is the merge of its two children. A rank that
//! holds the chunks [a, b) keeps the largest nodes that fit in: a forest. Appending the forest of
//! the next rank joins siblings as they meet. That is associative, and what is left depends on
//! the range alone; so any bracketing over any number of ranks ends with the same bits.
//!
//! Memory: at most 2 log2(chunks) nodes. Merging: chebyshev_sums.hpp. Deterministic.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/quantiles/column_sums.hpp"

namespace retable::quantiles {

//! Values of a chunk, all chunks but a stream's last one.
inline constexpr std::size_t kChunk = std::size_t{1} << 20;

//! Joins two columns' sums, `left` first.
ColumnSums JoinSums(const ColumnSums& left, const ColumnSums& right, int order);

class SumForest {
 public:
  //! An empty range. @throws std::invalid_argument unless 1 <= order <= 15.
  explicit SumForest(int order);

  //! Adds the sums of a chunk. @throws std::invalid_argument unless it follows the last one.
  void Add(std::uint64_t chunk, const ColumnSums& sums);
  //! Adds the forest of the chunks behind. @throws std::invalid_argument unless it begins where
  //! this one ends, with the same order; an empty forest fits anywhere.
  void Append(const SumForest& later);
  //! The sums of all chunks.
  ColumnSums Total() const;

  bool empty() const { return nodes_.empty(); }
  std::size_t nodes() const { return nodes_.size(); }
  int order() const { return order_; }

  //! A message of fixed length, for reductions that want one.
  static constexpr std::size_t kMostNodes = 96;  // 2^48 chunks
  static constexpr std::size_t kNodeDoubles = 3 + 2 * (kMaxOrder + 1 + 6);
  static constexpr std::size_t kWireDoubles = 2 + kMostNodes * kNodeDoubles;
  //! @throws std::length_error for more than kMostNodes nodes.
  std::vector<double> Pack() const;
  //! @throws std::invalid_argument for what Pack did not write.
  static SumForest Unpack(std::span<const double> wire);

 private:
  struct Node {
    int level = 0;
    std::uint64_t index = 0;
    ColumnSums sums;
    std::uint64_t begin() const { return index << level; }
    std::uint64_t end() const { return (index + 1) << level; }
  };
  void Push(Node node);

  int order_;
  std::vector<Node> nodes_;
};

//! The chunks of a part of a stream in host memory, on this thread. `values` starts with chunk
//! `first`; every rank's part but the last one's is whole chunks.
SumForest SumChunks(std::span<const float> values, std::uint64_t first, int order);
SumForest SumChunks(std::span<const double> values, std::uint64_t first, int order);

//! Chunks [begin, end) of rank `rank` of `ranks`, as even as whole chunks allow.
struct ChunkRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
ChunkRange ChunksOfRank(std::uint64_t values, int rank, int ranks);

}  // namespace retable::quantiles
