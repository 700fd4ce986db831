#pragma once
//! @file
//! The body of the model readers' fuzz target; a test runs it on the corpus and on mutations, so
//! that every build covers it. For any bytes a reader gives a valid model whose predictions and
//! expected values are finite, or throws std::invalid_argument. On a small model every method on
//! the CPU gives the values of the definition, or refuses with std::invalid_argument.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/fuzz/mutation.hpp"

namespace retable::treeshap {

//! The largest difference between two methods in double, over the model's largest possible output.
inline constexpr double kMethodsAgree = 1e-9;

//! Rows at, just below and far from the model's thresholds, within its sets of categories and
//! without values.
inline std::vector<float> FuzzRows(const TreeEnsemble& model, std::size_t rows) {
  fuzzing::Random random(model.trees.size());
  std::vector<float> values(rows * static_cast<std::size_t>(model.features));
  std::vector<const TreeNode*> splits;
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (!node.is_leaf()) splits.push_back(&node);
    }
  }
  for (float& x : values) {
    const std::size_t choice = random(8);
    x = choice == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(random(40));
    if (choice == 1) x = random(2) == 0 ? INFINITY : -1;
    if (choice < 4 || splits.empty()) continue;
    x = static_cast<float>(random.Of(splits)->threshold);
    if (choice > 6) x = std::nextafter(x, -INFINITY);
  }
  return values;
}

//! The largest sum of leaves that a row can reach, and at least the base score's size.
inline double OutputScale(const TreeEnsemble& model) {
  double scale = 0;
  for (const double base : model.base_score) scale = std::max(scale, std::abs(base));
  for (const Tree& tree : model.trees) scale += LargestLeaf(tree);
  return scale;
}

inline void CheckMethodsAgree(const TreeEnsemble& model) {
  std::size_t nodes = 0;
  for (const Tree& tree : model.trees) nodes += tree.nodes.size();
  const double scale = OutputScale(model);
  // The definition takes 2^features walks; sums beyond double are nobody's.
  if (model.features > 6 || model.groups > 4 || nodes > 256 || !(scale < 1e300)) return;
  constexpr std::size_t kRows = 3;
  const std::vector<float> values = FuzzRows(model, kRows);
  const RowBlock rows{values, kRows, static_cast<std::size_t>(model.features)};
  const std::vector<double> want = BruteForceValues(model, rows);
  for (const char* name : {"TreeShap", "GPUTreeShap", "Quadrature"}) {
    try {
      const auto method = Registry<TreeExplainer>::Instance().Make(
          name, Device::kCpu, {{"precision", std::string("double")}, {"threads", std::int64_t{1}}});
      method->prepare(model);
      const Results got = method->values(rows);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::abs(got[i] - want[i]) <= kMethodsAgree * scale) continue;
        std::fprintf(stderr, "%s: value %zu is %.17g, by definition %.17g\n", name, i, got[i],
                     want[i]);
        std::abort();
      }
    } catch (const std::invalid_argument&) {  // over the method's limits
    }
  }
}

//! @return whether the bytes were a model
inline bool FuzzModel(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TreeEnsemble model;
  try {
    model = ReadModel(bytes);
    Validate(model);
  } catch (const std::invalid_argument&) {
    return false;
  }
  if (model.features > 4096) return true;  // long rows cover no more code
  for (const double x : {0.0, -1e30, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> row(static_cast<std::size_t>(model.features), x);
    for (const double margin : Predict(model, std::span<const double>(row))) {
      if (std::isnan(margin)) std::abort();
    }
  }
  for (const double x : {0.0, 1e-36, 1e-35, 3.5, -1.0, 16777217.0, 1e300}) {
    const std::vector<double> row(static_cast<std::size_t>(model.features), x);
    try {
      for (const double margin : Predict(model, row)) {
        if (std::isnan(margin)) std::abort();
      }
    } catch (const std::invalid_argument&) {  // no category of the training data
    }
  }
  try {
    for (const double expected : Annotate(model).expected) {
      if (std::isnan(expected)) std::abort();
    }
  } catch (const std::invalid_argument&) {  // deeper than the method supports
  }
  CheckMethodsAgree(model);
  return true;
}

}  // namespace retable::treeshap
