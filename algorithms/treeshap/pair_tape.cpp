#include "algorithms/treeshap/pair_tape.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "algorithms/treeshap/quadrature_tape.hpp"

namespace retable::treeshap {

namespace {

class PairWriter {
 public:
  PairWriter(const AnnotatedTree& tree, const QuadratureRule& rule, std::size_t begin,
             const std::vector<std::uint32_t>& sets, PairTape& out)
      : tree_(tree), rule_(rule), begin_(begin), sets_(sets), out_(out) {}

  void Run() {
    out_.segments.push_back(
        {static_cast<std::uint32_t>(tree_.group), static_cast<std::uint32_t>(out_.ops.size())});
    for (int i = 0; i < out_.points; ++i) {
      const std::size_t q = begin_ + static_cast<std::size_t>(i);
      out_.t.push_back(q < rule_.size() ? static_cast<float>(rule_.node[q]) : 0.5f);
    }
    Visit(0, 0);
    Emit(pairs::kEndTree, 0, 0);
    Emit(pairs::kEnd, 0, 0);
  }

 private:
  const AnnotatedNode& node(std::int32_t n) const {
    return tree_.nodes[static_cast<std::size_t>(n)];
  }

  void Emit(pairs::Op op, int slot, std::uint32_t node_index) {
    out_.ops.push_back(
        {static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(slot) << 8, node_index});
  }

  void Visit(std::int32_t n, int slot) {
    const AnnotatedNode& at = node(n);
    const bool left_first = node(at.left).height >= node(at.right).height;
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    const std::size_t live = path_.size();
    const auto it = std::find(path_.begin(), path_.end(), at.feature);
    const auto position = static_cast<std::uint32_t>(it - path_.begin());
    const std::uint32_t record = Record(at, first, second, position);
    if (at.height == 1) {
      Emit(pairs::kLeafParent, slot, record);
      return;
    }
    if (position == live) path_.push_back(at.feature);
    out_.positions = std::max(out_.positions, static_cast<int>(path_.size()));
    out_.slots = std::max(out_.slots, slot + 1);
    Emit(pairs::kDown, slot, record);
    Visit(first, slot + 1);
    if (node(second).height == 0) {
      Emit(pairs::kUpLeaf, slot, record);
    } else {
      Emit(pairs::kMid, slot, record);
      Visit(second, slot + 1);
      Emit(pairs::kUp, slot, record);
    }
    path_.resize(live);
  }

  float SetOffset(std::int32_t set) const {
    return std::bit_cast<float>(set < 0 ? ~0u : sets_[static_cast<std::size_t>(set)]);
  }

  std::uint32_t Record(const AnnotatedNode& at, std::int32_t first, std::int32_t second,
                       std::uint32_t position) {
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double c = at.cover_above;
    const bool categorical = at.left_set >= 0;
    PairNode out{};
    out.lower = categorical ? SetOffset(at.inside_set) : at.lower;
    out.upper = categorical ? SetOffset(at.left_set) : at.upper;
    out.threshold = at.threshold;
    out.feature =
        static_cast<std::uint32_t>(at.feature) | (at.missing_inside ? tape::kMissingInside : 0u) |
        (at.missing_left ? 0u : tape::kMissingAbove) | (categorical ? tape::kCategorical : 0u);
    out.above = static_cast<float>(right_second ? 1 - w : -w);
    out.below = static_cast<float>(right_second ? -w : 1 - w);
    out.weight = static_cast<float>(w);
    out.first_value = static_cast<float>(node(first).value);
    out.second_value = static_cast<float>(node(second).value);
    out.cover = static_cast<float>(c);
    out.first_cover = static_cast<float>(c * (1 - w));
    out.second_cover = static_cast<float>(c * w);
    out.position = position;
    out.live = static_cast<std::uint32_t>(path_.size());
    out.second_above = right_second ? 1 : 0;
    out_.nodes.push_back(out);
    Tables(c);
    return static_cast<std::uint32_t>(out_.nodes.size() - 1);
  }

  void Tables(double c) {
    const auto value = [&](int i, bool e) {
      const std::size_t q = begin_ + static_cast<std::size_t>(i);
      if (q >= rule_.size()) return 0.0f;
      const double t = rule_.node[q];
      const double d = t + c * (1 - t);
      return static_cast<float>(e ? rule_.weight[q] * c / (d * d) : t / d);
    };
    for (int i = 0; i < out_.points; ++i) out_.tables.push_back(value(i, false));
    for (int i = 0; i < out_.points; ++i) out_.tables.push_back(value(i, true));
  }

  const AnnotatedTree& tree_;
  const QuadratureRule& rule_;
  std::size_t begin_;
  const std::vector<std::uint32_t>& sets_;
  PairTape& out_;
  std::vector<std::int32_t> path_;
};

double LargestLeaf(const AnnotatedTree& tree) {
  double most = 0;
  for (const AnnotatedNode& node : tree.nodes) most = std::max(most, std::abs(node.value));
  return most;
}

}  // namespace

PairTapeSet CompilePairs(const AnnotatedModel& model) {
  PairTapeSet out;
  std::vector<std::uint32_t> offsets;
  for (const CategorySet& set : model.sets) {
    offsets.push_back(static_cast<std::uint32_t>(out.sets.size()));
    out.sets.push_back(static_cast<std::uint32_t>(set.left.size()) |
                       (set.others_left ? 1u << 31 : 0u));
    out.sets.insert(out.sets.end(), set.left.begin(), set.left.end());
  }
  std::map<int, PairTape> tapes;
  std::map<int, QuadratureRule> rules;
  const TapeOptions sizes{.points = {4, 8}, .max_points = 8};
  for (const AnnotatedTree& tree : model.trees) {
    out.bound += LargestLeaf(tree);
    if (tree.nodes[0].feature < 0) continue;
    if (tree.path_features > pairs::kMaxPositions) {
      throw std::invalid_argument("interactions on the GPU take paths of at most " +
                                  std::to_string(pairs::kMaxPositions) +
                                  " distinct features; use the CPU");
    }
    const int exact = ExactPoints(tree.path_features);
    if (!rules.contains(exact)) rules[exact] = GaussLegendre(exact);
    std::size_t begin = 0;
    for (const int size : Passes(exact, sizes)) {
      PairTape& tape = tapes[size];
      tape.points = size;
      PairWriter(tree, rules[exact], begin, offsets, tape).Run();
      begin += static_cast<std::size_t>(size);
    }
  }
  for (auto& [points, tape] : tapes) out.tapes.push_back(std::move(tape));
  return out;
}

}  // namespace retable::treeshap
