#pragma once
//! @file
//! Common to the compilers of both tapes of interaction values (interactions/ancestor/tape.cpp,
//! interactions/derivative/tape.cpp): what writes the instructions of a tile, and the order of
//! tiles.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/treeshap/model/path_features.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

inline std::uint32_t Count(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

//! What a pass of a tree needs; the plan says where tiles begin.
template <class Plan>
struct TilePass {
  const AnnotatedTree& tree;
  const QuadratureRule& rule;
  std::size_t begin;  //!< first point of the rule
  int points;
  const std::vector<std::uint32_t>& sets;
  const Plan& plan;
};

//! A feature of the path to the node at hand: the last split on it and the side taken.
struct LiveFeature {
  std::int32_t feature;
  double cover;
  std::int32_t node;
  bool right;
  std::int64_t state = -1;  //!< ancestor form: number in the tile, where it has one
};

//! Instructions of one tile. A head's first word is op | length << kLengthShift.
template <class Plan, int kLengthShift>
class TileCode {
 public:
  TileCode(const TilePass<Plan>& pass, PathFeatures<LiveFeature> path)
      : pass_(pass), tree_(pass.tree), path_(std::move(path)) {}
  virtual ~TileCode() = default;

 protected:
  void Group(Float4 four) { ops_.push_back(four); }

  void Begin(Float4 head) {
    last_ = ops_.size();
    Group(head);
  }

  // Ends the instruction: its length is known.
  void Tail() {
    const std::uint32_t length = Count(ops_.size() - last_);
    ops_[last_].x = Word(std::bit_cast<std::uint32_t>(ops_[last_].x) | length << kLengthShift);
  }

  // An array over the pass's points; value(t, weight), 0 past the rule's end.
  template <class Value>
  void Points(std::vector<Float4>& words, Value value) const {
    float array[8] = {};
    for (int i = 0; i < pass_.points; ++i) {
      const std::size_t q = pass_.begin + static_cast<std::size_t>(i);
      if (q >= pass_.rule.size()) break;
      array[i] = static_cast<float>(value(pass_.rule.node[q], pass_.rule.weight[q]));
    }
    for (int i = 0; i < pass_.points; i += 4) {
      words.push_back({array[i], array[i + 1], array[i + 2], array[i + 3]});
    }
  }

  // Calls body() with the path to a child of n.
  template <class Body>
  void OnPath(std::int32_t n, std::int32_t child, const Body& body) {
    const AnnotatedNode& at = tree_.at(n);
    const bool right = child == at.right;
    const double share = right ? 1 - at.left_weight : at.left_weight;
    path_.With({at.feature, at.cover_above * share, n, right}, body);
  }

  // Slots of the stack are numbered from the bottom: the busy ones are low. Returns the highest of
  // the subtree, plus one.
  int Slots(std::int32_t n) {
    if (Slotless(n)) return 0;
    const auto it = slots_of_.find(n);
    if (it != slots_of_.end()) return it->second;
    return slots_of_[n] = 1 + std::max(Slots(tree_.at(n).left), Slots(tree_.at(n).right));
  }
  virtual bool Slotless(std::int32_t n) const = 0;

  TilePass<Plan> pass_;
  const AnnotatedTree& tree_;
  PathFeatures<LiveFeature> path_;
  std::vector<Float4> ops_;
  std::size_t last_ = 0;  // last instruction's head
  std::vector<std::uint32_t> interactions_;
  std::unordered_map<std::uint32_t, std::uint32_t> slot_of_;  // of each interaction
  int slots_ = 0;

 private:
  std::unordered_map<std::int32_t, int> slots_of_;
};

//! Calls body(rule, first point, points) for the passes of a tree, of these sizes.
template <class Body>
void ForEachPass(const AnnotatedTree& tree, const std::vector<int>& sizes, const Body& body) {
  const int points = FloatPoints(tree);
  const QuadratureRule rule = GaussLegendre(points);
  std::size_t begin = 0;
  for (const int size : Passes(points, sizes)) {
    body(rule, begin, size);
    begin += static_cast<std::size_t>(size);
  }
}

//! Sorts tiles by the words on their path to the root, the longest first, so that a tile comes
//! before the tile above it. @return the new number of each tile
template <class Tile>
std::vector<std::uint32_t> OrderTiles(std::vector<Tile>& tiles) {
  std::vector<std::size_t> length(tiles.size());
  std::vector<std::uint32_t> order(tiles.size());
  for (std::size_t i = tiles.size(); i-- > 0;) {
    const std::uint32_t above = tiles[i].above;
    length[i] = tiles[i].words + (above == Tile::kNoTile ? 0 : length[above]);
    order[i] = Count(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t i) { return length[i]; });
  std::vector<std::uint32_t> number(tiles.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = Count(i);
  std::vector<Tile> ordered;
  for (const std::uint32_t old : order) {
    ordered.push_back(tiles[old]);
    if (tiles[old].above != Tile::kNoTile) ordered.back().above = number[tiles[old].above];
  }
  tiles = std::move(ordered);
  return number;
}

}  // namespace retable::treeshap
