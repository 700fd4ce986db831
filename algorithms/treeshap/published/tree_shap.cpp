// Algorithm 1, TreeShap: per row, one recursion over each tree with EXTEND on the way down and
// UNWIND at the leaves and at repeated features. O(T L D^2) a row, O(D^2) memory. Breaks down in
// float where paths are deep and covers small; kept as the paper's baseline. Lundberg et al. 2020,
// algorithm 2; Mitchell et al. 2022, algorithm 1.

#include <cstdint>

#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/published/path_steps.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// The paper's list m: (d, z, o, w) for each unique feature.
template <class T>
struct FeaturePath {
  std::vector<std::int32_t> feature;
  std::vector<T> zero, one, weight;

  int size() const { return static_cast<int>(feature.size()); }

  void Extend(T z, T o, std::int32_t d) {
    feature.push_back(d);
    zero.push_back(z);
    one.push_back(o);
    weight.push_back(T(0));
    treeshap::Extend(weight.data(), size() - 1, z, o);
  }

  // Removes element k from the weights and the list.
  void Unwind(int k) {
    const auto index = static_cast<std::size_t>(k);
    const int length = size();
    const T z = zero[index];
    const T o = one[index];
    const T n = static_cast<T>(length);
    T next = weight.back();
    for (int j = length - 2; j >= 0; --j) {
      T& w = weight[static_cast<std::size_t>(j)];
      if (o != T(0)) {
        const T old = w;
        w = next * n / (static_cast<T>(j + 1) * o);
        next = old - w * z * static_cast<T>(length - 1 - j) / n;
      } else {
        w = z != T(0) ? w * n / (z * static_cast<T>(length - 1 - j)) : T(0);
      }
    }
    weight.pop_back();
    feature.erase(feature.begin() + k);
    zero.erase(zero.begin() + k);
    one.erase(one.begin() + k);
  }
};

template <class T>
struct Recursion {
  const TreeEnsemble& model;
  const Tree& tree;
  std::span<const float> row;
  double* phi;

  void Visit(std::int32_t n, FeaturePath<T> path, T z, T o, std::int32_t d) {
    path.Extend(z, o, d);
    const TreeNode& node = tree.at(n);
    if (node.is_leaf()) {
      for (std::size_t i = 1; i < path.feature.size(); ++i) {
        const T w = UnwoundSum(path.weight.data(), path.size(), path.zero[i], path.one[i]);
        phi[path.feature[i]] +=
            static_cast<double>(w * (path.one[i] - path.zero[i]) * static_cast<T>(node.value));
      }
      return;
    }
    T iz = T(1);
    T io = T(1);
    for (int k = 1; k < path.size(); ++k) {
      const auto index = static_cast<std::size_t>(k);
      if (path.feature[index] != node.feature) continue;
      iz = path.zero[index];
      io = path.one[index];
      path.Unwind(k);
      break;
    }
    const bool left = GoesLeft(model, node, row[static_cast<std::size_t>(node.feature)]);
    const T fraction = static_cast<T>(LeftWeight(tree, node));
    Visit(left ? node.left : node.right, path, iz * (left ? fraction : 1 - fraction), io,
          node.feature);
    Visit(left ? node.right : node.left, path, iz * (left ? 1 - fraction : fraction), T(0),
          node.feature);
  }
};

template <class T>
class TreeShapExplainer final : public TreeExplainer {
 public:
  explicit TreeShapExplainer(int threads) : threads_(threads) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    shape_ = model;
    expected_ = ExpectedMargins(model);
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    const std::size_t per_row = ValuesPerRow(shape_);
    ParallelFor(rows.rows, threads_, [&](std::size_t r) {
      double* row_phi = phi.data() + r * per_row;
      WriteExpected({{row_phi, per_row}, side(), expected_}, 1);
      for (const Tree& tree : shape_.trees) {
        Recursion<T> recursion{shape_, tree, rows.row(r),
                               row_phi + static_cast<std::size_t>(tree.group) * side()};
        recursion.Visit(0, {}, T(1), T(1), -1);
      }
    });
  }

  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool interactions) const override {
    return {{sizeof(T) == 4 ? "FMA fp32" : "FMA fp64",
             static_cast<double>(rows) * PathFlops(model, interactions, false)}};
  }

 private:
  std::vector<double> expected_;
  int threads_;
};

std::unique_ptr<TreeExplainer> MakeTreeShap(const Parameters& parameters) {
  const int threads = IntParameter(parameters, "threads", 0);
  if (IsFloat(parameters, "double")) return std::make_unique<TreeShapExplainer<float>>(threads);
  return std::make_unique<TreeShapExplainer<double>>(threads);
}

}  // namespace

RETABLE_REGISTER(TreeExplainer, tree_shap,
                 {.name = "TreeShap",
                  .summary = "recursive TreeSHAP, one row at a time",
                  .citation = "Lundberg et al. 2020; Mitchell et al. 2022, algorithm 1",
                  .parameters = {{"precision", std::string("double"), "float or double"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = MakeTreeShap});

}  // namespace retable::treeshap
