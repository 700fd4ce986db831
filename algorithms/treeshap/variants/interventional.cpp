// Interventional SHAP: f(S) is the mean over background rows b of f(x on S, b elsewhere).
//
// For one pair (x, b) a leaf is reached only through splits where x or b goes its way. With n_x
// features that must come from x and n_b that must come from b, Shapley's weights are
// (n_x - 1)! n_b! / (n_x + n_b)! for the former and -n_x! (n_b - 1)! / (n_x + n_b)! for the latter.
// One traversal of the branches that the pair can reach returns both sums; a split that separates
// the two adds them to its feature. Weights come from a table, not from quadrature: few features
// separate a pair on one path. O(M B) traversals. Exact in double. Lundberg et al. 2020, algorithm
// 3; the reference of permutation estimates for a game with a background.

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

enum class Source : std::uint8_t { kNone, kRow, kBackground };

// a! b! / (a + b + 1)!, tabulated.
class Weights {
 public:
  explicit Weights(int most) : side_(static_cast<std::size_t>(most) + 1), table_(side_ * side_) {
    // w(a, 0) = 1 / (a + 1), w(a, b) = w(a, b - 1) b / (a + b + 1): products of small ratios.
    for (std::size_t a = 0; a < side_; ++a) {
      table_[a * side_] = 1.0 / static_cast<double>(a + 1);
      for (std::size_t b = 1; b < side_; ++b) {
        table_[a * side_ + b] =
            table_[a * side_ + b - 1] * static_cast<double>(b) / static_cast<double>(a + b + 1);
      }
    }
  }
  double operator()(int a, int b) const {
    return table_[static_cast<std::size_t>(a) * side_ + static_cast<std::size_t>(b)];
  }

 private:
  std::size_t side_;
  std::vector<double> table_;
};

struct Sums {
  double row = 0;         // leaves below, weighted for features that come from the row
  double background = 0;  // leaves below, weighted for features from the background
};

struct Traversal {
  const TreeEnsemble& model;
  const Tree& tree;
  const Weights& weights;
  std::span<const float> row, background;
  double* phi;
  std::vector<Source>& source;
  int rows = 0, backgrounds = 0;

  bool Left(const TreeNode& node, std::span<const float> x) const {
    return GoesLeft(model, node, x[static_cast<std::size_t>(node.feature)]);
  }

  Sums Visit(std::int32_t n) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      return {rows > 0 ? node.value * weights(rows - 1, backgrounds) : 0,
              backgrounds > 0 ? node.value * weights(rows, backgrounds - 1) : 0};
    }
    Source& own = source[static_cast<std::size_t>(node.feature)];
    const bool row_left = Left(node, row);
    const bool background_left = Left(node, background);
    if (own == Source::kBackground) return Visit(background_left ? node.left : node.right);
    if (own == Source::kRow || row_left == background_left) {
      return Visit(row_left ? node.left : node.right);
    }
    own = Source::kRow;
    ++rows;
    const Sums with_row = Visit(row_left ? node.left : node.right);
    --rows;
    own = Source::kBackground;
    ++backgrounds;
    const Sums without = Visit(row_left ? node.right : node.left);
    --backgrounds;
    own = Source::kNone;
    phi[node.feature] += with_row.row - without.background;
    return {with_row.row + without.row, with_row.background + without.background};
  }
};

class InterventionalExplainer final : public TreeExplainer {
 public:
  explicit InterventionalExplainer(int threads) : threads_(threads) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    model_ = model;
    int most = 0;
    for (const Tree& tree : model.trees) most = std::max(most, MaxPathFeatures(tree));
    weights_ = Weights(most);
  }

  void set_background(const RowBlock& background) override {
    ValidateRows(model_, background);
    if (background.rows == 0) throw std::invalid_argument("the background has no rows");
    background_.assign(background.values.begin(), background.values.end());
    expected_.assign(static_cast<std::size_t>(model_.groups), 0.0);
    for (std::size_t b = 0; b < background.rows; ++b) {
      const auto margin = Predict(model_, background.row(b));
      for (std::size_t g = 0; g < margin.size(); ++g) {
        expected_[g] += margin[g] / static_cast<double>(background.rows);
      }
    }
  }

  Results values(const RowBlock& rows) override {
    ValidateRows(model_, rows);
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    const auto columns = static_cast<std::size_t>(model_.features);
    const RowBlock background{background_, columns == 0 ? 1 : background_.size() / columns,
                              columns};
    const std::size_t side = columns + 1;
    Results phi = NewResults(rows.rows * ValuesPerRow(model_));
    ParallelFor(rows.rows, threads_, [&](std::size_t r) {
      double* row_phi = phi.data() + r * ValuesPerRow(model_);
      std::vector<Source> source(columns, Source::kNone);
      for (const Tree& tree : model_.trees) {
        double* group_phi = row_phi + static_cast<std::size_t>(tree.group) * side;
        for (std::size_t b = 0; b < background.rows; ++b) {
          Traversal traversal{model_,    tree,  weights_, rows.row(r), background.row(b),
                              group_phi, source};
          traversal.Visit(0);
        }
      }
      for (std::size_t g = 0; g < expected_.size(); ++g) {
        for (std::size_t i = 0; i < columns; ++i) {
          row_phi[g * side + i] /= static_cast<double>(background.rows);
        }
        row_phi[(g + 1) * side - 1] = expected_[g];
      }
    });
    return phi;
  }

 private:
  int threads_;
  TreeEnsemble model_;
  Weights weights_{0};
  std::vector<float> background_;
  std::vector<double> expected_;
};

}  // namespace

RETABLE_REGISTER(TreeExplainer, interventional,
                 {.name = "Interventional",
                  .device = Device::kCpu,
                  .summary = "exact interventional SHAP against background rows",
                  .citation = "Lundberg et al. 2020, algorithm 3",
                  .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<TreeExplainer> {
                    return std::make_unique<InterventionalExplainer>(
                        static_cast<int>(IntegerParameter(p, "threads", 0)));
                  }});

}  // namespace retable::treeshap
