#pragma once
//! @file
//! Exact SHAP values of tree ensembles: values, interactions, interaction indices of any order.
//!
//!     const auto model = retable::TreeModel::Read(bytes);     // XGBoost, LightGBM, retable-forest
//!     retable::TreeExplainer explainer(model);
//!     std::vector<double> phi(rows * model.outputs() * (model.features() + 1));
//!     explainer.values(x, rows, phi);
//!
//! Rows are row-major, a value for each feature of the model; NaN is a missing value. Values are on
//! the model's margin (log odds, say), in its units; a row's values and the expected value add up
//! to its margin (those of index "banzhaf" need not). Without background rows they are the
//! path-dependent values of Lundberg et al. 2020; with them the interventional ones. Method:
//! Gauss-Legendre quadrature, algorithms/treeshap/README.md.
//!
//! All functions throw std::invalid_argument, naming what is wrong, for models and rows that they
//! do not take, and std::runtime_error where a device fails.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

namespace treeshap {
struct TreeEnsemble;
}

//! A tree ensemble, read once; copies share it.
class TreeModel {
 public:
  //! How to read.
  struct ReadOptions {
    bool all_trees = false;  //!< also those after the best iteration, where training stopped early
    //! Takes sentences that a user should know; may be empty.
    std::function<void(const std::string&)> say = {};
  };

  //! Reads the bytes of a model file: XGBoost's JSON or UBJSON, LightGBM's text, retable-forest
  //! JSON, Forest::to_bytes(). O(bytes). Nothing in them is trusted.
  static TreeModel Read(std::string_view bytes, const ReadOptions& options);
  //! The same with no options.
  static TreeModel Read(std::string_view bytes) { return Read(bytes, ReadOptions()); }

  int features() const;       //!< columns of a row
  int outputs() const;        //!< classes or targets; 1 for one
  std::size_t trees() const;  //!< all outputs' together
  //! Empty, or one a feature.
  const std::vector<std::string>& feature_names() const;
  //! Of each output: base score and the cover-weighted mean of its trees.
  std::vector<double> expected_values() const;

  //! Whether the model splits this feature by categories that have names of their own; rows then
  //! hold codes, which category_code() gives.
  bool has_categories(int feature) const;
  //! The code of a category by its text or its number; NaN (missing) where the model's trainer
  //! takes an unknown category for missing. @throws std::invalid_argument where it refuses one.
  double category_code(int feature, std::string_view text) const;
  //! The same for a category that is a number; NaN is missing.
  double category_code(int feature, double number) const;

  //! The margins of `rows` rows, rows x outputs. O(rows * trees * depth). @param threads 0: all
  std::vector<double> predict(std::span<const double> x, std::size_t rows, int threads = 0) const;

 private:
  friend class TreeExplainer;
  explicit TreeModel(std::shared_ptr<const treeshap::TreeEnsemble> model);
  std::shared_ptr<const treeshap::TreeEnsemble> model_;
};

//! Where and how values are computed.
struct TreeExplainerOptions {
  std::string device = "auto";      //!< "auto", "cpu" or "cuda"
  std::string precision = "float";  //!< "float", or "double" on the processor
  std::string index = "shapley";    //!< "shapley", or "banzhaf" on the processor
  int threads = 0;                  //!< processor threads; 0: all
};

//! Explains rows by one model. Calls from several threads take turns.
class TreeExplainer {
 public:
  //! @param background rows x features for interventional values; empty: path-dependent ones
  //! @throws std::invalid_argument for index "banzhaf" with background rows
  explicit TreeExplainer(const TreeModel& model, const TreeExplainerOptions& options = {},
                         std::span<const double> background = {});
  ~TreeExplainer();
  TreeExplainer(TreeExplainer&&) noexcept;             //!< moves
  TreeExplainer& operator=(TreeExplainer&&) noexcept;  //!< moves

  //! phi, rows x outputs x (features + 1); the last column is the expected value.
  void values(std::span<const float> x, std::size_t rows, std::span<double> phi) const;
  //! The same for rows of doubles.
  void values(std::span<const double> x, std::size_t rows, std::span<double> phi) const;

  //! SHAP interaction values, rows x outputs x (features + 1)^2: symmetric, rows sum to the values,
  //! the expected value in the last corner. They and those below are path-dependent. @throws
  //! std::invalid_argument where the explainer has background rows.
  void interactions(std::span<const float> x, std::size_t rows, std::span<double> matrices) const;
  //! The same for rows of doubles.
  void interactions(std::span<const double> x, std::size_t rows, std::span<double> matrices) const;

  //! The same from and to the memory of CUDA device 0 (DeviceMemory in retable/core.hpp), for an
  //! explainer that works there: x, rows x features; the results are bit for bit those of the
  //! calls above. Waits until the rows are there. @throws std::invalid_argument where the explainer
  //! works on the processor, with the reason.
  void values_on_device(const float* x, std::size_t rows, double* phi, void* stream) const;
  //! The same for interactions.
  void interactions_on_device(const float* x, std::size_t rows, double* matrices,
                              void* stream) const;

  //! An ascending set of features and its value.
  struct FeatureSet {
    std::vector<std::int32_t> features;  //!< their places among the model's
    double value = 0;                    //!< margin's units
  };
  //! For each row and output (row-major) the k pairs of largest |interaction value| that are not
  //! zero, the strongest first: entries of interactions(), half of the index of a pair. On the
  //! processor, in float. @throws std::invalid_argument for index "banzhaf".
  std::vector<std::vector<FeatureSet>> top_interactions(std::span<const double> x, std::size_t rows,
                                                        std::size_t k) const;
  //! For each row and output the interaction index (of the options) of every set of `order`
  //! features whose index is not zero. On the processor, in double.
  std::vector<std::vector<FeatureSet>> interaction_index(std::span<const double> x,
                                                         std::size_t rows, int order) const;

  //! What it was made of.
  const TreeModel& model() const;
  //! "cpu" or "cuda": where the last call was computed, or the next one will be.
  std::string device() const;
  //! Why the processor computes; empty where the GPU does.
  std::string why_not_gpu() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable
