#include "algorithms/treeshap/quadrature/sharing/subtree_deduplication.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace retable::treeshap {

namespace {

std::size_t IndexOf(const PlannedSubtree& subtree, std::int32_t feature) {
  const auto end = subtree.features.begin() + subtree.own;
  return static_cast<std::size_t>(std::find(subtree.features.begin(), end, feature) -
                                  subtree.features.begin());
}

// Cuts that one of the two has alone: the larger number; `least` or more where it is that.
int Difference(const PlannedSubtree& a, const PlannedSubtree& b, int least) {
  const auto [fewer, more] =
      std::minmax({static_cast<int>(a.cuts.size()), static_cast<int>(b.cuts.size())});
  if (more - fewer >= least) return least;
  int common = 0;
  for (std::size_t i = 0; i < b.own; ++i) {
    const std::size_t index = IndexOf(a, b.features[i]);
    if (index == a.own) continue;
    const auto other = a.CutsOf(index);
    for (const std::uint32_t cut : b.CutsOf(i)) {
      common += std::binary_search(other.begin(), other.end(), cut) ? 1 : 0;
    }
  }
  return more - common;
}

// Whether all features that the one splits are split by the other.
bool SplitsNoOther(const PlannedSubtree& one, const PlannedSubtree& other) {
  return std::all_of(one.features.begin(), one.features.begin() + one.own,
                     [&](std::int32_t feature) { return IndexOf(other, feature) < other.own; });
}

// The features and cuts of both; null where keys do not fit.
std::unique_ptr<PlannedSubtree> Join(const PlannedSubtree& more, const PlannedSubtree& subtree) {
  auto both = std::make_unique<PlannedSubtree>();
  both->path = subtree.path;
  both->features = subtree.features;
  both->own = subtree.own;
  for (std::size_t i = 0; i < more.own; ++i) {
    if (IndexOf(*both, more.features[i]) < both->own) continue;
    // Perhaps one of the path alone so far.
    const auto rest = both->features.begin() + both->own;
    both->features.erase(std::remove(rest, both->features.end(), more.features[i]),
                         both->features.end());
    both->features.insert(both->features.begin() + both->own++, more.features[i]);
  }
  for (std::size_t i = 0; i < both->own; ++i) {
    const std::size_t index = IndexOf(more, both->features[i]);
    const std::span<const std::uint32_t> none;
    std::ranges::set_union(i < subtree.own ? subtree.CutsOf(i) : none,
                           index < more.own ? more.CutsOf(index) : none,
                           std::back_inserter(both->cuts));
    both->cuts_end.push_back(static_cast<std::uint32_t>(both->cuts.size()));
  }
  return WriteKey(*both) ? std::move(both) : nullptr;
}

}  // namespace

std::vector<MergedSubtree> SubtreeDeduplication::Add(const std::vector<PlannedSubtree>& planned) {
  if (width_ >= most_width_) {
    open_.clear();
    width_ = 0;
    ++batch_;
  }
  std::vector<MergedSubtree> out;
  for (const PlannedSubtree& one : planned) {
    std::vector<std::uint32_t>& candidates = open_[one.stand];
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
    const int difference = Difference(*joints_[candidates[i]].all, planned, least);
    if (difference >= least) continue;
    least = difference;
    best = candidates[i];
  }
  if (least <= kMaxCutDifference) {
    Joint& joint = joints_[best];
    const std::uint32_t before = joint.OwnGroups();
    if (least == 0 && SplitsNoOther(planned, *joint.all)) return best;
    if (auto joined = Join(planned, *joint.all)) {
      joint.joined = std::move(joined);
      joint.all = joint.joined.get();
      width_ += joint.OwnGroups() - before;
      return best;
    }
  }
  joints_.push_back({&planned});
  width_ += joints_.back().OwnGroups();
  candidates.push_back(static_cast<std::uint32_t>(joints_.size()) - 1);
  return candidates.back();
}

std::vector<SharedSubtree> SubtreeDeduplication::Write(std::vector<std::uint32_t>& keys,
                                                       std::vector<std::uint32_t>& features) const {
  std::vector<SharedSubtree> subtrees;
  for (const Joint& joint : joints_) {
    const PlannedSubtree& all = *joint.all;
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
