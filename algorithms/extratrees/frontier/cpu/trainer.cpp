#include "algorithms/extratrees/frontier/cpu/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier/cpu/targets.hpp"
#include "algorithms/extratrees/frontier/steps.hpp"
#include "algorithms/extratrees/splits/candidates.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {
namespace {

// Nodes up to this size read sample by sample: their rows are in cache from the parent node, and a
// row holds several of the candidates a cache line. Larger nodes read feature by feature.
constexpr std::uint32_t kLineRows = 2048;

// A node still to be grown.
template <class Node>
struct Pending {
  std::uint32_t begin, count, depth;
  std::int32_t parent;
  bool right;
  std::uint64_t path;
  Node state;
};

// The codes of a feature in a node: lowest, highest, and whether values are missing.
struct CodeRange {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  bool missing = false;
};

// Lowest and highest code; sixteen lanes keep the loop in vector registers.
template <class Code>
CodeRange RangeOf(const Code* codes, std::uint32_t n) {
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
  return {lowest, highest, false};
}

// The same where codes may be missing. All missing: low is the missing code, high 0.
template <class Code>
CodeRange RangeOfPresent(const Code* codes, std::uint32_t n) {
  constexpr Code kNone = static_cast<Code>(~Code{0});
  CodeRange range{kNone, 0, false};
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool missing = codes[i] == kNone;
    range.low = std::min<std::uint32_t>(range.low, codes[i]);
    range.high = std::max<std::uint32_t>(range.high, missing ? 0 : codes[i]);
    range.missing = range.missing || missing;
  }
  return range;
}

template <class Code, class Target>
class TreeGrower {
 public:
  using Node = Pending<typename Target::Node>;
  using Cut = typename Target::Cut;

  TreeGrower(const EncodedMatrix& matrix, const std::uint8_t* columns, const ForestOptions& options,
             std::uint32_t tree)
      : matrix_(matrix),
        lines_(matrix.Lines<Code>()),
        columns_(reinterpret_cast<const Code*>(columns)),
        options_(options),
        tree_(tree),
        k_(ResolveMaxFeatures(options.max_features, matrix.columns, matrix.regression)),
        words_((matrix.columns + 63) / 64),
        limits_(Limits(options, matrix.rows)),
        target_(matrix, limits_),
        permutation_(matrix.columns),
        known_(words_),
        ids_(matrix.rows),
        spare_(matrix.rows),
        codes_(matrix.rows) {
    for (std::uint32_t f = 0; f < matrix.columns; ++f) permutation_[f] = f;
    FillIds();
  }

  Tree Grow() {
    std::vector<Node> stack;
    std::vector<std::uint64_t> constants;  // one bitmap per stack entry
    stack.push_back(
        {0, matrix_.rows, 0, -1, false, kRootPath, target_.Whole(ids_.data(), matrix_.rows)});
    constants.assign(words_, 0);
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      std::copy(constants.end() - static_cast<std::ptrdiff_t>(words_), constants.end(),
                known_.begin());
      constants.resize(constants.size() - words_);
      const bool pure = target_.Pure(node.state, Ids(node), node.count);
      const std::int32_t at = Append(node, pure);
      Cut best;
      if (!pure && !limits_.StopsAt(node.count, node.depth)) best = BestCut(node);
      if (!best.found || target_.Refuses(node.state, node.count, best)) {
        TreeNode& leaf = out_.nodes[static_cast<std::size_t>(at)];
        target_.Leaf(node.state, Ids(node), node.count, leaf, out_);
        continue;
      }
      Partition(node, best);
      const std::uint32_t n_right = node.count - best.n_left;
      TreeNode& grown = out_.nodes[static_cast<std::size_t>(at)];
      grown.feature = static_cast<std::int32_t>(best.feature);
      grown.threshold = best.threshold;
      grown.missing_left = best.saw_missing ? best.shift != 0 : best.n_left > n_right;
      stack.push_back({node.begin + best.n_left, n_right, node.depth + 1, at, true,
                       ChildPath(node.path, true), best.right});
      stack.push_back({node.begin, best.n_left, node.depth + 1, at, false,
                       ChildPath(node.path, false), best.left});
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
    const std::int64_t* up_to = matrix_.draw_up_to.empty() ? nullptr : matrix_.draw_up_to.data();
    std::fill(spare_.begin(), spare_.end(), 0);
    for (std::uint32_t i = 0; i < n; ++i) ++spare_[DrawRow(options_.seed, tree_, i, n, up_to)];
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < spare_[i]; ++j) ids_[at++] = i;
    }
  }

  const std::uint32_t* Ids(const Node& node) const { return ids_.data() + node.begin; }

  std::int32_t Append(const Node& node, bool pure) {
    const auto at = static_cast<std::int32_t>(out_.nodes.size());
    TreeNode made;
    made.samples = node.count;
    made.weight = target_.Weight(node.state, node.count);
    made.impurity = target_.Impurity(node.state, node.count, pure);
    out_.nodes.push_back(made);
    if (node.parent >= 0) {
      TreeNode& parent = out_.nodes[static_cast<std::size_t>(node.parent)];
      (node.right ? parent.right : parent.left) = at;
    }
    return at;
  }

  // Gathers a feature's codes of the node and their range; false where the feature is constant: all
  // values missing, or none and all within 1e-7.
  bool Scan(const Node& node, std::uint32_t f, CodeRange& range) {
    std::uint64_t& word = known_[f / 64];
    const std::uint64_t bit = std::uint64_t{1} << (f % 64);
    if ((word & bit) != 0) return false;
    const std::uint32_t* ids = Ids(node);
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
    const bool careful = Target::kMissing && matrix_.has_missing;
    range = careful ? RangeOfPresent(codes, node.count) : RangeOf(codes, node.count);
    const float* table = matrix_.values.data() + matrix_.table_start[f];
    const bool none = range.low > range.high;
    if (!none && (range.missing || !IsConstant(table[range.low], table[range.high]))) return true;
    word |= bit;
    return false;
  }

  void Evaluate(const Node& node, std::uint32_t f, const CodeRange& range, std::uint64_t bits,
                Cut& best) {
    const float* table = matrix_.values.data() + matrix_.table_start[f];
    Cut cut;
    cut.found = true;
    cut.feature = f;
    cut.threshold = DrawCut(table[range.low], table[range.high], bits);
    cut.code = CutCode(table, range.low, range.high, cut.threshold, bits);
    cut.saw_missing = range.missing;
    cut.shift = range.missing && DrawMissingLeft(bits) ? 1 : 0;
    target_.Measure(codes_.data(), node.count, cut);
    const std::uint32_t n_right = node.count - cut.n_left;
    if (cut.n_left < limits_.min_leaf || n_right < limits_.min_leaf) return;
    if (!best.found || Target::Better(cut.score, best.score)) best = cut;
  }

  Cut BestCut(const Node& node) {
    target_.Enter(node.state, Ids(node), node.count);
    return options_.constant_rule == ConstantRule::kPublished ? BestWithReplacement(node)
                                                              : BestOfPermutation(node);
  }

  Cut BestOfPermutation(const Node& node) {
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
      CodeRange range;
      if (Scan(node, permutation_[i], range)) {
        Evaluate(node, permutation_[i], range, bits.half(1), best);
        ++seen;
      }
      if (SearchIsOver(geurts, k_, features, i + 1, seen)) break;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(swaps_.size()); i-- > 0;) {
      std::swap(permutation_[i], permutation_[swaps_[i]]);
    }
    return best;
  }

  Cut BestWithReplacement(const Node& node) {
    valid_.clear();
    CodeRange range;
    for (std::uint32_t f = 0; f < matrix_.columns; ++f) {
      if (Scan(node, f, range)) valid_.push_back(f);
    }
    Cut best;
    for (std::uint32_t k = 0; k < k_ && !valid_.empty(); ++k) {
      const PhiloxBlock bits = NodeBits(options_.seed, tree_, node.path, ReplacementDraw(k));
      const std::uint32_t f = valid_[UniformBelow(bits.half(0), valid_.size())];
      Scan(node, f, range);
      Evaluate(node, f, range, bits.half(1), best);
    }
    return best;
  }

  void Partition(const Node& node, const Cut& cut) {
    const Code* column = columns_ + std::size_t{cut.feature} * matrix_.rows;
    std::uint32_t* ids = ids_.data() + node.begin;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const std::uint32_t id = ids[i];
      const bool goes_left = GoesLeft(column[id], cut.code, cut.shift);
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
  Target target_;
  std::vector<std::uint32_t> permutation_;
  std::vector<std::uint32_t> swaps_;
  std::vector<std::uint32_t> valid_;
  std::vector<std::uint64_t> known_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> spare_;
  std::vector<Code> codes_;
  Tree out_;
};

template <class Code>
Tree GrowTyped(const EncodedMatrix& m, const std::uint8_t* columns, const ForestOptions& options,
               std::uint32_t tree) {
  if (m.plain) return TreeGrower<Code, PlainClasses>(m, columns, options, tree).Grow();
  if (m.regression) return TreeGrower<Code, RealTargets>(m, columns, options, tree).Grow();
  return TreeGrower<Code, WeighedClasses>(m, columns, options, tree).Grow();
}

Tree GrowOne(const EncodedMatrix& m, const std::uint8_t* columns, const ForestOptions& options,
             std::uint32_t tree) {
  if (m.code_bytes == 1) return GrowTyped<std::uint8_t>(m, columns, options, tree);
  if (m.code_bytes == 2) return GrowTyped<std::uint16_t>(m, columns, options, tree);
  return GrowTyped<std::uint32_t>(m, columns, options, tree);
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

std::unique_ptr<FittedForest> FrontierCpu::fit(const FeatureMatrix& data, const Targets& targets,
                                               const ForestOptions& options) {
  const std::uint32_t classes = CheckTraining(data, targets, options);
  Forest forest = EmptyForest(data, targets, classes, options);
  forest.trees.resize(static_cast<std::size_t>(options.n_trees));
  std::uint64_t bytes = 0;
  WithThreads(threads_, [&] {
    const EncodedMatrix matrix = Encode(data, targets, classes, options.bootstrap);
    const std::shared_ptr<std::uint8_t> columns = ColumnCodes(matrix);
    bytes = matrix.Bytes() + matrix.CodeBytes();
    ParallelFor(forest.trees.size(), [&](std::size_t t) {
      forest.trees[t] = GrowOne(matrix, columns.get(), options, static_cast<std::uint32_t>(t));
    });
  });
  auto fitted = std::make_unique<HostForest>(std::move(forest));
  fitted->memory["codes"] = bytes;
  return fitted;
}

RETABLE_REGISTER(
    ForestTrainer, frontier,
    {.name = "frontier",
     .device = Device::kCpu,
     .summary = "exact ExtraTrees on lossless codes; the CPU backend of the GPU's frontier",
     .citation = "Geurts, Ernst, Wehenkel 2006",
     .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"},
                    {"steps", std::string("columns"),
                     "rung of the GPU's ladder: the same trees, so no rung here"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ForestTrainer> {
       ParseFrontierSteps(TextParameter(p, "steps", "columns"));
       return std::make_unique<FrontierCpu>(static_cast<int>(IntegerParameter(p, "threads", 0)));
     }});

}  // namespace retable::extratrees
