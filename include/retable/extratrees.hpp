#pragma once
//! @file
//! Extremely randomized trees (Geurts, Ernst, Wehenkel 2006) for classes and real targets.
//!
//!     const auto forest = retable::Forest::FitClasses({x, rows, columns}, labels, {}, options);
//!     std::vector<double> proba(rows * forest.outputs());
//!     forest.predict({x, rows, columns}, proba);
//!
//! Features are float32, row-major; NaN is a missing value. A feature whose values in a node lie
//! within 1e-7 counts as constant there, as in scikit-learn: scale small units. A split sends value
//! <= threshold left, and says where missing values go. One seed gives one forest: the same on a
//! processor and on a GPU, for any number of threads. Method: algorithms/extratrees/README.md.
//!
//! Functions throw std::invalid_argument, naming what is wrong, for data and options that they do
//! not take, and std::runtime_error where a device fails.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace retable {

//! A row-major matrix that somebody else owns.
struct Rows {
  const float* values = nullptr;  //!< rows x columns
  std::size_t rows = 0;           //!< samples
  std::size_t columns = 0;        //!< features
};

//! How to grow a forest.
struct ForestOptions {
  int trees = 100;            //!< 1 or more
  int max_depth = 0;          //!< 0: no limit
  int min_samples_split = 2;  //!< a node with fewer samples is a leaf
  int min_samples_leaf = 1;   //!< a split that leaves fewer on a side is rejected
  //! Candidates a node; 0: floor(sqrt(columns)) for classes, all for targets.
  int max_features = 0;
  int max_leaf_nodes = 0;  //!< split what gains most first; 0: no limit
  //! A split that leaves less of a tree's weight on a side is rejected; up to 1/2.
  double min_weight_fraction_leaf = 0;
  double min_impurity_decrease = 0;  //!< a node's, times its share of the weight
  bool bootstrap = false;            //!< each tree on as many rows drawn with replacement
  std::uint64_t seed = 0;            //!< one seed, one forest
  std::string device = "auto";       //!< "auto", "cpu" or "cuda"
  int threads = 0;                   //!< processor threads; 0: all
};

//! A tree's nodes as arrays, in preorder, left child first; a leaf's children and feature are -1.
struct TreeArrays {
  std::vector<std::int32_t> feature;       //!< the feature that is compared
  std::vector<std::int32_t> left;          //!< the node of value <= threshold
  std::vector<std::int32_t> right;         //!< the other node
  std::vector<double> threshold;           //!< a value of the feature
  std::vector<double> impurity;            //!< Gini impurity or variance
  std::vector<double> weight;              //!< sum of the training samples' weights
  std::vector<std::uint32_t> samples;      //!< training samples
  std::vector<std::uint8_t> missing_left;  //!< whether missing values go left
  //! nodes x outputs: class fractions or the target; of inner nodes too.
  std::vector<double> value;
};

//! A fitted forest; copies share it. Calls are const and may come from many threads.
class Forest {
 public:
  //! Labels 0 .. classes - 1. @param weights one a row, >= 0, or none
  static Forest FitClasses(const Rows& x, std::span<const std::uint32_t> labels,
                           std::span<const double> weights, const ForestOptions& options);
  //! Finite targets, one a row.
  static Forest FitTargets(const Rows& x, std::span<const double> targets,
                           std::span<const double> weights, const ForestOptions& options);

  std::size_t columns() const;  //!< features of a row
  int outputs() const;          //!< classes; 1 for real targets
  bool regression() const;      //!< whether it was fitted to real targets
  std::size_t trees() const;    //!< how many there are
  //! A copy of tree t. @throws std::out_of_range
  TreeArrays tree(std::size_t t) const;

  //! Mean class fractions of the trees' leaves, or the mean target: rows x outputs. O(rows * trees
  //! * depth). @param threads of the processor; 0: all
  void predict(const Rows& x, std::span<double> results, int threads = 0) const;
  //! The same from and to the memory of CUDA device 0 (DeviceMemory in retable/core.hpp): x, rows x
  //! columns(), to the same bits. The first call takes the forest there, 16 bytes a node.
  void predict_on_device(const float* x, std::size_t rows, double* results, void* stream) const;
  //! The place of each row's leaf among the nodes of each tree: rows x trees.
  void apply(const Rows& x, std::span<std::int64_t> leaves, int threads = 0) const;
  //! Mean decrease of impurity by feature, of sum 1; 0 where no tree splits.
  std::vector<double> feature_importances() const;

  //! Compact, versioned, with a checksum: algorithms/common/forest_bytes.hpp.
  std::vector<std::byte> to_bytes() const;
  //! Reads the bytes of to_bytes(), or retable-forest JSON.
  static Forest from_bytes(std::span<const std::byte> bytes);
  //! retable-forest JSON, which TreeModel::Read takes too.
  std::string to_json() const;
  //! A model file of XGBoost 1.7 and later: thresholds and leaves rounded to float32.
  std::string to_xgboost(const std::vector<std::string>& feature_names = {}) const;

  //! "cpu" or "cuda": where it was grown; "cpu" of one that was read from bytes.
  const std::string& device() const;

 private:
  struct State;
  explicit Forest(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace retable
