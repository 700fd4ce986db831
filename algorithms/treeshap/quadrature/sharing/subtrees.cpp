#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"

#include <algorithm>
#include <limits>

namespace retable::treeshap {

namespace {

constexpr float kOpenEnd = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kMostHalfKeys = 0xffffu;
constexpr std::size_t kMostRanks = 0x7ff0u;

struct Step {
  std::uint32_t cut;
  std::int32_t weight;
};

struct Digit {
  std::vector<Step> steps;  // the last of a missing value, perhaps
  std::uint32_t values = 1;
  bool missing = false;
};

// The place among the cuts, with one value for all that is outside.
Digit DigitOf(const PathFeature* path, bool own, const std::vector<std::uint32_t>& cuts) {
  const bool low = path != nullptr && path->lower > -kOpenEnd;
  const bool high = path != nullptr && path->upper < kOpenEnd;
  Digit digit;
  if (low) digit.steps.push_back({path->bottom, 1});
  for (const std::uint32_t cut : cuts) digit.steps.push_back({cut, 1});
  const auto count = static_cast<std::int32_t>(cuts.size());
  // Above the interval: back to the value below it where there is one.
  if (high) {
    digit.steps.push_back({std::max(path->bottom, path->ceiling), low ? -(count + 1) : 1});
  }
  digit.values = static_cast<std::uint32_t>(count + 1 + (path != nullptr ? 1 : 0));
  const std::int32_t outside = low ? 0 : count + 1;
  const std::int32_t top = high ? outside : count + (low ? 1 : 0);  // of the largest ranks
  // A missing value that is inside goes its own way through the subtree's splits.
  std::int32_t missing = outside;
  if (path == nullptr || path->missing_inside) {
    missing = own ? static_cast<std::int32_t>(digit.values++) : (low ? 1 : 0);
  }
  if (missing != top) {
    digit.steps.push_back({kMissingRank, missing - top});
    digit.missing = true;
  }
  return digit;
}

void Write(std::int32_t feature, const Digit& digit, std::uint32_t stride, std::uint32_t upper,
           std::vector<std::uint32_t>& program) {
  const auto groups = [](std::size_t steps) {
    return static_cast<std::uint32_t>(std::max<std::size_t>((steps + 1) / 2, 1));
  };
  const std::size_t steps = digit.steps.size();
  program.insert(program.end(), {static_cast<std::uint32_t>(feature),
                                 groups(steps - (digit.missing ? 1 : 0)), groups(steps), upper});
  for (const Step& step : digit.steps) {
    const std::uint32_t bound = (1u - step.cut) & 0xffffu;
    program.push_back(bound | bound << 16);
    program.push_back(static_cast<std::uint32_t>(step.weight) * stride);
  }
  // Steps that are never taken.
  for (std::size_t i = steps; i < 2 * groups(steps); ++i) {
    program.insert(program.end(), {0x80018001u, 0u});
  }
}

// Walks a tree from the root and plans the first subtree on each path that may be a subtree.
class Planner {
 public:
  Planner(const AnnotatedTree& tree, const RankTable& ranks, std::int32_t most_leaves)
      : tree_(tree), ranks_(ranks), most_leaves_(most_leaves), leaves_(tree.nodes.size(), 0) {}

  std::vector<PlannedSubtree> Run() {
    if (tree_.nodes[0].feature < 0) return {};
    CountLeaves();
    Visit(0);
    return std::move(subtrees_);
  }

 private:
  const AnnotatedNode& node(std::int32_t n) const {
    return tree_.nodes[static_cast<std::size_t>(n)];
  }

  // Children come after their parent.
  void CountLeaves() {
    for (std::size_t n = tree_.nodes.size(); n-- > 0;) {
      const AnnotatedNode& at = tree_.nodes[n];
      leaves_[n] = at.feature < 0 ? 1
                                  : leaves_[static_cast<std::size_t>(at.left)] +
                                        leaves_[static_cast<std::size_t>(at.right)];
    }
  }

  void Visit(std::int32_t n) {
    const AnnotatedNode& at = node(n);
    if (at.feature < 0) return;
    const std::int32_t leaves = leaves_[static_cast<std::size_t>(n)];
    if (leaves < kMinSubtreeLeaves) return;
    if (leaves <= most_leaves_ && Plan(n)) return;
    for (const bool left : {true, false}) {
      path_.With(Below(at, left), [&] { Visit(left ? at.left : at.right); });
    }
  }

  // What the path says of the split's feature on one side of it.
  PathFeature Below(const AnnotatedNode& at, bool left) const {
    PathFeature below = path_.ValueOf({.feature = at.feature});
    if (left) {
      below.upper = std::min(below.upper, at.threshold);
      below.ceiling = ranks_.Rank(at.feature, below.upper);
    } else {
      below.lower = std::max(below.lower, at.threshold);
      below.bottom = ranks_.Rank(at.feature, below.lower);
    }
    below.missing_inside = below.missing_inside && at.missing_left == left;
    below.cover *= left ? at.left_weight : 1 - at.left_weight;
    return below;
  }

  // Distinct cuts of each feature below n.
  void Cuts(std::int32_t n, std::vector<std::int32_t>& features,
            std::vector<std::vector<std::uint32_t>>& cuts) const {
    const AnnotatedNode& at = node(n);
    if (at.feature < 0) return;
    const auto it = std::find(features.begin(), features.end(), at.feature);
    const auto place = static_cast<std::size_t>(it - features.begin());
    if (it == features.end()) {
      features.push_back(at.feature);
      cuts.emplace_back();
    }
    cuts[place].push_back(ranks_.Rank(at.feature, at.threshold));
    Cuts(at.left, features, cuts);
    Cuts(at.right, features, cuts);
  }

  // False where the keys do not fit.
  bool Plan(std::int32_t n) {
    PlannedSubtree subtree;
    subtree.root = n;
    subtree.path = path_;
    Cuts(n, subtree.features, subtree.cuts);
    subtree.own = static_cast<std::uint32_t>(subtree.features.size());
    for (std::size_t i = 0; i < subtree.own; ++i) KeepInside(subtree.features[i], subtree.cuts[i]);
    for (const PathFeature& f : path_) {
      const auto end = subtree.features.begin() + subtree.own;
      if (std::find(subtree.features.begin(), end, f.feature) == end) {
        subtree.features.push_back(f.feature);
      }
    }
    if (!WriteKey(subtree)) return false;
    subtrees_.push_back(std::move(subtree));
    return true;
  }

  void KeepInside(std::int32_t feature, std::vector<std::uint32_t>& cuts) const {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    const PathFeature above = path_.ValueOf({.feature = feature});
    std::erase_if(cuts,
                  [&](std::uint32_t cut) { return cut <= above.bottom || cut >= above.ceiling; });
  }

  const AnnotatedTree& tree_;
  const RankTable& ranks_;
  std::int32_t most_leaves_;
  std::vector<std::int32_t> leaves_;
  PathFeatures<PathFeature> path_;
  std::vector<PlannedSubtree> subtrees_;
};

}  // namespace

RankTable::RankTable(const AnnotatedModel& model) {
  if (!model.sets.empty()) return;
  std::vector<std::vector<float>> lists(static_cast<std::size_t>(model.features));
  for (const AnnotatedTree& tree : model.trees) {
    for (const AnnotatedNode& node : tree.nodes) {
      if (node.feature >= 0)
        lists[static_cast<std::size_t>(node.feature)].push_back(node.threshold);
    }
  }
  begin_.push_back(0);
  fits_ = true;
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    fits_ = fits_ && list.size() < kMostRanks;
    thresholds_.insert(thresholds_.end(), list.begin(), list.end());
    begin_.push_back(static_cast<std::uint32_t>(thresholds_.size()));
  }
}

std::uint32_t RankTable::Rank(std::int32_t feature, float x) const {
  const auto f = static_cast<std::size_t>(feature);
  const auto first = thresholds_.begin() + begin_[f];
  return static_cast<std::uint32_t>(
      std::upper_bound(first, thresholds_.begin() + begin_[f + 1], x) - first);
}

bool WriteKey(PlannedSubtree& subtree) {
  // Fills the halves of the key one after the other.
  std::uint32_t keys[2] = {1, 1};
  std::uint32_t upper = 0;
  subtree.key.clear();
  const std::vector<std::uint32_t> none;
  for (std::size_t i = 0; i < subtree.features.size(); ++i) {
    const bool own = i < subtree.own;
    const Digit digit =
        DigitOf(subtree.path.Find(subtree.features[i]), own, own ? subtree.cuts[i] : none);
    if (keys[upper] > kMostHalfKeys / digit.values) ++upper;
    if (upper > 1 || digit.values > kMostHalfKeys) return false;
    Write(subtree.features[i], digit, keys[upper], upper, subtree.key);
    keys[upper] *= digit.values;
  }
  subtree.digits = static_cast<std::uint32_t>(subtree.features.size());
  subtree.keys = upper == 0 ? keys[0] : ~0u;
  return true;
}

std::vector<PlannedSubtree> PlanSubtrees(const AnnotatedTree& tree, const RankTable& ranks,
                                         std::int32_t most_leaves) {
  if (!ranks.fits() || most_leaves < kMinSubtreeLeaves) return {};
  return Planner(tree, ranks, most_leaves).Run();
}

}  // namespace retable::treeshap
