#include "algorithms/extratrees/frontier_cpu.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <limits>

#include "algorithms/extratrees/candidates.hpp"
#include "algorithms/extratrees/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier_cuda.hpp"
#include "algorithms/extratrees/split_rules.hpp"

namespace retable::extratrees {
namespace {

// Nodes up to this size read sample by sample: their rows are in cache from the parent node, and a
// row holds several of the candidates a cache line. Larger nodes read feature by feature.
constexpr std::uint32_t kLineRows = 2048;

// A cut that was tried.
struct Cut {
  SplitScore score;
  double threshold = 0;
  std::uint32_t feature = 0;
  std::uint32_t code = 0;
  std::uint32_t n_left = 0;
  std::uint64_t left_squares = 0;
  std::uint64_t right_squares = 0;
};

// A node still to be grown.
struct Pending {
  std::uint32_t begin, count, depth;
  std::int32_t parent;
  bool right;
  std::uint64_t path;
  std::uint64_t squares;
};

// Counts codes <= cut; sixteen byte lanes keep the loop in vector registers.
template <class Code>
std::uint32_t CountUpTo(const Code* codes, std::uint32_t n, Code cut) {
  std::uint32_t count = 0;
  std::uint32_t i = 0;
  if constexpr (sizeof(Code) == 1) {
    while (n - i >= 16) {
      const std::uint32_t blocks = std::min<std::uint32_t>((n - i) / 16, 255);
      std::array<std::uint8_t, 16> lanes{};
      for (std::uint32_t b = 0; b < blocks; ++b, i += 16) {
        for (std::uint32_t j = 0; j < 16; ++j) {
          lanes[j] = static_cast<std::uint8_t>(lanes[j] + (codes[i + j] <= cut ? 1 : 0));
        }
      }
      for (const std::uint8_t lane : lanes) count += lane;
    }
  }
  for (; i < n; ++i) count += codes[i] <= cut ? 1 : 0;
  return count;
}

// Lowest and highest code; sixteen lanes keep the loop in vector registers.
template <class Code>
void RangeOf(const Code* codes, std::uint32_t n, std::uint32_t& low, std::uint32_t& high) {
  Code lowest = codes[0];
  Code highest = codes[0];
  std::uint32_t i = 0;
  if (n >= 32) {
    std::array<Code, 16> lows;
    std::array<Code, 16> highs;
    lows.fill(lowest);
    highs.fill(highest);
    for (; n - i >= 16; i += 16) {
      for (std::uint32_t j = 0; j < 16; ++j) {
        const Code code = codes[i + j];
        lows[j] = code < lows[j] ? code : lows[j];
        highs[j] = code > highs[j] ? code : highs[j];
      }
    }
    lowest = *std::min_element(lows.begin(), lows.end());
    highest = *std::max_element(highs.begin(), highs.end());
  }
  for (; i < n; ++i) {
    lowest = codes[i] < lowest ? codes[i] : lowest;
    highest = codes[i] > highest ? codes[i] : highest;
  }
  low = lowest;
  high = highest;
}

template <class Code>
class TreeGrower {
 public:
  TreeGrower(const EncodedMatrix& matrix, const std::uint8_t* columns, const ForestOptions& options,
             std::uint32_t tree)
      : matrix_(matrix),
        lines_(matrix.Lines<Code>()),
        columns_(reinterpret_cast<const Code*>(columns)),
        options_(options),
        tree_(tree),
        k_(ResolveMaxFeatures(options.max_features, matrix.columns)),
        words_((matrix.columns + 63) / 64),
        limits_(Limits(options, matrix.rows)),
        permutation_(matrix.columns),
        known_(words_),
        ids_(matrix.rows),
        spare_(matrix.rows),
        codes_(matrix.rows) {
    for (std::uint32_t f = 0; f < matrix.columns; ++f) permutation_[f] = f;
    FillIds();
  }

  Tree Grow() {
    std::vector<Pending> stack;
    std::vector<std::uint64_t> constants;  // one bitmap per stack entry
    stack.push_back({0, matrix_.rows, 0, -1, false, kRootPath, Squares(0, matrix_.rows)});
    constants.assign(words_, 0);
    while (!stack.empty()) {
      const Pending node = stack.back();
      stack.pop_back();
      std::copy(constants.end() - static_cast<std::ptrdiff_t>(words_), constants.end(),
                known_.begin());
      constants.resize(constants.size() - words_);
      const std::int32_t at = Append(node);
      Cut best;
      if (!limits_.Stops(node.count, node.squares, node.depth)) best = BestCut(node);
      if (best.score.numerator == 0 || limits_.Refuses(node.squares, node.count, best.left_squares,
                                                       best.n_left, best.right_squares)) {
        MakeLeaf(node, at);
        continue;
      }
      Partition(node, best);
      TreeNode& grown = out_.nodes[static_cast<std::size_t>(at)];
      grown.feature = static_cast<std::int32_t>(best.feature);
      grown.threshold = best.threshold;
      stack.push_back({node.begin + best.n_left, node.count - best.n_left, node.depth + 1, at, true,
                       ChildPath(node.path, true), best.right_squares});
      stack.push_back({node.begin, best.n_left, node.depth + 1, at, false,
                       ChildPath(node.path, false), best.left_squares});
      constants.insert(constants.end(), known_.begin(), known_.end());
      constants.insert(constants.end(), known_.begin(), known_.end());
    }
    return std::move(out_);
  }

 private:
  void FillIds() {
    const std::uint32_t n = matrix_.rows;
    if (!options_.bootstrap) {
      for (std::uint32_t i = 0; i < n; ++i) ids_[i] = i;
      return;
    }
    std::fill(spare_.begin(), spare_.end(), 0);
    for (std::uint32_t i = 0; i < n; ++i) ++spare_[BootstrapRow(options_.seed, tree_, i, n)];
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < spare_[i]; ++j) ids_[at++] = i;
    }
  }

  // Ends of the class runs of a node's ascending samples: (class, end), relative to begin.
  void FindRuns(std::uint32_t begin, std::uint32_t count) {
    runs_.clear();
    const std::uint32_t* ids = ids_.data() + begin;
    std::uint32_t at = 0;
    std::uint32_t c = 0;
    while (at < count) {
      while (ids[at] >= matrix_.class_start[c + 1]) ++c;
      const auto* end = std::lower_bound(ids + at, ids + count, matrix_.class_start[c + 1]);
      at = static_cast<std::uint32_t>(end - ids);
      runs_.push_back({c, at});
    }
  }

  std::uint64_t Squares(std::uint32_t begin, std::uint32_t count) {
    FindRuns(begin, count);
    std::uint64_t squares = 0;
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_) {
      squares += std::uint64_t{end - from} * (end - from);
      from = end;
    }
    return squares;
  }

  std::int32_t Append(const Pending& node) {
    const auto at = static_cast<std::int32_t>(out_.nodes.size());
    TreeNode made;
    made.samples = node.count;
    made.impurity = GiniImpurity(node.squares, node.count);
    out_.nodes.push_back(made);
    if (node.parent >= 0) {
      TreeNode& parent = out_.nodes[static_cast<std::size_t>(node.parent)];
      (node.right ? parent.right : parent.left) = at;
    }
    return at;
  }

  void MakeLeaf(const Pending& node, std::int32_t at) {
    FindRuns(node.begin, node.count);
    TreeNode& leaf = out_.nodes[static_cast<std::size_t>(at)];
    if (runs_.size() == 1) {
      leaf.value = runs_[0].first;
      return;
    }
    leaf.value = kMixed | static_cast<std::uint32_t>(out_.leaf_counts.size() / matrix_.classes);
    const std::size_t row = out_.leaf_counts.size();
    out_.leaf_counts.resize(row + matrix_.classes, 0);
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_) {
      out_.leaf_counts[row + c] = end - from;
      from = end;
    }
  }

  // Gathers a feature's codes of the node and their range; false where the feature is constant.
  bool Scan(const Pending& node, std::uint32_t f, std::uint32_t& low, std::uint32_t& high) {
    std::uint64_t& word = known_[f / 64];
    const std::uint64_t bit = std::uint64_t{1} << (f % 64);
    if ((word & bit) != 0) return false;
    const std::uint32_t* ids = ids_.data() + node.begin;
    Code* codes = codes_.data();
    if (node.count > kLineRows) {
      const Code* column = columns_ + std::size_t{f} * matrix_.rows;
      for (std::uint32_t i = 0; i < node.count; ++i) codes[i] = column[ids[i]];
    } else {
      const Code* line = lines_ + f;
      for (std::uint32_t i = 0; i < node.count; ++i) {
        codes[i] = line[std::size_t{ids[i]} * matrix_.columns];
      }
    }
    RangeOf(codes, node.count, low, high);
    const float* table = matrix_.values.data() + matrix_.table_start[f];
    if (!IsConstant(table[low], table[high])) return true;
    word |= bit;
    return false;
  }

  void Evaluate(const Pending& node, std::uint32_t f, std::uint32_t low, std::uint32_t high,
                std::uint64_t bits, Cut& best) {
    const float* table = matrix_.values.data() + matrix_.table_start[f];
    Cut cut;
    cut.feature = f;
    cut.threshold = DrawCut(table[low], table[high], bits);
    cut.code = CutCode(table, low, high, cut.threshold, bits);
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_) {
      const std::uint64_t left =
          CountUpTo(codes_.data() + from, end - from, static_cast<Code>(cut.code));
      const std::uint64_t right = end - from - left;
      cut.left_squares += left * left;
      cut.right_squares += right * right;
      cut.n_left += static_cast<std::uint32_t>(left);
      from = end;
    }
    const std::uint32_t n_right = node.count - cut.n_left;
    if (cut.n_left < limits_.min_leaf || n_right < limits_.min_leaf) return;
    cut.score = GiniScore(cut.left_squares, cut.right_squares, cut.n_left, n_right);
    if (Better(cut.score, best.score)) best = cut;
  }

  Cut BestCut(const Pending& node) {
    FindRuns(node.begin, node.count);
    return options_.constant_rule == ConstantRule::kReport ? BestWithReplacement(node)
                                                           : BestOfPermutation(node);
  }

  Cut BestOfPermutation(const Pending& node) {
    const bool geurts = options_.constant_rule == ConstantRule::kGeurts;
    const std::uint32_t features = matrix_.columns;
    Cut best;
    swaps_.clear();
    std::uint32_t seen = 0;
    for (std::uint32_t i = 0; i < features; ++i) {
      const PhiloxBlock bits = NodeBits(options_.seed, tree_, node.path, i);
      const std::uint32_t place = SwapPlace(bits, i, features);
      std::swap(permutation_[i], permutation_[place]);
      swaps_.push_back(place);
      std::uint32_t low = 0;
      std::uint32_t high = 0;
      if (Scan(node, permutation_[i], low, high)) {
        Evaluate(node, permutation_[i], low, high, bits.half(1), best);
        ++seen;
      }
      if (WalkIsOver(geurts, k_, features, i + 1, seen)) break;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(swaps_.size()); i-- > 0;) {
      std::swap(permutation_[i], permutation_[swaps_[i]]);
    }
    return best;
  }

  Cut BestWithReplacement(const Pending& node) {
    valid_.clear();
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    for (std::uint32_t f = 0; f < matrix_.columns; ++f) {
      if (Scan(node, f, low, high)) valid_.push_back(f);
    }
    Cut best;
    for (std::uint32_t k = 0; k < k_ && !valid_.empty(); ++k) {
      const PhiloxBlock bits = NodeBits(options_.seed, tree_, node.path, ReplacementDraw(k));
      const std::uint32_t f = valid_[UniformBelow(bits.half(0), valid_.size())];
      Scan(node, f, low, high);
      Evaluate(node, f, low, high, bits.half(1), best);
    }
    return best;
  }

  void Partition(const Pending& node, const Cut& cut) {
    const Code* column = columns_ + std::size_t{cut.feature} * matrix_.rows;
    std::uint32_t* ids = ids_.data() + node.begin;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const std::uint32_t id = ids[i];
      const bool goes_left = column[id] <= cut.code;
      ids[left] = id;
      spare_[right] = id;
      left += goes_left ? 1 : 0;
      right += goes_left ? 0 : 1;
    }
    std::copy_n(spare_.data(), right, ids + left);
  }

  const EncodedMatrix& matrix_;
  const Code* lines_;
  const Code* columns_;
  const ForestOptions& options_;
  std::uint32_t tree_;
  std::uint32_t k_;
  std::size_t words_;
  GrowthLimits limits_;
  std::vector<std::uint32_t> permutation_;
  std::vector<std::uint32_t> swaps_;
  std::vector<std::uint32_t> valid_;
  std::vector<std::uint64_t> known_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> spare_;
  std::vector<Code> codes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs_;
  Tree out_;
};

Tree GrowOne(const EncodedMatrix& m, const std::uint8_t* columns, const ForestOptions& options,
             std::uint32_t tree) {
  if (m.code_bytes == 1) return TreeGrower<std::uint8_t>(m, columns, options, tree).Grow();
  if (m.code_bytes == 2) return TreeGrower<std::uint16_t>(m, columns, options, tree).Grow();
  return TreeGrower<std::uint32_t>(m, columns, options, tree).Grow();
}

}  // namespace

GrowthLimits Limits(const ForestOptions& options, std::uint64_t rows) {
  GrowthLimits limits{};
  limits.max_depth = options.max_depth > 0 ? static_cast<std::uint32_t>(options.max_depth)
                                           : std::numeric_limits<std::uint32_t>::max();
  limits.min_split = static_cast<std::uint32_t>(options.min_samples_split);
  limits.min_leaf = static_cast<std::uint32_t>(options.min_samples_leaf);
  limits.min_decrease = options.min_impurity_decrease;
  limits.total = rows;
  return limits;
}

std::unique_ptr<FittedForest> FrontierCpu::fit(const FeatureMatrix& data,
                                               std::span<const std::uint32_t> labels,
                                               const ForestOptions& options) {
  const std::uint32_t classes = CheckTraining(data, labels, options);
  Forest forest;
  forest.columns = data.columns;
  forest.classes = classes;
  forest.trees.resize(static_cast<std::size_t>(options.n_trees));
  std::uint64_t bytes = 0;
  tbb::task_arena arena(threads_ > 0 ? threads_ : tbb::task_arena::automatic);
  arena.execute([&] {
    const EncodedMatrix matrix = Encode(data, labels, classes);
    const std::shared_ptr<std::uint8_t> columns = ColumnCodes(matrix);
    bytes = matrix.Bytes() + matrix.CodeBytes();
    tbb::parallel_for(0, options.n_trees, [&](int t) {
      forest.trees[static_cast<std::size_t>(t)] =
          GrowOne(matrix, columns.get(), options, static_cast<std::uint32_t>(t));
    });
  });
  auto fitted = std::make_unique<HostForest>(std::move(forest));
  fitted->memory["codes"] = bytes;
  return fitted;
}

RETABLE_REGISTER(ForestTrainer, frontier,
                 {.name = "frontier",
                  .device = Device::kCpu,
                  .summary = "exact ExtraTrees on lossless codes; the twin of the GPU's frontier",
                  .citation = "Geurts, Ernst, Wehenkel 2006",
                  .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"},
                                 {"steps", std::string("columns"),
                                  "rung of the GPU's ladder: the same trees, so no rung here"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<ForestTrainer> {
                    ParseFrontierSteps(TextParameter(p, "steps", "columns"));
                    return std::make_unique<FrontierCpu>(
                        static_cast<int>(IntegerParameter(p, "threads", 0)));
                  }});

}  // namespace retable::extratrees
