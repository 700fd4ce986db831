#pragma once
//! @file
//! Models and rows for tests and for measuring where no trained model is at hand: random
//! adversarial ensembles, chains, and large ensembles of a stated shape. All are pure functions of
//! their seed.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

struct RandomEnsembleOptions {
  int trees = 3;
  int features = 6;
  int groups = 1;
  int depth = 5;
  double leaf_probability = 0.15;      //!< a branch ends above the full depth
  double zero_cover_probability = 0;   //!< a child has no training weight
  double categorical_probability = 0;  //!< a feature is categorical (up to 40 categories)
  int repeats = 1;  //!< copies of each tree's splits with other covers and leaves, as in boosting
};

//! Random splits on a coarse grid of thresholds, so that features repeat on paths and rows hit
//! thresholds exactly; random directions for missing values.
TreeEnsemble RandomEnsemble(const RandomEnsembleOptions& options, std::uint64_t seed);

//! A chain of `depth` splits: the long branch keeps `hot_cover` of its parent's cover at each
//! split. `features` distinct features are used in turn; depth = features makes all of them
//! distinct.
TreeEnsemble ChainEnsemble(int depth, int features, double hot_cover, std::uint64_t seed);

//! `rows` random rows for the model: values at, between and beyond its thresholds, with the given
//! fraction of missing values and a few infinities where missing values are asked for.
std::vector<float> RandomRows(const TreeEnsemble& model, std::size_t rows, double missing,
                              std::uint64_t seed);

//! A stated shape: `trees` trees of at most `depth` splits in all `groups`, grown by random splits
//! on synthetic data of `rows` rows, of which the last `binary` features are 0 or 1; a node with
//! fewer than `min_rows` rows is a leaf. With `leaves` trees grow leaf-wise, as LightGBM's do: a
//! random one of the open nodes is split until there are so many leaves. Such a model is not a
//! trained one: name it "synthetic".
struct SyntheticShape {
  int trees = 100;
  int depth = 8;
  int features = 8;
  int binary = 0;
  int groups = 1;
  int rows = 20000;
  int min_rows = 4;
  int leaves = 0;  //!< 0: level by level, to the depth
};
TreeEnsemble SyntheticEnsemble(const SyntheticShape& shape, std::uint64_t seed);
//! Rows from the same distribution as the shape's data.
std::vector<float> SyntheticRows(const SyntheticShape& shape, std::size_t rows, std::uint64_t seed);

}  // namespace retable::treeshap
