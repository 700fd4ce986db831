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

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retable::treeshap {

struct TreeEnsemble;

//! The values of a column of categories, as the trainer's table had them. A value's code is its
//! position: splits compare codes.
class CategoryMap {
 public:
  //! Appends a category that is a word; `spellings` are all taken for it. They are compared
  //! exactly.
  void add_word(const std::vector<std::string>& spellings);
  //! Appends a category that is a number.
  void add_number(double number);

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

//! How a feature's values become floats. As it is made: by rounding.
struct FeatureEncoding {
  //! Not empty: the table has categories, and what follows applies to their codes.
  CategoryMap categories;
  //! A value outside of `categories` is an error, as in XGBoost; else missing, as in LightGBM.
  bool refuses_unknown = false;
  //! Of a feature split by category and without a map: the largest category the model names; a
  //! value beyond it, or that is no whole number, is no category of the training data. Else -1.
  double largest_category = -1;

  bool ranked = false;         //!< a value becomes the number of `cuts` below it
  bool single = false;         //!< ranked: after rounding to a finite float (XGBoost)
  bool zero_interval = false;  //!< ranked: values in [-1e-35f, 1e-35f] count as 0 (LightGBM)
  bool zero_missing = false;   //!< ranked: 0 is missing
  std::vector<double> cuts;    //!< ascending

  float encode(double value) const;
};

//! How a trainer compares a row's values with limits of doubles.
enum class RowRule {
  kSingle,    //!< rounded to float (XGBoost)
  kDouble,    //!< as they are (HistGradientBoosting)
  kLightgbm,  //!< values in [-1e-35f, 1e-35f] count as 0; categories are truncated towards zero
};

//! A split by number whose limit is a double: value <= limit goes left.
struct DoubleSplit {
  std::size_t tree = 0, node = 0;
  double limit = 0;
  bool zero_missing = false;  //!< 0 takes the direction of missing values
};

//! Gives the features of `splits` ranks: sets their encodings, and the splits of all trees on them.
//! With kLightgbm features split by category alone are ranked too, since codes of 2^24 and more are
//! no floats. Other splits of the model are already set. O(splits log splits), and for sets of
//! ranks splits x cuts / 32 words.
//! @throws std::invalid_argument over 2^24 limits on a feature, or over 2^24 words of sets
void RankSplits(TreeEnsemble& model, const std::vector<DoubleSplit>& splits, RowRule rule);

//! For readers of models of floats: ranks the features that are split by number and by category, as
//! explainers take one kind a feature, and notes the largest category of the others.
void RankMixedFeatures(TreeEnsemble& model);

//! Rows of the table (row-major, one value per feature, category codes where the feature has
//! categories) as rows of the model.
std::vector<float> EncodeRows(const TreeEnsemble& model, std::span<const double> values);

}  // namespace retable::treeshap
