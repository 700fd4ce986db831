#pragma once
//! @file
//! From the values of a table to the floats that the splits of a TreeEnsemble compare.
//!
//! Explainers compare floats. Trainers compare what floats do not hold: LightGBM compares doubles
//! (seconds since 1970, prices, identifiers of eight digits), and tables have columns of words. A
//! reader therefore replaces each limit of such a feature by its rank among the feature's limits,
//! and leaves here how a value of the table becomes a rank: no comparison changes, at any
//! precision. A feature split by number and by category, or with zero missing in some trees alone,
//! is split by sets of ranks.

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! Infinities become the largest finite values of their sign; NaN stays.
RETABLE_HD float ClampInfinity(float x) {
  constexpr float limit = std::numeric_limits<float>::max();
  return x > limit ? limit : (x < -limit ? -limit : x);
}

//! The values of a column of categories, as the trainer's table had them. A value's code is its
//! position: splits compare codes.
class CategoryMap {
 public:
  //! Appends a category: words that are taken for it, compared exactly, or a number, or both.
  //! A number of 2^53 and more is left out beside words. @throws std::invalid_argument where it is
  //! all there is
  void add(const std::vector<std::string>& words, std::optional<double> number = {});

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  //! The code, or nothing where the map has no such value.
  std::optional<double> code(std::string_view word) const;
  std::optional<double> code(double number) const;
  //! The first few categories, for messages.
  std::string summary() const;

 private:
  std::size_t count_ = 0;
  std::map<std::string, std::size_t, std::less<>> words_;
  std::map<double, std::size_t> numbers_;
};

//! Whether values are ranked, and what comes before.
struct RankRule {
  bool ranked = false;         //!< a value becomes the number of cuts below it
  bool single = false;         //!< ranked: after rounding to a finite float (XGBoost)
  bool zero_interval = false;  //!< ranked: values in [-1e-35f, 1e-35f] count as 0 (LightGBM)
  bool zero_missing = false;   //!< ranked: 0 is missing

  //! The float of a value; `cuts` ascend. O(log count)
  RETABLE_HD float Encode(double value, const double* cuts, std::size_t count) const {
    constexpr float kZeroThreshold = 1e-35f;  // LightGBM's, a float there too
    constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
    if (!ranked) return static_cast<float>(value);
    if (value != value) return kMissing;
    if (single) value = ClampInfinity(static_cast<float>(value));
    if (zero_interval && value <= kZeroThreshold && value >= -kZeroThreshold) {
      if (zero_missing) return kMissing;
      value = 0;
    }
    std::size_t below = 0;
    while (count > 0) {
      const std::size_t half = count / 2;
      const bool above = cuts[below + half] < value;
      below += above ? half + 1 : 0;
      count = above ? count - half - 1 : half;
    }
    return static_cast<float>(below);
  }
};

//! How a feature's values become floats. As it is made: by rounding.
struct FeatureEncoding {
  //! Not empty: the table has categories, and what follows applies to their codes.
  CategoryMap categories;
  //! A value outside of `categories` is an error, as in XGBoost; else missing, as in LightGBM.
  bool refuses_unknown = false;
  //! The trainer had numbers: levels of a nominal column are read as numbers, not as positions.
  bool number = false;
  //! Of a feature split by category and without a map: the largest category the model names; a
  //! value beyond it, or that is no whole number, is no category of the training data. Else -1.
  double largest_category = -1;

  RankRule rule;
  std::vector<double> cuts;  //!< ascending

  //! The trainer had these texts for 0, 1, ...; numbers where there are none.
  void set_levels(const std::vector<std::string>& levels, bool unknown_refused);
  float encode(double value) const { return rule.Encode(value, cuts.data(), cuts.size()); }
};

}  // namespace retable::treeshap
