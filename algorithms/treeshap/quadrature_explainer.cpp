// "Quadrature" on the CPU: the sibling recurrence with rows as vector lanes, blocks of rows as
// tasks. Each block folds each tree into double, so that the error does not grow with the number of
// trees.

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "algorithms/treeshap/parallel.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/quadrature_model.hpp"
#include "algorithms/treeshap/quadrature_simd.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

namespace {

template <class T>
SimdFunction<T> Baseline() {
  if constexpr (sizeof(T) == 4)
    return SimdBaselineFloat();
  else
    return SimdBaselineDouble();
}
template <class T>
SimdFunction<T> Avx2() {
  if constexpr (sizeof(T) == 4)
    return SimdAvx2Float();
  else
    return SimdAvx2Double();
}
template <class T>
SimdFunction<T> Avx512() {
  if constexpr (sizeof(T) == 4)
    return SimdAvx512Float();
  else
    return SimdAvx512Double();
}

bool CpuHas(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  }
#endif
  return isa == "baseline";
}

template <class T>
SimdFunction<T> Choose(const std::string& isa) {
  if (isa == "auto") {
    for (const char* name : {"avx512", "avx2", "baseline"}) {
      if (!CpuHas(name)) continue;
      if (const SimdFunction<T> function = Choose<T>(name)) return function;
    }
  }
  if (isa != "baseline" && isa != "avx2" && isa != "avx512") {
    throw std::invalid_argument("isa is auto, baseline, avx2 or avx512, not \"" + isa + "\"");
  }
  if (!CpuHas(isa)) throw std::invalid_argument("this processor has no " + isa);
  return isa == "avx512" ? Avx512<T>() : (isa == "avx2" ? Avx2<T>() : Baseline<T>());
}

// A tree packed for the kernels.
template <class T>
struct PackedTree {
  std::vector<SimdNode<T>> nodes;
  std::vector<T> tables;
  std::vector<T> t;
  std::vector<std::int32_t> features;  // of each local index
  std::int32_t group = 0;
  std::int32_t depth = 0;

  SimdTree<T> View(const SimdCategorySet* sets) const {
    return {nodes.data(), tables.data(), static_cast<std::int32_t>(t.size()),
            t.data(),     sets,          static_cast<std::int32_t>(features.size())};
  }
};

template <class T>
class Packer {
 public:
  Packer(const AnnotatedTree& tree, const QuadratureRule& rule) : tree_(tree), rule_(rule) {
    packed_.group = tree.group;
    packed_.depth = tree.nodes[0].height;
    packed_.t.assign(rule.node.begin(), rule.node.end());
  }

  PackedTree<T> Run() {
    if (tree_.nodes[0].feature >= 0) Add(0);
    return std::move(packed_);
  }

 private:
  std::int32_t Add(std::int32_t n) {
    const AnnotatedNode& from = tree_.nodes[static_cast<std::size_t>(n)];
    const auto at = static_cast<std::int32_t>(packed_.nodes.size());
    packed_.nodes.emplace_back();
    AddTables(from);
    SimdNode<T> node;
    node.feature = from.feature;
    node.local = Local(from.feature);
    node.lower = from.lower;
    node.upper = from.upper;
    node.threshold = from.threshold;
    node.inside_set = from.inside_set;
    node.left_set = from.left_set;
    node.missing_inside = from.missing_inside;
    node.missing_left = from.missing_left;
    node.right_weight = static_cast<T>(1 - from.left_weight);
    node.left_cover = static_cast<T>(from.cover_above * from.left_weight);
    node.right_cover = static_cast<T>(from.cover_above * (1 - from.left_weight));
    const AnnotatedNode& left = tree_.nodes[static_cast<std::size_t>(from.left)];
    const AnnotatedNode& right = tree_.nodes[static_cast<std::size_t>(from.right)];
    node.left_value = static_cast<T>(left.value);
    node.right_value = static_cast<T>(right.value);
    if (left.feature >= 0) node.left = Add(from.left);
    if (right.feature >= 0) node.right = Add(from.right);
    packed_.nodes[static_cast<std::size_t>(at)] = node;
    return at;
  }

  void AddTables(const AnnotatedNode& node) {
    const double c = node.cover_above;
    for (std::size_t q = 0; q < rule_.size(); ++q) {
      const double d = rule_.node[q] + c * (1 - rule_.node[q]);
      packed_.tables.push_back(static_cast<T>(rule_.node[q] / d));
    }
    for (std::size_t q = 0; q < rule_.size(); ++q) {
      const double d = rule_.node[q] + c * (1 - rule_.node[q]);
      packed_.tables.push_back(static_cast<T>(rule_.weight[q] * c / (d * d)));
    }
  }

  std::int32_t Local(std::int32_t feature) {
    const auto it = std::find(packed_.features.begin(), packed_.features.end(), feature);
    const auto index = static_cast<std::int32_t>(it - packed_.features.begin());
    if (it == packed_.features.end()) packed_.features.push_back(feature);
    return index;
  }

  const AnnotatedTree& tree_;
  const QuadratureRule& rule_;
  PackedTree<T> packed_;
};

template <class T>
class QuadratureExplainer final : public TreeExplainer {
 public:
  QuadratureExplainer(int threads, bool banzhaf, const std::string& isa)
      : threads_(threads), banzhaf_(banzhaf), run_(Choose<T>(isa)) {}

  void prepare(const TreeEnsemble& model) override {
    AnnotatedModel annotated = Annotate(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    expected_ = annotated.expected;
    sets_ = std::move(annotated.sets);
    views_.clear();
    for (const CategorySet& set : sets_) {
      views_.push_back(
          {set.left.data(), static_cast<std::int32_t>(set.left.size()), set.others_left});
    }
    std::map<int, QuadratureRule> rules;
    for (const AnnotatedTree& tree : annotated.trees) {
      const int points = ExactPoints(tree.path_features);
      if (!rules.contains(points)) rules[points] = GaussLegendre(points);
    }
    // Every subset weighs the same where each feature is present with probability one half.
    const QuadratureRule half{{0.5}, {1.0}};
    trees_.resize(annotated.trees.size());
    ParallelFor(trees_.size(), threads_, [&](std::size_t t) {
      const AnnotatedTree& tree = annotated.trees[t];
      const int points = ExactPoints(tree.path_features);
      trees_[t] = Packer<T>(tree, banzhaf_ ? half : rules.at(points)).Run();
    });
  }

  std::vector<double> values(const RowBlock& rows) override {
    std::vector<double> phi(rows.rows * ValuesPerRow(shape_), 0.0);
    Explain(rows, phi, nullptr);
    return phi;
  }

  std::vector<double> interactions(const RowBlock& rows) override {
    if (banzhaf_) throw std::logic_error("Quadrature has no Banzhaf interactions");
    std::vector<double> phi(rows.rows * ValuesPerRow(shape_), 0.0);
    std::vector<double> matrices(rows.rows * InteractionsPerRow(shape_), 0.0);
    Explain(rows, phi, &matrices);
    FillInteractionDiagonal(static_cast<std::size_t>(shape_.features), phi, matrices);
    return matrices;
  }

 private:
  static constexpr std::size_t kL = kLanes<T>;

  std::size_t side() const { return static_cast<std::size_t>(shape_.features) + 1; }

  // Blocks of kL rows; a task takes several, so that a tree's tables serve them all from cache.
  void Explain(const RowBlock& rows, std::vector<double>& phi,
               std::vector<double>* matrices) const {
    ValidateRows(shape_, rows);
    const std::size_t blocks = (rows.rows + kL - 1) / kL;
    const auto threads = static_cast<std::size_t>(threads_ > 0 ? threads_ : HardwareThreads());
    const std::size_t per_task = std::clamp<std::size_t>(blocks / (4 * threads), 1, 64);
    ParallelFor((blocks + per_task - 1) / per_task, threads_, [&](std::size_t task) {
      Task(rows, task * per_task, std::min(blocks, (task + 1) * per_task), phi, matrices);
    });
  }

  struct Scratch {
    std::vector<T> phi, pairs, stack, ones;
    std::vector<std::int32_t> live;
  };

  void Task(const RowBlock& rows, std::size_t begin, std::size_t end, std::vector<double>& phi,
            std::vector<double>* matrices) const {
    const std::vector<float> x = Transpose(rows, begin, end);
    const std::size_t block_size = static_cast<std::size_t>(shape_.features) * kL;
    Scratch scratch;
    for (const PackedTree<T>& tree : trees_) {
      if (tree.nodes.empty()) continue;
      Resize(tree, matrices != nullptr, scratch);
      for (std::size_t b = begin; b < end; ++b) {
        std::fill_n(scratch.phi.begin(), tree.features.size() * kL, T(0));
        if (matrices != nullptr) {
          std::fill_n(scratch.pairs.begin(), tree.features.size() * tree.features.size() * kL,
                      T(0));
        }
        const SimdRun<T> run{x.data() + (b - begin) * block_size,
                             scratch.ones.data(),
                             scratch.phi.data(),
                             matrices != nullptr ? scratch.pairs.data() : nullptr,
                             scratch.stack.data(),
                             scratch.live.data()};
        run_(tree.View(views_.data()), run);
        FoldValues(tree, scratch, b * kL, rows.rows, phi);
        if (matrices != nullptr) FoldPairs(tree, scratch, b * kL, rows.rows, *matrices);
      }
    }
    const std::size_t last = std::min(rows.rows, end * kL);
    for (std::size_t r = begin * kL; r < last; ++r) {
      for (std::size_t g = 0; g < expected_.size(); ++g) {
        phi[r * ValuesPerRow(shape_) + (g + 1) * side() - 1] = expected_[g];
      }
    }
  }

  void Resize(const PackedTree<T>& tree, bool pairs, Scratch& scratch) const {
    const auto locals = static_cast<std::int32_t>(tree.features.size());
    const auto points = static_cast<std::int32_t>(tree.t.size());
    const auto need = static_cast<std::size_t>(
        SimdScratch(tree.depth, points, locals, static_cast<int>(kL), pairs));
    const auto grow = [](auto& buffer, std::size_t size, auto value) {
      if (buffer.size() < size) buffer.resize(size, value);
    };
    grow(scratch.phi, tree.features.size() * kL, T(0));
    grow(scratch.stack, need, T(0));
    grow(scratch.ones, tree.t.size() * kL, T(1));
    grow(scratch.live, tree.features.size() + 1, 0);
    if (pairs) grow(scratch.pairs, tree.features.size() * tree.features.size() * kL, T(0));
  }

  // Feature-major blocks of kL rows; rows past the end repeat the last one.
  std::vector<float> Transpose(const RowBlock& rows, std::size_t begin, std::size_t end) const {
    const auto features = static_cast<std::size_t>(shape_.features);
    std::vector<float> x((end - begin) * features * kL);
    for (std::size_t i = 0; i < (end - begin) * kL; ++i) {
      const std::size_t r = std::min(begin * kL + i, rows.rows - 1);
      float* block = x.data() + i / kL * features * kL + i % kL;
      for (std::size_t f = 0; f < features; ++f) block[f * kL] = ClampInfinity(rows.row(r)[f]);
    }
    return x;
  }

  void FoldValues(const PackedTree<T>& tree, const Scratch& scratch, std::size_t first,
                  std::size_t rows, std::vector<double>& phi) const {
    const std::size_t lanes = std::min(kL, rows - first);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      double* out = phi.data() + (first + lane) * ValuesPerRow(shape_) +
                    static_cast<std::size_t>(tree.group) * side();
      for (std::size_t i = 0; i < tree.features.size(); ++i) {
        out[tree.features[i]] += static_cast<double>(scratch.phi[i * kL + lane]);
      }
    }
  }

  // Each unordered pair was met from the lower of its two features; half goes to each triangle.
  void FoldPairs(const PackedTree<T>& tree, const Scratch& scratch, std::size_t first,
                 std::size_t rows, std::vector<double>& matrices) const {
    const std::size_t lanes = std::min(kL, rows - first);
    const std::size_t n = tree.features.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto a = static_cast<std::size_t>(tree.features[i]);
        const auto b = static_cast<std::size_t>(tree.features[j]);
        const T* pair = scratch.pairs.data() + (i * n + j) * kL;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          if (pair[lane] == T(0)) continue;
          double* out = matrices.data() + (first + lane) * InteractionsPerRow(shape_) +
                        static_cast<std::size_t>(tree.group) * side() * side();
          const double half = static_cast<double>(pair[lane]) / 2;
          out[a * side() + b] += half;
          out[b * side() + a] += half;
        }
      }
    }
  }

  int threads_;
  bool banzhaf_;
  SimdFunction<T> run_;
  TreeEnsemble shape_;  // features and groups alone
  std::vector<CategorySet> sets_;
  std::vector<SimdCategorySet> views_;
  std::vector<PackedTree<T>> trees_;
  std::vector<double> expected_;
};

std::unique_ptr<TreeExplainer> MakeQuadrature(const Parameters& parameters) {
  const int threads = static_cast<int>(IntegerParameter(parameters, "threads", 0));
  const std::string index = TextParameter(parameters, "index", "shapley");
  const std::string isa = TextParameter(parameters, "isa", "auto");
  if (index != "shapley" && index != "banzhaf") {
    throw std::invalid_argument("index is shapley or banzhaf, not \"" + index + "\"");
  }
  const bool banzhaf = index == "banzhaf";
  if (IsFloat(parameters, "float")) {
    return std::make_unique<QuadratureExplainer<float>>(threads, banzhaf, isa);
  }
  return std::make_unique<QuadratureExplainer<double>>(threads, banzhaf, isa);
}

}  // namespace

RETABLE_REGISTER(TreeExplainer, quadrature,
                 {.name = "Quadrature",
                  .device = Device::kCpu,
                  .summary = "exact Gauss-Legendre tree SHAP by sibling recurrence, rows as lanes",
                  .citation = "Owen 1972; Wettenstein, Mitchell, Yu 2026; quadrature_model.hpp",
                  .parameters = {{"precision", std::string("float"), "float or double"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"},
                                 {"index", std::string("shapley"), "shapley or banzhaf"},
                                 {"isa", std::string("auto"), "auto, baseline, avx2 or avx512"}},
                  .make = MakeQuadrature});

}  // namespace retable::treeshap
