#pragma once
//! @file
//! A forest of extremely randomized trees: its options, its nodes, its answers.
//!
//! Problem: grow R trees, each on all samples, splitting a node by the best of K random cuts of K
//! random features (Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63,
//! 2006), for classes (Gini) or for real targets (squared error), with weights and missing values.
//!  The forest is the same plain data whoever grew it - the report's node-at-a-time
//! algorithm, the exact frontier on either device, or the scikit-learn-like baseline - so that two
//! forests can be compared node by node. Nodes stand in preorder, left child first, which is
//! scikit-learn's own numbering. Memory: 48 bytes a node. Prediction: O(depth) a row and tree, rows
//! spread over threads.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/common/work.hpp"

namespace retable::extratrees {

//! Which features a node looks at when some of them are constant in it.
enum class ConstantRule {
  kScikitLearn,  //!< first K of a random permutation; on until one of them is not constant
  kGeurts,       //!< K features that are not constant, without replacement (Geurts 2006)
  kPublished,    //!< K draws with replacement among those that are not constant (Phang, Tanna)
};

//! @throws std::invalid_argument for a name other than "scikit-learn", "geurts", "report".
ConstantRule ParseConstantRule(const std::string& name);

struct ForestOptions {
  int n_trees = 100;
  int max_depth = 0;          //!< 0: no limit
  int min_samples_split = 2;  //!< a node with fewer samples is a leaf
  int min_samples_leaf = 1;   //!< a cut which leaves fewer on a side is rejected
  int max_features = 0;       //!< K; 0: floor(sqrt(F)), at least 1, for classes; F for regression
  int max_leaf_nodes = 0;     //!< the split that gains most first, to so many leaves; 0: no limit
  //! A cut which leaves less of a tree's weight on a side is rejected; up to 1/2.
  double min_weight_fraction_leaf = 0;
  double min_impurity_decrease = 0;
  bool bootstrap = false;  //!< each tree on N rows drawn with replacement, by weight where given
  ConstantRule constant_rule = ConstantRule::kScikitLearn;
  std::uint64_t seed = 0;
};

//! A dense row-major matrix of float32 features that somebody else owns. NaN: a missing value.
struct FeatureMatrix {
  const float* values = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

//! The values column by column.
std::vector<float> Transposed(const FeatureMatrix& data);

//! What a forest learns: a class a row, or a real target a row; and what each row weighs.
struct Targets {
  std::span<const std::uint32_t> labels;  //!< classification: 0 .. classes - 1
  std::span<const double> values;         //!< regression: finite
  std::span<const double> weights;        //!< >= 0, or empty: all rows weigh 1

  Targets() = default;
  template <class Labels>
  requires std::convertible_to<const Labels&, std::span<const std::uint32_t>>
  // NOLINTNEXTLINE(google-explicit-constructor): labels alone are the usual targets
  Targets(const Labels& classes, std::span<const double> row_weights = {})
      : labels(classes), weights(row_weights) {}
  static Targets Regression(std::span<const double> values,
                            std::span<const double> row_weights = {}) {
    Targets targets;
    targets.values = values;
    targets.weights = row_weights;
    return targets;
  }
  bool regression() const { return !values.empty(); }
  std::size_t size() const { return regression() ? values.size() : labels.size(); }
};

//! K for F features. @throws std::invalid_argument for K outside 0 .. F.
std::uint32_t ResolveMaxFeatures(int max_features, std::size_t columns, bool regression = false);

struct Forest;
//! A forest without trees for these data. @param classes what CheckTraining returned.
Forest EmptyForest(const FeatureMatrix& data, const Targets& targets, std::uint32_t classes,
                   const ForestOptions& options);

//! Checks data, targets and options together; returns the number of classes (1 for regression).
//! Features are checked where they are read. @throws std::invalid_argument, naming what is wrong
//! and what to do.
std::uint32_t CheckTraining(const FeatureMatrix& data, const Targets& targets,
                            const ForestOptions& options);

using TreeNode = ForestNode;
using Tree = ForestTree;

//! One part of a fit that was timed.
struct PartTime {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0;
};

struct Forest {
  std::size_t columns = 0;
  std::uint32_t classes = 0;  //!< outputs: 1 for regression
  bool regression = false;
  int value_bits = 40;  //!< leaves' values are averaged in units of 2^-value_bits
  std::vector<Tree> trees;

  //! The leaves of n rows in one tree, as places among its nodes. Rows descend side by side, so
  //! that one does not wait for another's reads.
  void Leaves(std::size_t tree, const float* rows, std::size_t n, std::uint32_t* leaves) const;
  //! Mean class fractions of the trees' leaves ("soft vote"), row-major rows x classes; the mean
  //! target for regression. Values are summed in fixed point (2^-value_bits), so that the sum does
  //! not depend on its order.
  void PredictProba(const float* rows, std::size_t n, double* proba) const;
  //! argmax of PredictProba; the lowest class wins a tie.
  //! @throws std::invalid_argument for a regression forest.
  std::vector<std::uint32_t> Predict(const float* rows, std::size_t n) const;
  //! Mean over trees of each tree's impurity decrease per feature, normalised to sum 1; trees of
  //! one node are passed over, as scikit-learn does. Size: columns.
  std::vector<double> FeatureImportances() const;
  std::size_t NodeCount() const;
  double MeanDepth() const;
};

//! The finest unit 2^-bits in which the trees' values, at most `largest`, add up below 2^62.
int ValueBits(double largest, int trees);
//! @throws std::invalid_argument where a forest that was read has more value_bits than that
void CheckValueBits(const Forest& forest);
//! @throws std::invalid_argument where CheckTree does for one of its trees
void CheckTrees(const Forest& forest);

//! The likeliest class of each row of fractions, the lowest of equals.
std::vector<std::uint32_t> LikeliestClasses(std::span<const double> proba, std::uint32_t classes);

//! What growing a forest takes, whoever grows it. To split a node, K of its samples' features have
//! to be looked at, for every sample, in a byte at least (encoding/encoded_matrix.hpp): the bytes
//! of all inner nodes of the grown trees, and the float32 data once. Where `grown` has fewer trees
//! than were asked for (`n_trees`), it stands for all of them.
std::vector<Work> FitWork(const FeatureMatrix& data, const Forest& grown,
                          const ForestOptions& options);

//! Fraction of equal entries.
double Accuracy(std::span<const std::uint32_t> predicted, std::span<const std::uint32_t> truth);

}  // namespace retable::extratrees
