#pragma once
//! @file
//! Shared subtrees: subtrees that are evaluated once for each row class.
//!
//! A subtree depends on few bits of a row: for each feature on the path to its root, whether the
//! row follows all splits so far; for each feature it splits, the interval of the value between the
//! subtree's own thresholds. Rows that agree on these are a row class: they have the same G at the
//! root, the same K and the same contributions, bit for bit. A subtree of 20 leaves of a trained
//! model has some 900 row classes among 10,000 rows. A *shared subtree* has at most a given number
//! of leaves. Rows get a key, equal keys form a class, the recurrence of
//! quadrature/annotated_model.hpp runs with classes as lanes, and the rest of the tree reads K and
//! the contributions of a row's class from a table. Where no two rows agree the keys are wasted;
//! elsewhere the work of a leaf falls by the size of a class.
//!
//! A key is exact: two mixed-radix numbers below 2^16 with one digit a feature. Values are compared
//! by rank among all thresholds of their feature, 15 bits, so that one instruction compares two
//! rows.
//!
//! The idea of one evaluation for each pattern of decisions is WOODELF's (Nadel and Wettenstein
//! 2025) for whole paths; here it is a subtree's, found from the rows at hand, and only below a
//! height that pays.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "algorithms/treeshap/model/path_features.hpp"
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
  std::uint32_t groups;  //!< groups of steps, at least one, without the step of a missing value
  std::uint32_t missing_groups;  //!< groups of all steps
  std::uint32_t upper;           //!< 1: the digit is of the key's upper half
};
inline constexpr std::uint32_t kGroupWords = 4;

//! A subtree as the device sees it.
struct SharedSubtree {
  std::uint32_t first_word = 0;     //!< start of its tape: path factors, then instructions
  std::uint32_t words = 0;          //!< length of its first tape
  std::uint32_t first_feature = 0;  //!< start of its list; records hold indices into the list
  std::uint32_t features = 0;       //!< own features first, then those of the path alone
  std::uint32_t own = 0;            //!< features it splits
  std::uint32_t first_key = 0;      //!< start of its key program
  std::uint32_t key_words = 0;      //!< length of the key program
  std::uint32_t digits = 0;
  std::uint32_t keys = 0;   //!< every key is below
  std::uint32_t width = 0;  //!< groups of four words of a class in the table
};

//! Thresholds of each feature, ascending: ranks count those at or below a value.
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
  float lower = -std::numeric_limits<float>::infinity();
  float upper = std::numeric_limits<float>::infinity();
  std::uint32_t bottom = 0, ceiling = kMissingRank;  //!< the interval in ranks
  bool missing_inside = true;
  double cover = 1;
};

//! A subtree's root with the state of its path.
struct PlannedSubtree {
  std::int32_t root = -1;
  PathFeatures<PathFeature> path;
  std::u32string stand;                //!< what merged subtrees have in common: output and path
  std::vector<std::int32_t> features;  //!< own first
  std::uint32_t own = 0;
  //! For each own feature, ascending: ranks of its thresholds within the path's interval. Other
  //! thresholds separate no rows that are inside. Those of one feature after those of another.
  std::vector<std::uint32_t> cuts, cuts_end;
  std::vector<std::uint32_t> key;  //!< program
  std::uint32_t digits = 0;
  std::uint32_t keys = 0;

  //! Of own feature number i.
  std::span<const std::uint32_t> CutsOf(std::size_t i) const {
    const std::uint32_t first = i == 0 ? 0 : cuts_end[i - 1];
    return std::span(cuts).subspan(first, cuts_end[i] - first);
  }
};

//! Writes the key program of the subtree's cuts and path; false where keys do not fit.
//! O(cuts + features x path)
bool WriteKey(PlannedSubtree& subtree);

//! The subtrees of a tree: the largest subtrees of kMinSubtreeLeaves to `most_leaves` leaves whose
//! keys fit. None where `most_leaves` is smaller. O(nodes x depth)
std::vector<PlannedSubtree> PlanSubtrees(const AnnotatedTree& tree, const RankTable& ranks,
                                         std::int32_t most_leaves);

}  // namespace retable::treeshap
