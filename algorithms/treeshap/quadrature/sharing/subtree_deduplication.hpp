#pragma once
//! @file
//! Subtree deduplication: merges subtrees that induce nearly the same partition of the rows.
//!
//! Boosted trees resemble each other: trees of one output split the same features at the same
//! thresholds. Two subtrees with equal paths and thresholds have the same row classes; half or more
//! of the subtrees of trained models are such repetitions. Others differ by a threshold or two, and
//! the union of their thresholds gives hardly more classes. Such subtrees of one output and one
//! number of points are merged: rows are grouped once, by the thresholds of all; contributions are
//! added once for each class and read once for each row. Only K is kept for each subtree, and K of
//! a whole tree is not needed.
//!
//! A class in the table: the own features' sums, four a group, then K of each subtree, padded to
//! groups of four.

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! What becomes of one planned subtree.
struct MergedSubtree {
  std::uint32_t subtree = 0;     //!< number of the merged subtree
  std::uint32_t k = tape::kNoK;  //!< position of its K in a class, in groups of four words
  bool first = true;             //!< the contributions of all are added where the first one stands
};

//! Candidates are sought among the trees of a batch, whose tables are in memory at once.
class SubtreeDeduplication {
 public:
  //! `most_width`: groups of four words that the classes of a batch may take.
  SubtreeDeduplication(int points, std::size_t most_width)
      : points_(points), most_width_(most_width) {}

  //! Merges the subtrees of the next tree, which must outlive this; AssignK sets the positions of K
  //! in the end. O(subtrees x 64 x cuts)
  std::vector<MergedSubtree> Add(const std::vector<PlannedSubtree>& planned);

  //! The batch of the last tree.
  std::uint32_t batch() const { return batch_; }

  //! After the last tree: behind the sums of all own features.
  void AssignK(std::vector<MergedSubtree>& of_tree) const;
  //! After the last tree: all subtrees, batch after batch; their tapes are not known here. Their
  //! keys and features are appended to the lists. O(words)
  std::vector<SharedSubtree> Write(std::vector<std::uint32_t>& keys,
                                   std::vector<std::uint32_t>& features) const;

 private:
  // A merged subtree.
  struct Joint {
    const PlannedSubtree* all;  // its cuts, features and key are those of all members
    std::unique_ptr<PlannedSubtree> joined = nullptr;  // that, where it is none of them
    std::uint32_t members = 0, with_k = 0;

    std::uint32_t OwnGroups() const { return (all->own + 3) / 4; }
  };

  std::uint32_t KGroups() const { return static_cast<std::uint32_t>(points_ + 3) / 4; }
  std::uint32_t JoinOrOpen(const PlannedSubtree& planned, std::vector<std::uint32_t>& candidates);

  int points_;
  std::size_t most_width_;
  std::size_t width_ = 0;  // of the open batch
  std::uint32_t batch_ = 0;
  // Not yet full ones of the open batch, by output and path.
  std::unordered_map<std::u32string_view, std::vector<std::uint32_t>> open_;
  std::vector<Joint> joints_;
};

}  // namespace retable::treeshap
