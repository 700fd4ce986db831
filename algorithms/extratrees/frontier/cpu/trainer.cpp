#include "algorithms/extratrees/frontier/cpu/trainer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "algorithms/common/bulk_random.hpp"
#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier/best_first.hpp"
#include "algorithms/extratrees/frontier/cpu/lanes.hpp"
#include "algorithms/extratrees/frontier/cpu/targets.hpp"
#include "algorithms/extratrees/frontier/steps.hpp"
#include "algorithms/extratrees/splits/candidates.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {
namespace {

// Nodes up to this size read the samples' rows: they are in cache from the parent node, and a row
// holds several of the candidates a cache line. Larger nodes read the features' columns.
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

template <class Code, class Target>
class TreeGrower {
 public:
  using Node = Pending<typename Target::Node>;
  using Tried = typename Target::Cut;
  // The best cut so far.
  struct Cut : Tried {
    bool found = false;
    std::uint32_t feature = 0;
    double threshold = 0;
    Code code{};  // codes up to it go left
    bool saw_missing = false, missing_left = false;
  };

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
        target_(matrix),
        permutation_(matrix.columns),
        known_(words_),
        ids_(matrix.rows),
        spare_(matrix.rows),
        tile_(std::size_t{matrix.rows} * kLanes) {
    for (std::uint32_t f = 0; f < matrix.columns; ++f) permutation_[f] = f;
    FillIds();
  }

  Tree Grow() {
    const Node root{
        0, matrix_.rows, 0, -1, false, kRootPath, target_.Whole(ids_.data(), matrix_.rows)};
    least_weight_ = options_.min_weight_fraction_leaf * target_.Weight(root.state, root.count);
    if (options_.max_leaf_nodes > 0) {
      GrowBestFirst(root);
    } else {
      GrowDepthFirst(root);
    }
    return std::move(out_);
  }

 private:
  void GrowDepthFirst(const Node& root) {
    std::vector<Node> stack{root};
    std::vector<std::uint64_t> constants(words_, 0);  // one bitmap per stack entry
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      std::copy(constants.end() - static_cast<std::ptrdiff_t>(words_), constants.end(),
                known_.begin());
      constants.resize(constants.size() - words_);
      Cut best = Search(node);
      const std::int32_t at = Append(node, best);
      if (!best.found) continue;
      Split(node, best);
      stack.push_back(Child(node, best, true, at));
      stack.push_back(Child(node, best, false, at));
      constants.insert(constants.end(), known_.begin(), known_.end());
      constants.insert(constants.end(), known_.begin(), known_.end());
    }
  }

  // A node's samples keep their order until it is split: the tree is the top of the one without the
  // limit.
  void GrowBestFirst(const Node& root) {
    struct Made {
      Node node;
      Cut cut;
      std::vector<std::uint64_t> constants;
      std::size_t left = 0;  // its place; the right child's is the next; 0: not split
    };
    std::vector<Made> made;
    OpenNodes open;
    int splits = options_.max_leaf_nodes - 1;
    const auto make = [&](const Node& node) {
      made.push_back({.node = node});
      if (splits == 0) return;
      Made& last = made.back();
      last.cut = Search(node);
      if (!last.cut.found) return;
      last.constants = known_;
      open.Add(target_.Gain(node.state, node.count, last.cut), made.size() - 1);
    };
    make(root);
    while (!open.empty() && splits > 0) {
      const std::size_t best = open.Take();
      --splits;
      Split(made[best].node, made[best].cut);
      made[best].left = made.size();
      for (const bool right : {false, true}) {
        known_ = made[best].constants;
        make(Child(made[best].node, made[best].cut, right, -1));
      }
    }
    // In preorder, left first.
    std::vector<std::size_t> stack{0};
    while (!stack.empty()) {
      Made& next = made[stack.back()];
      stack.pop_back();
      next.cut.found = next.left > 0;
      const std::int32_t at = Append(next.node, next.cut);
      if (!next.cut.found) continue;
      for (const std::size_t child : {next.left + 1, next.left}) {
        made[child].node.parent = at;
        stack.push_back(child);
      }
    }
  }

  // The best cut of a node, `known_` being its features known to be constant; none for a leaf.
  Cut Search(const Node& node) {
    const bool leaf =
        target_.Pure(node.state, Ids(node), node.count) || limits_.StopsAt(node.count, node.depth);
    Cut best = leaf ? Cut{} : BestCut(node);
    if (best.found && limits_.min_decrease > 0) {
      const double gain = target_.Gain(node.state, node.count, best);
      best.found = !IsTooLittle(gain, limits_.min_decrease);
    }
    return best;
  }

  void Split(const Node& node, Cut& cut) {
    Partition(node, cut);
    target_.Complete(node.state, Ids(node), cut);
  }

  static Node Child(const Node& node, const Cut& cut, bool right, std::int32_t parent) {
    return {right ? node.begin + cut.n_left : node.begin,
            right ? node.count - cut.n_left : cut.n_left,
            node.depth + 1,
            parent,
            right,
            ChildPath(node.path, right),
            right ? cut.right : cut.left};
  }

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

  // A branch where there is a cut, else a leaf.
  std::int32_t Append(const Node& node, const Cut& cut) {
    const auto at = static_cast<std::int32_t>(out_.nodes.size());
    TreeNode made;
    made.samples = node.count;
    made.weight = target_.Weight(node.state, node.count);
    const bool pure = !cut.found && target_.Pure(node.state, Ids(node), node.count);
    made.impurity = target_.Impurity(node.state, node.count, pure);
    if (cut.found) {
      made.feature = static_cast<std::int32_t>(cut.feature);
      made.threshold = cut.threshold;
      made.missing_left = cut.saw_missing ? cut.missing_left : cut.n_left > node.count - cut.n_left;
    } else {
      target_.Leaf(node.state, Ids(node), node.count, made, out_);
    }
    out_.nodes.push_back(made);
    if (node.parent >= 0) {
      TreeNode& parent = out_.nodes[static_cast<std::size_t>(node.parent)];
      (node.right ? parent.right : parent.left) = at;
    }
    return at;
  }

  // Where a feature's codes of the node's samples are: that of row r at start + step * r.
  struct Reader {
    const Code* start;
    std::size_t step;
  };
  Reader Read(const Node& node, std::uint32_t f) const {
    if (node.count <= kLineRows) return {lines_ + f, matrix_.columns};
    return {columns_ + std::size_t{f} * matrix_.rows, 1};
  }

  // A line of codes for each sample: those of kWidth candidates.
  template <std::uint32_t kWidth>
  void Gather(const Node& node, const Candidates<Code>& c) {
    std::array<const Code*, kWidth> start;
    for (std::uint32_t j = 0; j < kWidth; ++j) {
      start[j] = Read(node, c.feature[j < c.width ? j : 0]).start;
    }
    const std::size_t step = Read(node, 0).step;
    const std::uint32_t* ids = Ids(node);
    Code* __restrict to = tile_.data();
    for (std::uint32_t i = 0; i < node.count; ++i, to += kLanes) {
      const std::size_t at = step * ids[i];
      for (std::uint32_t j = 0; j < kWidth; ++j) to[j] = start[j][at];
    }
  }

  float Value(std::uint32_t f, Code code) const {
    if constexpr (std::is_same_v<Code, float>) return code;
    return matrix_.values[matrix_.table_start[f] + static_cast<std::uint32_t>(code)];
  }

  // The largest code whose value is <= cut.
  Code LargestUpTo(double cut, const Candidates<Code>& c, std::uint32_t j) const {
    if constexpr (std::is_same_v<Code, float>) {
      return LargestFloatUpTo(cut);
    } else {
      const float* table = matrix_.values.data() + matrix_.table_start[c.feature[j]];
      return static_cast<Code>(CutCode(table, c.low[j], c.high[j], cut, c.bits[j]));
    }
  }

  // Gathers the candidates' codes and finds their ranges; the lanes whose feature varies. It does
  // not where all values are missing, or none and all within 1e-7, nor in any descendant.
  std::uint32_t Scan(const Node& node, Candidates<Code>& c) {
    if (c.width == 0) return 0;
    if (c.width > 4) {
      Gather<8>(node, c);
    } else if (c.width > 1) {
      Gather<4>(node, c);
    } else {
      Gather<1>(node, c);
    }
    if (Target::kMissing && matrix_.has_missing) {
      FindRanges<true>(tile_.data(), node.count, c);
    } else {
      FindRanges<false>(tile_.data(), node.count, c);
    }
    std::uint32_t varies = 0;
    for (std::uint32_t j = 0; j < c.width; ++j) {
      const std::uint32_t f = c.feature[j];
      const bool none = c.low[j] > c.high[j];
      if (!none && (c.missing[j] || !IsConstant(Value(f, c.low[j]), Value(f, c.high[j])))) {
        varies |= 1u << j;
      } else {
        known_[f / 64] |= std::uint64_t{1} << (f % 64);
      }
    }
    return varies;
  }

  // Cuts the candidates that vary; returns how many do.
  std::uint32_t Evaluate(const Node& node, Candidates<Code>& c, Cut& best) {
    const std::uint32_t varies = Scan(node, c);
    if (varies == 0) return 0;
    for (std::uint32_t j = 0; j < c.width; ++j) {
      if ((varies >> j & 1u) == 0) continue;
      c.threshold[j] =
          DrawCut(Value(c.feature[j], c.low[j]), Value(c.feature[j], c.high[j]), c.bits[j]);
      c.cut[j] = LargestUpTo(c.threshold[j], c, j);
      c.missing_left[j] = c.missing[j] && DrawMissingLeft(c.bits[j]);
    }
    std::fill_n(tried_.begin(), c.width, Tried{});
    target_.Measure(c, tile_.data(), node.count, tried_.data());
    for (std::uint32_t j = 0; j < c.width; ++j) {
      const std::uint32_t n_left = tried_[j].n_left;
      if ((varies >> j & 1u) == 0 || n_left < limits_.min_leaf ||
          node.count - n_left < limits_.min_leaf ||
          (least_weight_ > 0 &&
           (target_.Weight(tried_[j].left, n_left) < least_weight_ ||
            target_.Weight(tried_[j].right, node.count - n_left) < least_weight_))) {
        continue;
      }
      if (best.found && !Target::Better(tried_[j].score, best.score)) continue;
      best = {tried_[j], true,         c.feature[j],     c.threshold[j],
              c.cut[j],  c.missing[j], c.missing_left[j]};
    }
    return static_cast<std::uint32_t>(std::popcount(varies));
  }

  Cut BestCut(const Node& node) {
    target_.Enter(node.state, Ids(node), node.count);
    return options_.constant_rule == ConstantRule::kPublished ? BestWithReplacement(node)
                                                              : BestOfPermutation(node);
  }

  // NodeBits of draws 0, 1, ..., eight made together.
  PhiloxBlock Draw(const Node& node, std::uint32_t i) {
    const std::uint32_t l = i % kLanes;
    if (l == 0) {
      FillBlocks<kLanes>(Philox4x32::FromSeed(options_.seed), std::uint64_t{tree_} << 32 | i,
                         node.path, draws_.data());
    }
    return {{draws_[l], draws_[kLanes + l], draws_[2 * kLanes + l], draws_[3 * kLanes + l]}};
  }

  bool KnownConstant(std::uint32_t f) const { return (known_[f / 64] >> (f % 64) & 1u) != 0; }

  Cut BestOfPermutation(const Node& node) {
    const bool geurts = options_.constant_rule == ConstantRule::kGeurts;
    const std::uint32_t features = matrix_.columns;
    Cut best;
    swaps_.clear();
    std::uint32_t seen = 0;
    std::uint32_t i = 0;
    do {
      // scikit-learn's rule: K together, then one after the other until one varies.
      const bool first = i < k_;
      const std::uint32_t wanted = geurts ? k_ - seen : first ? k_ - i : 1;
      const std::uint32_t end = first && !geurts ? k_ : features;
      Candidates<Code> c;
      for (; i < end && c.width < std::min(wanted, kLanes); ++i) {
        const PhiloxBlock bits = Draw(node, i);
        const std::uint32_t place = SwapPlace(bits, i, features);
        std::swap(permutation_[i], permutation_[place]);
        swaps_.push_back(place);
        if (!KnownConstant(permutation_[i])) c.Add(permutation_[i], bits.half(1));
      }
      seen += Evaluate(node, c, best);
    } while (!SearchIsOver(geurts, k_, features, i, seen));
    while (i-- > 0) std::swap(permutation_[i], permutation_[swaps_[i]]);
    return best;
  }

  Cut BestWithReplacement(const Node& node) {
    valid_.clear();
    for (std::uint32_t f = 0; f < matrix_.columns;) {
      Candidates<Code> c;
      for (; f < matrix_.columns && c.width < kLanes; ++f) {
        if (!KnownConstant(f)) c.Add(f, 0);
      }
      const std::uint32_t varies = Scan(node, c);
      for (std::uint32_t j = 0; j < c.width; ++j) {
        if ((varies >> j & 1u) != 0) valid_.push_back(c.feature[j]);
      }
    }
    Cut best;
    for (std::uint32_t k = 0; k < k_ && !valid_.empty();) {
      Candidates<Code> c;
      for (; k < k_ && c.width < kLanes; ++k) {
        const PhiloxBlock bits = NodeBits(options_.seed, tree_, node.path, ReplacementDraw(k));
        c.Add(valid_[UniformBelow(bits.half(0), valid_.size())], bits.half(1));
      }
      Evaluate(node, c, best);
    }
    return best;
  }

  void Partition(const Node& node, const Cut& cut) {
    const Reader codes = Read(node, cut.feature);
    std::uint32_t* ids = ids_.data() + node.begin;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const std::uint32_t id = ids[i];
      const Code code = codes.start[codes.step * id];
      const bool goes_left = code <= cut.code || (cut.missing_left && IsMissing(code));
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
  double least_weight_ = 0;  // of a child
  Target target_;
  std::array<std::uint32_t, 4 * kLanes> draws_;
  std::array<Tried, kLanes> tried_;
  std::vector<std::uint32_t> permutation_;
  std::vector<std::uint32_t> swaps_;
  std::vector<std::uint32_t> valid_;
  std::vector<std::uint64_t> known_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> spare_;
  std::vector<Code> tile_;  // lines of eight codes, one a sample of the node
  Tree out_;
};

template <class Code>
Tree GrowTyped(const EncodedMatrix& m, const std::uint8_t* columns, const ForestOptions& options,
               std::uint32_t tree) {
  if (m.plain) return TreeGrower<Code, PlainClasses>(m, columns, options, tree).Grow();
  if (m.regression) return TreeGrower<Code, RealTargets>(m, columns, options, tree).Grow();
  return TreeGrower<Code, WeighedClasses>(m, columns, options, tree).Grow();
}

}  // namespace

GrowthLimits Limits(const ForestOptions& options, std::uint64_t rows) {
  GrowthLimits limits{};
  limits.max_depth = options.max_depth > 0 ? static_cast<std::uint32_t>(options.max_depth)
                                           : std::numeric_limits<std::uint32_t>::max();
  limits.min_split = static_cast<std::uint32_t>(options.min_samples_split);
  limits.min_leaf = static_cast<std::uint32_t>(options.min_samples_leaf);
  limits.min_decrease = options.min_impurity_decrease;
  limits.min_weight_share = options.min_weight_fraction_leaf;
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
    const auto grow = matrix.are_values ? GrowTyped<float> : GrowTyped<std::uint8_t>;
    const std::shared_ptr<std::uint8_t> columns = ColumnCodes(matrix);
    bytes = matrix.Bytes() + matrix.CodeBytes();
    ParallelFor(forest.trees.size(), [&](std::size_t t) {
      forest.trees[t] = grow(matrix, columns.get(), options, static_cast<std::uint32_t>(t));
    });
  });
  auto fitted = std::make_unique<HostForest>(std::move(forest));
  fitted->memory["codes"] = bytes;
  return fitted;
}

RETABLE_REGISTER(
    ForestTrainer, frontier,
    {.name = "frontier",
     .summary = "exact ExtraTrees on lossless codes; the CPU backend of the GPU's frontier",
     .citation = "Geurts, Ernst, Wehenkel 2006",
     .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"},
                    {"steps", std::string("columns"),
                     "the GPU's steps, which grow the same trees: no effect here"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ForestTrainer> {
       ParseFrontierSteps(TextParameter(p, "steps", "columns"));
       return std::make_unique<FrontierCpu>(IntParameter(p, "threads", 0));
     }});

}  // namespace retable::extratrees
