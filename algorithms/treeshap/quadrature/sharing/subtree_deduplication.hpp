#pragma once
//! @file
//! Subtrees that part the rows alike, or nearly.
//!
//! Boosted trees resemble each other: the trees of one output split the same features at the same
//! thresholds again and again. Two subtrees with one path and the same thresholds below it have the
//! same classes, and half of the subtrees of trained models, and more, are such repetitions; others
//! differ by a threshold or two, and their classes, parted at the thresholds of both, are hardly
//! more. So *like subtrees* of the trees of one output and one number of points become one: rows
//! are grouped once, by the cuts of all; the contributions of all are added up once for each class
//! and once for each row; only K remains one for each, and that of a whole tree nobody needs.
//!
//! A class in the table: the own features' sums, four a group, then K of each subtree, padded to
//! groups of four.

#include <cstdint>
#include <map>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! What becomes of one planned subtree.
struct MergedSubtree {
  std::uint32_t subtree = 0;     //!< the number of all that are like it
  std::uint32_t k = tape::kNoK;  //!< where its K stands in a class, in groups of four words
  bool first = true;             //!< the contributions of all are added where the first one stands
};

//! Like subtrees are sought among the trees of a batch, whose tables are in memory at once.
class SubtreeDeduplication {
 public:
  //! `most_width`: groups of four words that the classes of a batch may take.
  SubtreeDeduplication(int points, std::size_t most_width)
      : points_(points), most_width_(most_width) {}

  //! Of the next tree, in order; places of K are known in the end: AssignK.
  //! O(subtrees x 64 x cuts)
  std::vector<MergedSubtree> Add(const AnnotatedTree& tree,
                                 const std::vector<PlannedSubtree>& planned);

  //! The batch of the last tree.
  std::uint32_t batch() const { return batch_; }

  //! After the last tree: behind the sums of all own features.
  void AssignK(std::vector<MergedSubtree>& of_tree) const;
  //! After the last tree: all subtrees, batch after batch; their tapes are not known here. Their
  //! keys and features are appended to the lists. O(words)
  std::vector<SharedSubtree> Write(std::vector<std::uint32_t>& keys,
                                   std::vector<std::uint32_t>& features) const;

 private:
  // All that are alike.
  struct Joint {
    PlannedSubtree all;  // its cuts, features and key are those of all members
    std::uint32_t members = 0, with_k = 0;

    std::uint32_t OwnGroups() const { return (all.own + 3) / 4; }
  };

  std::uint32_t KGroups() const { return static_cast<std::uint32_t>(points_ + 3) / 4; }
  std::uint32_t JoinOrOpen(const PlannedSubtree& planned, std::vector<std::uint32_t>& candidates);

  int points_;
  std::size_t most_width_;
  std::size_t width_ = 0;  // of the open batch
  std::uint32_t batch_ = 0;
  // Not yet full ones of the open batch, by output and path.
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> open_;
  std::vector<Joint> joints_;
};

}  // namespace retable::treeshap
