#include "algorithms/treeshap/like_units.hpp"

namespace retable::treeshap {

namespace {

std::vector<std::uint32_t> Likeness(const AnnotatedTree& tree, const PlannedUnit& planned) {
  std::vector<std::uint32_t> out = {static_cast<std::uint32_t>(tree.group), planned.own};
  out.insert(out.end(), planned.features.begin(), planned.features.end());
  out.insert(out.end(), planned.key.begin(), planned.key.end());
  return out;
}

}  // namespace

std::vector<LikeUnit> LikeUnits::Add(const AnnotatedTree& tree,
                                     const std::vector<PlannedUnit>& planned) {
  if (width_ >= most_width_) {
    open_.clear();
    width_ = 0;
    ++batch_;
  }
  std::vector<LikeUnit> out;
  for (const PlannedUnit& one : planned) {
    const auto [it, fresh] = open_.try_emplace(Likeness(tree, one), 0);
    LikeUnit like;
    like.first = fresh || members_[it->second] == kMostLikeUnits;
    if (like.first) it->second = Open(one);
    like.unit = it->second;
    Unit& unit = units_[like.unit];
    ++members_[like.unit];
    if (one.root != 0) {
      like.k = unit.width;
      unit.width += KGroups();
      width_ += KGroups();
    }
    out.push_back(like);
  }
  return out;
}

std::uint32_t LikeUnits::Open(const PlannedUnit& planned) {
  Unit unit;
  unit.first_feature = static_cast<std::uint32_t>(features_.size());
  unit.features = static_cast<std::uint32_t>(planned.features.size());
  unit.own = planned.own;
  unit.first_key = static_cast<std::uint32_t>(keys_.size());
  unit.key_words = static_cast<std::uint32_t>(planned.key.size());
  unit.digits = planned.digits;
  unit.keys = planned.keys;
  unit.width = (planned.own + 3) / 4;
  width_ += unit.width;
  features_.insert(features_.end(), planned.features.begin(), planned.features.end());
  keys_.insert(keys_.end(), planned.key.begin(), planned.key.end());
  units_.push_back(unit);
  members_.push_back(0);
  return static_cast<std::uint32_t>(units_.size()) - 1;
}

}  // namespace retable::treeshap
