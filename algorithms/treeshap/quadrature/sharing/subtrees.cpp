#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "algorithms/treeshap/sorted_set.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

constexpr float kOpenEnd = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kMostHalfKeys = 0xffffu;
constexpr std::size_t kMostRanks = 0x7ff0u;
constexpr std::size_t kRankBlocks = 16;  // of trees whose thresholds are sorted side by side

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
void SetDigit(const PathFeature* path, bool own, std::span<const std::uint32_t> cuts,
              Digit& digit) {
  const bool low = path != nullptr && path->lower > -kOpenEnd;
  const bool high = path != nullptr && path->upper < kOpenEnd;
  digit.steps.clear();
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
  digit.missing = missing != top;
  if (digit.missing) digit.steps.push_back({kMissingRank, missing - top});
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
      : tree_(tree), most_leaves_(most_leaves), ranks_(tree.nodes.size(), 0) {
    for (std::size_t n = 0; n < ranks_.size(); ++n) {
      const AnnotatedNode& at = tree.nodes[n];
      if (at.feature >= 0) ranks_[n] = ranks.Rank(at.feature, at.threshold);
    }
  }

  std::vector<PlannedSubtree> Run() {
    Visit(0);
    return std::move(subtrees_);
  }

 private:
  void Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    if (at.leaves < kMinSubtreeLeaves) return;
    if (at.leaves <= most_leaves_ && Plan(n)) return;
    for (const bool left : {true, false}) {
      path_.With(Below(n, left), [&] { Visit(left ? at.left : at.right); });
    }
  }

  // What the path says of the split's feature on one side of it.
  PathFeature Below(std::int32_t n, bool left) const {
    const AnnotatedNode& at = tree_.at(n);
    const std::uint32_t rank = ranks_[static_cast<std::size_t>(n)];
    PathFeature below = path_.ValueOf({.feature = at.feature});
    if (left) {
      below.upper = std::min(below.upper, at.threshold);
      if (below.upper == at.threshold) below.ceiling = rank;
    } else {
      below.lower = std::max(below.lower, at.threshold);
      if (below.lower == at.threshold) below.bottom = rank;
    }
    below.missing_inside = below.missing_inside && at.missing_left == left;
    below.cover *= left ? at.left_weight : 1 - at.left_weight;
    return below;
  }

  // False where the keys do not fit.
  bool Plan(std::int32_t n) {
    PlannedSubtree subtree;
    subtree.root = n;
    subtree.path = path_;
    Cut(n, subtree);
    for (const PathFeature& f : path_) {
      const auto end = subtree.features.begin() + subtree.own;
      if (std::find(subtree.features.begin(), end, f.feature) == end) {
        subtree.features.push_back(f.feature);
      }
    }
    if (!WriteKey(subtree)) return false;
    SetStand(subtree);
    subtrees_.push_back(std::move(subtree));
    return true;
  }

  // The own features, in preorder, and the distinct cuts of each.
  void Cut(std::int32_t root, PlannedSubtree& subtree) {
    std::vector<std::int32_t>& features = subtree.features;
    features.reserve(path_.size() + 8);
    const auto first = static_cast<std::size_t>(root);
    const std::size_t end = first + 2 * static_cast<std::size_t>(tree_.nodes[first].leaves) - 1;
    cuts_.clear();
    for (std::size_t n = first; n < end; ++n) {
      const std::int32_t feature = tree_.nodes[n].feature;
      if (feature < 0) continue;
      const auto it = std::find(features.begin(), features.end(), feature);
      cuts_.emplace_back(it - features.begin(), ranks_[n]);
      if (it == features.end()) features.push_back(feature);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    subtree.own = static_cast<std::uint32_t>(features.size());
    subtree.cuts.reserve(cuts_.size());
    subtree.cuts_end.reserve(subtree.own);
    auto cut = cuts_.begin();
    for (std::uint32_t i = 0; i < subtree.own; ++i) {
      const PathFeature above = path_.ValueOf({.feature = features[i]});
      for (; cut != cuts_.end() && cut->first == i; ++cut) {
        const bool inside = cut->second > above.bottom && cut->second < above.ceiling;
        if (inside) subtree.cuts.push_back(cut->second);
      }
      subtree.cuts_end.push_back(static_cast<std::uint32_t>(subtree.cuts.size()));
    }
  }

  void SetStand(PlannedSubtree& subtree) {
    sorted_ = path_;
    std::ranges::sort(sorted_, {}, &PathFeature::feature);
    subtree.stand.reserve(1 + 3 * sorted_.size());
    subtree.stand = static_cast<char32_t>(tree_.group);
    for (const PathFeature& f : sorted_) {
      subtree.stand += static_cast<char32_t>(f.feature << 1 | (f.missing_inside ? 1 : 0));
      subtree.stand += static_cast<char32_t>(f.bottom);
      subtree.stand += static_cast<char32_t>(f.ceiling);
    }
  }

  const AnnotatedTree& tree_;
  std::int32_t most_leaves_;
  std::vector<std::uint32_t> ranks_;                           // of the nodes' thresholds
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cuts_;  // own feature's number, rank
  std::vector<PathFeature> sorted_;
  PathFeatures<PathFeature> path_;
  std::vector<PlannedSubtree> subtrees_;
};

}  // namespace

RankTable::RankTable(const AnnotatedModel& model) {
  if (!model.sets.empty()) return;
  // Of some trees each, then of all.
  const std::size_t block = model.trees.size() / kRankBlocks + 1;
  std::vector<std::vector<std::vector<float>>> lists(kRankBlocks + 1);
  for (auto& of_block : lists) of_block.resize(static_cast<std::size_t>(model.features));
  ParallelBlocks(model.trees.size(), block, [&](std::size_t first, std::size_t end) {
    std::vector<std::vector<float>>& own = lists[first / block];
    for (std::size_t t = first; t < end; ++t) {
      for (const AnnotatedNode& node : model.trees[t].nodes) {
        if (node.feature >= 0)
          own[static_cast<std::size_t>(node.feature)].push_back(node.threshold);
      }
    }
    for (auto& list : own) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  });
  std::vector<std::vector<float>>& all = lists.back();
  ParallelFor(all.size(), [&](std::size_t f) {
    for (std::size_t b = 0; b < kRankBlocks; ++b) MergeSorted(all[f], lists[b][f]);
  });
  begin_.push_back(0);
  fits_ = true;
  for (const auto& list : all) {
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
  subtree.key.reserve(8 * subtree.features.size() + 2 * subtree.cuts.size());
  Digit digit;
  for (std::size_t i = 0; i < subtree.features.size(); ++i) {
    const bool own = i < subtree.own;
    SetDigit(subtree.path.Find(subtree.features[i]), own,
             own ? subtree.CutsOf(i) : std::span<const std::uint32_t>(), digit);
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
