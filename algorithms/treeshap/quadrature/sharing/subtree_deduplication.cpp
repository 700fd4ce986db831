#include "algorithms/treeshap/quadrature/sharing/subtree_deduplication.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/treeshap/sorted_set.hpp"

namespace retable::treeshap {

namespace {

// What subtrees must agree on to be joined: output and path.
std::vector<std::uint32_t> Stand(const AnnotatedTree& tree, const PlannedSubtree& planned) {
  std::vector<const PathFeature*> path;
  for (const PathFeature& f : planned.path) path.push_back(&f);
  std::sort(path.begin(), path.end(),
            [](const PathFeature* a, const PathFeature* b) { return a->feature < b->feature; });
  std::vector<std::uint32_t> out = {static_cast<std::uint32_t>(tree.group)};
  for (const PathFeature* f : path) {
    out.insert(out.end(),
               {static_cast<std::uint32_t>(f->feature) << 1 | (f->missing_inside ? 1u : 0u),
                f->bottom, f->ceiling});
  }
  return out;
}

std::size_t IndexOf(const PlannedSubtree& subtree, std::int32_t feature) {
  const auto end = subtree.features.begin() + subtree.own;
  return static_cast<std::size_t>(std::find(subtree.features.begin(), end, feature) -
                                  subtree.features.begin());
}

int CutCount(const PlannedSubtree& subtree) {
  std::size_t count = 0;
  for (const auto& cuts : subtree.cuts) count += cuts.size();
  return static_cast<int>(count);
}

// Cuts that one of the two has alone: the larger number.
int Difference(const PlannedSubtree& a, const PlannedSubtree& b) {
  int common = 0;
  for (std::size_t i = 0; i < b.own; ++i) {
    const std::size_t index = IndexOf(a, b.features[i]);
    if (index == a.own) continue;
    const auto& other = a.cuts[index];
    for (const std::uint32_t cut : b.cuts[i]) {
      common += std::binary_search(other.begin(), other.end(), cut) ? 1 : 0;
    }
  }
  return std::max(CutCount(a), CutCount(b)) - common;
}

// The subtree with the cuts of both; false where keys do not fit.
bool Join(const PlannedSubtree& more, PlannedSubtree& subtree) {
  PlannedSubtree both = subtree;
  for (std::size_t i = 0; i < more.own; ++i) {
    const std::size_t index = IndexOf(both, more.features[i]);
    if (index == both.own) {
      // Perhaps one of the path alone so far.
      const auto rest = both.features.begin() + both.own;
      both.features.erase(std::remove(rest, both.features.end(), more.features[i]),
                          both.features.end());
      both.features.insert(both.features.begin() + both.own++, more.features[i]);
      both.cuts.push_back(more.cuts[i]);
      continue;
    }
    MergeSorted(both.cuts[index], more.cuts[i]);
  }
  if (!WriteKey(both)) return false;
  subtree = std::move(both);
  return true;
}

}  // namespace

std::vector<MergedSubtree> SubtreeDeduplication::Add(const AnnotatedTree& tree,
                                                     const std::vector<PlannedSubtree>& planned) {
  if (width_ >= most_width_) {
    open_.clear();
    width_ = 0;
    ++batch_;
  }
  std::vector<MergedSubtree> out;
  for (const PlannedSubtree& one : planned) {
    std::vector<std::uint32_t>& candidates = open_[Stand(tree, one)];
    MergedSubtree merged;
    merged.subtree = JoinOrOpen(one, candidates);
    Joint& joint = joints_[merged.subtree];
    merged.first = joint.members == 0;
    if (++joint.members == kMaxMergedSubtrees) std::erase(candidates, merged.subtree);
    if (one.root != 0) {
      merged.k = joint.with_k++;  // an index until AssignK
      width_ += KGroups();
    }
    out.push_back(merged);
  }
  return out;
}

// The one that differs least, joined, or a new one.
std::uint32_t SubtreeDeduplication::JoinOrOpen(const PlannedSubtree& planned,
                                               std::vector<std::uint32_t>& candidates) {
  int least = kMaxCutDifference + 1;
  std::uint32_t best = 0;
  const std::size_t compared = std::min(candidates.size(), kMaxCompared);
  for (std::size_t i = candidates.size() - compared; i < candidates.size() && least > 0; ++i) {
    const int difference = Difference(joints_[candidates[i]].all, planned);
    if (difference >= least) continue;
    least = difference;
    best = candidates[i];
  }
  if (least <= kMaxCutDifference) {
    Joint& joint = joints_[best];
    const std::uint32_t before = joint.OwnGroups();
    if (Join(planned, joint.all)) {
      width_ += joint.OwnGroups() - before;
      return best;
    }
  }
  joints_.push_back({planned, 0, 0});
  width_ += joints_.back().OwnGroups();
  candidates.push_back(static_cast<std::uint32_t>(joints_.size()) - 1);
  return candidates.back();
}

std::vector<SharedSubtree> SubtreeDeduplication::Write(std::vector<std::uint32_t>& keys,
                                                       std::vector<std::uint32_t>& features) const {
  std::vector<SharedSubtree> subtrees;
  for (const Joint& joint : joints_) {
    const PlannedSubtree& all = joint.all;
    SharedSubtree subtree;
    subtree.first_feature = static_cast<std::uint32_t>(features.size());
    subtree.features = static_cast<std::uint32_t>(all.features.size());
    subtree.own = all.own;
    subtree.first_key = static_cast<std::uint32_t>(keys.size());
    subtree.key_words = static_cast<std::uint32_t>(all.key.size());
    subtree.digits = all.digits;
    subtree.keys = all.keys;
    subtree.width = joint.OwnGroups() + joint.with_k * KGroups();
    features.insert(features.end(), all.features.begin(), all.features.end());
    keys.insert(keys.end(), all.key.begin(), all.key.end());
    subtrees.push_back(subtree);
  }
  return subtrees;
}

void SubtreeDeduplication::AssignK(std::vector<MergedSubtree>& of_tree) const {
  for (MergedSubtree& merged : of_tree) {
    if (merged.k != tape::kNoK)
      merged.k = joints_[merged.subtree].OwnGroups() + merged.k * KGroups();
  }
}

}  // namespace retable::treeshap
