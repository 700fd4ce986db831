#pragma once
//! @file
//! Subtrees whose work rows share.
//!
//! What a subtree asks of a row is little: for each feature on the way to it, whether the row
//! follows all splits so far; for each feature it splits, the place of the value among the
//! subtree's own thresholds. Rows that agree on these have the same G at its root, the same K
//! coming out and the same contributions, bit for bit. A subtree of 20 leaves of a trained model
//! sees some 900 kinds of row among 10,000. So a *subtree*, a subtree of at most a given number of
//! leaves, is worked through once for each kind: rows get a key, equal keys a class, the recurrence
//! of quadrature/annotated_model.hpp runs with classes as lanes, and the rest of the tree takes K
//! and the contributions of a row's class from a table. Where no two rows agree this costs the key
//! in vain; where they do the work of a leaf falls by the size of a class.
//!
//! A key is exact: two mixed-radix numbers below 2^16 with one digit a feature. Values are compared
//! by rank among all thresholds of their feature, 15 bits, so that one instruction compares two
//! rows.
//!
//! The idea of one evaluation for each pattern of decisions is WOODELF's (Nadel and Wettenstein
//! 2025) for whole paths; here it is a subtree's, found from the rows at hand, and only below a
//! height that pays.

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/tuning.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! The rank of a missing value, above all others.
inline constexpr std::uint32_t kMissingRank = 0x7fffu;

//! A digit of a key is a weighted sum of steps, [rank >= cut]. Its program: this head, then steps
//! (1 - cut twice in 16 bits, weight), two in each group of four words, the last perhaps beside one
//! that is never taken. The step of a missing value comes last. Digits of the key's lower half come
//! before those of the upper.
struct KeyDigit {
  std::uint32_t feature;
  std::uint32_t groups;          //!< of steps, at least one, where no value is missing
  std::uint32_t missing_groups;  //!< in all
  std::uint32_t upper;           //!< 1: the digit is of the key's upper half
};
inline constexpr std::uint32_t kGroupWords = 4;

//! A subtree as the device sees it.
struct SharedSubtree {
  std::uint32_t first_word = 0;     //!< of its tape: path factors, then operations
  std::uint32_t words = 0;          //!< of it, where there are several of the first
  std::uint32_t first_feature = 0;  //!< of its list; records refer to places in it
  std::uint32_t features = 0;       //!< own features first, then those of the path alone
  std::uint32_t own = 0;            //!< features it splits
  std::uint32_t first_key = 0;      //!< of its key program
  std::uint32_t key_words = 0;      //!< of it
  std::uint32_t digits = 0;
  std::uint32_t keys = 0;   //!< every key is below
  std::uint32_t width = 0;  //!< groups of four words of a class in the table
};

//! Thresholds of each feature, rising: ranks count those at or below a value.
class RankTable {
 public:
  RankTable() = default;
  explicit RankTable(const AnnotatedModel& model);

  //! Whether every rank fits 15 bits and no split is categorical.
  bool fits() const { return fits_; }
  std::span<const float> thresholds() const { return thresholds_; }
  //! Where each feature's thresholds begin; features + 1 entries.
  std::span<const std::uint32_t> begin() const { return begin_; }

  //! The number of thresholds of the feature at or below x. O(log thresholds)
  std::uint32_t Rank(std::int32_t feature, float x) const;

 private:
  std::vector<float> thresholds_;
  std::vector<std::uint32_t> begin_;
  bool fits_ = false;
};

//! What the path to a subtree's root says about one feature.
struct PathFeature {
  std::int32_t feature = -1;
  float lower = 0, upper = 0;
  std::uint32_t bottom = 0, ceiling = kMissingRank;  //!< the interval in ranks
  bool missing_inside = true;
  double cover = 1;
};

//! A subtree's root with the state of its path.
struct PlannedSubtree {
  std::int32_t root = -1;
  std::vector<PathFeature> path;
  std::vector<std::int32_t> features;  //!< own first
  std::uint32_t own = 0;
  //! Of each own feature, rising: ranks of its thresholds within the path's interval. The others
  //! part no rows that are inside.
  std::vector<std::vector<std::uint32_t>> cuts;
  std::vector<std::uint32_t> key;  //!< program
  std::uint32_t digits = 0;
  std::uint32_t keys = 0;
};

//! Writes the key program of the subtree's cuts and path; false where keys do not fit.
//! O(cuts + features x path)
bool WriteKey(PlannedSubtree& subtree);

//! The subtrees of a tree: the largest subtrees of kMinSubtreeLeaves to `most_leaves` leaves whose
//! keys fit. None where `most_leaves` is smaller. O(nodes x depth)
std::vector<PlannedSubtree> PlanSubtrees(const AnnotatedTree& tree, const RankTable& ranks,
                                         std::int32_t most_leaves);

}  // namespace retable::treeshap
