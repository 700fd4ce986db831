#pragma once
//! @file
//! scikit-learn's make_regression and make_classification, by their documented definitions, on
//! counter-based bits (the same table on every machine; not scikit-learn's own random numbers).

#include <cstdint>
#include <map>
#include <string>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! y = X beta + bias + noise * e: X standard normal; n_informative coefficients 100 * U(0,1],
//! placed at random; the others zero. Pedregosa et al. 2011; O(n_samples * n_features).
Frame MakeRegression(const std::map<std::string, double>& values, std::uint64_t seed);

//! Clusters of normal points at random vertices of a hypercube of side 2 class_sep in the
//! informative subspace, each with its own random covariance; redundant features are random
//! combinations of the informative ones, the rest is noise; flip_y of the labels are random;
//! columns are shuffled. After Guyon 2003 ("Design of experiments of the NIPS 2003 variable
//! selection benchmark"), as in scikit-learn. O(n_samples * (n_informative^2 + n_features)).
Frame MakeClassification(const std::map<std::string, double>& values, std::uint64_t seed);

}  // namespace retable::datasets
