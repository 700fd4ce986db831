#include "algorithms/treeshap/pair_tape.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace retable::treeshap {

namespace {

float Word(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// What a pass of a tree needs.
struct PairPass {
  const AnnotatedTree& tree;
  const QuadratureRule& rule;
  std::size_t begin;
  int points;
  const std::vector<std::uint32_t>& sets;
};

// A feature of the path to the node at hand.
struct Live {
  std::int32_t feature;
  double cover;
};

class PairWriter {
 public:
  //! `locals`: the features of the unit written, own ones first, or null for the tree.
  PairWriter(const PairPass& pass, PairTape& out,
             const std::map<std::int32_t, const PlannedUnit*>* units, const PlannedUnit* unit,
             std::vector<Float4>& words)
      : pass_(pass), tree_(pass.tree), out_(out), units_(units), unit_(unit), words_(words) {}

  int slots() const { return slots_; }

  void Tree() {
    Head(pairs::kBegin, 0, 0, 0);
    Cold();
    Visit(0);
    Head(pairs::kEndTree, 0, 0, 0);
    Head(pairs::kEnd, 0, 0, 0);
  }

  void OwnTape() {
    Cold();
    for (const PathFeature& f : unit_->path) {
      Group({f.lower, f.upper, 0,
             Word(Place(f.feature) | (f.missing_inside ? tape::kMissingInside : 0u))});
      Points([&](double t, double) { return t + f.cover * (1 - t); });
      Points([&](double t, double) { return f.cover * (1 - t); });
      path_.push_back({f.feature, f.cover});
    }
    Visit(unit_->root);
    Head(pairs::kEnd, 0, 0, 0);
  }

 private:
  const AnnotatedNode& node(std::int32_t n) const {
    return tree_.nodes[static_cast<std::size_t>(n)];
  }

  void Group(Float4 four) { words_.push_back(four); }

  void Head(pairs::Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    Group({Word(static_cast<std::uint32_t>(op)), Word(a), Word(b), Word(c)});
  }

  // An array over the pass's points; value(t, weight), 0 past the rule's end.
  template <class F>
  void Points(F value) {
    std::vector<float> array(static_cast<std::size_t>((pass_.points + 3) / 4 * 4), 0.0f);
    for (int i = 0; i < pass_.points; ++i) {
      const std::size_t q = pass_.begin + static_cast<std::size_t>(i);
      if (q >= pass_.rule.size()) break;
      array[static_cast<std::size_t>(i)] =
          static_cast<float>(value(pass_.rule.node[q], pass_.rule.weight[q]));
    }
    for (std::size_t i = 0; i < array.size(); i += 4) {
      Group({array[i], array[i + 1], array[i + 2], array[i + 3]});
    }
  }

  void Cold() {
    Points([](double t, double) { return -1 / (1 - t); });
  }

  std::uint32_t Place(std::int32_t feature) const {
    if (unit_ == nullptr) return static_cast<std::uint32_t>(feature);
    const auto& list = unit_->features;
    return static_cast<std::uint32_t>(std::find(list.begin(), list.end(), feature) - list.begin());
  }

  std::uint32_t Pair(std::int32_t feature, std::int32_t other) const {
    const std::uint32_t a = Place(feature);
    const std::uint32_t b = Place(other);
    if (unit_ == nullptr || b < unit_->own) return PairIndex(a, b);
    const auto features = static_cast<std::uint32_t>(unit_->features.size());
    return unit_->own * (unit_->own + 1) / 2 + a * (features - unit_->own) + b - unit_->own;
  }

  const PlannedUnit* UnitAt(std::int32_t n) const {
    if (units_ == nullptr) return nullptr;
    const auto it = units_->find(n);
    return it == units_->end() ? nullptr : it->second;
  }

  // Slots are numbered from the bottom: the busy ones are low. Returns the highest of the subtree,
  // plus one.
  int Slots(std::int32_t n) {
    if (slots_of_.empty()) slots_of_.assign(tree_.nodes.size(), -1);
    int& slots = slots_of_[static_cast<std::size_t>(n)];
    if (slots >= 0) return slots;
    if (node(n).height <= 1 || UnitAt(n) != nullptr) return slots = 0;
    return slots = 1 + std::max(Slots(node(n).left), Slots(node(n).right));
  }

  void Visit(std::int32_t n) {
    if (const PlannedUnit* unit = UnitAt(n)) {
      Shared(*unit);
      return;
    }
    const AnnotatedNode& at = node(n);
    const bool left_first = node(at.left).height >= node(at.right).height;
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    const auto it = std::find_if(path_.begin(), path_.end(),
                                 [&](const Live& f) { return f.feature == at.feature; });
    const auto position = static_cast<std::size_t>(it - path_.begin());
    const bool fresh = it == path_.end();
    if (at.height == 1) {
      Node(pairs::kLeafParent, 0, at, first, second, position);
      return;
    }
    slots_ = std::max(slots_, Slots(n));
    const auto slot = static_cast<std::uint32_t>(Slots(n) - 1);
    const double c = at.cover_above;
    const double w = second == at.right ? 1 - at.left_weight : at.left_weight;
    Node(pairs::kDown, slot, at, first, second, position);
    if (fresh) path_.push_back({at.feature, 1});
    path_[position].cover = c * (1 - w);
    Visit(first);
    if (node(second).height > 0) {
      Node(pairs::kMid, slot, at, first, second, position);
      path_[position].cover = c * w;
      Visit(second);
    }
    if (fresh)
      path_.pop_back();
    else
      path_[position].cover = c;
    Node(node(second).height > 0 ? pairs::kUp : pairs::kUpLeaf, slot, at, first, second, position);
  }

  float SetOffset(std::int32_t set) const {
    return Word(set < 0 ? ~0u : pass_.sets[static_cast<std::size_t>(set)]);
  }

  void Node(pairs::Op op, std::uint32_t slot, const AnnotatedNode& at, std::int32_t first,
            std::int32_t second, std::size_t position) {
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double c = at.cover_above;
    const bool categorical = at.left_set >= 0;
    const bool leaf_parent = op == pairs::kLeafParent;
    const double difference = leaf_parent ? node(second).value - node(first).value : 1.0;
    std::vector<std::size_t> partners;
    for (std::size_t j = 0; j < path_.size(); ++j) {
      if (path_[j].feature != at.feature) partners.push_back(j);
    }
    partners.push_back(pairs::kSelf);
    const bool adds = op != pairs::kDown && op != pairs::kMid;
    Head(op, slot, adds ? static_cast<std::uint32_t>(partners.size()) : 0,
         static_cast<std::uint32_t>(position) | (right_second ? 256u : 0u));
    const std::uint32_t flags = (at.missing_inside ? tape::kMissingInside : 0u) |
                                (at.missing_left ? 0u : tape::kMissingAbove) |
                                (categorical ? tape::kCategorical : 0u);
    Group({categorical ? SetOffset(at.inside_set) : at.lower,
           categorical ? SetOffset(at.left_set) : at.upper, at.threshold,
           Word(Place(at.feature) | flags)});
    Group({static_cast<float>(right_second ? 1 - w : -w),
           static_cast<float>(right_second ? -w : 1 - w),
           static_cast<float>(leaf_parent ? at.value : w), static_cast<float>(node(second).value)});
    Points([&](double t, double) { return t / (t + c * (1 - t)) * difference; });
    if (!adds) return;
    Points([&](double t, double weight) {
      const double d = t + c * (1 - t);
      return weight * c / (d * d) * difference;
    });
    Partners(at.feature, partners);
  }

  void Partners(std::int32_t feature, const std::vector<std::size_t>& partners) {
    for (std::size_t i = 0; i < partners.size(); i += 4) {
      const std::size_t end = std::min(partners.size(), i + 4);
      float places[4] = {};
      for (std::size_t k = i; k < end; ++k) {
        const bool self = partners[k] == pairs::kSelf;
        places[k - i] = Word(Pair(feature, self ? feature : path_[partners[k]].feature) |
                             static_cast<std::uint32_t>(partners[k]) << pairs::kIndexBits);
      }
      Group({places[0], places[1], places[2], places[3]});
      for (std::size_t k = i; k < end; ++k) {
        if (partners[k] == pairs::kSelf) {
          Points([](double, double) { return 1.0; });
          continue;
        }
        const double c = path_[partners[k]].cover;
        Points([&](double t, double) { return (1 - c) / (t + c * (1 - t)); });
      }
    }
  }

  void Shared(const PlannedUnit& planned) {
    const auto features = static_cast<std::uint32_t>(planned.features.size());
    const std::uint32_t count = UnitPairs(planned.own, features);
    Unit unit;
    unit.first_word = static_cast<std::uint32_t>(out_.unit_words.size());
    unit.path_factors = static_cast<std::uint32_t>(planned.path.size());
    unit.first_feature = static_cast<std::uint32_t>(out_.unit_features.size());
    unit.features = features;
    unit.own = planned.own;
    unit.width = static_cast<std::uint32_t>(pass_.points + 3) / 4 + (count + 3) / 4;
    unit.first_key = static_cast<std::uint32_t>(out_.unit_keys.size());
    unit.key_words = static_cast<std::uint32_t>(planned.key.size());
    unit.digits = planned.digits;
    unit.keys = planned.keys;
    for (const std::int32_t f : planned.features) {
      out_.unit_features.push_back(static_cast<std::uint32_t>(f));
    }
    out_.unit_keys.insert(out_.unit_keys.end(), planned.key.begin(), planned.key.end());
    Head(pairs::kShared, static_cast<std::uint32_t>(out_.units.size()), count, unit.width);
    out_.units.push_back(unit);
    out_.most_unit_features = std::max(out_.most_unit_features, features);
    out_.most_unit_pairs = std::max(out_.most_unit_pairs, count);
    out_.most_key_words = std::max(out_.most_key_words, unit.key_words);
    PairWriter own(pass_, out_, nullptr, &planned, out_.unit_words);
    own.OwnTape();
    out_.unit_slots = std::max(out_.unit_slots, own.slots());
    Unit& added = out_.units.back();
    added.words = static_cast<std::uint32_t>(out_.unit_words.size()) - added.first_word;
    out_.most_unit_words = std::max(out_.most_unit_words, added.words);
    SharedPairs(planned, count);
  }

  // The model's pairs in the order of the unit's.
  void SharedPairs(const PlannedUnit& planned, std::uint32_t count) {
    std::vector<float> ids((count + 3) / 4 * 4, 0.0f);
    const auto id = [&](std::size_t a, std::size_t b) {
      return Word(PairIndex(static_cast<std::uint32_t>(planned.features[a]),
                            static_cast<std::uint32_t>(planned.features[b])));
    };
    std::size_t at = 0;
    for (std::size_t a = 0; a < planned.own; ++a) {
      for (std::size_t b = 0; b <= a; ++b) ids[at++] = id(a, b);
    }
    for (std::size_t a = 0; a < planned.own; ++a) {
      for (std::size_t b = planned.own; b < planned.features.size(); ++b) ids[at++] = id(a, b);
    }
    for (std::size_t i = 0; i < ids.size(); i += 4) {
      Group({ids[i], ids[i + 1], ids[i + 2], ids[i + 3]});
    }
  }

  PairPass pass_;
  const AnnotatedTree& tree_;
  PairTape& out_;
  const std::map<std::int32_t, const PlannedUnit*>* units_;
  const PlannedUnit* unit_;
  std::vector<Float4>& words_;
  std::vector<Live> path_;
  int slots_ = 0;
  std::vector<int> slots_of_;
};

double LargestLeaf(const AnnotatedTree& tree) {
  double most = 0;
  for (const AnnotatedNode& node : tree.nodes) most = std::max(most, std::abs(node.value));
  return most;
}

void RequireFits(const AnnotatedModel& model) {
  const auto f = static_cast<std::uint64_t>(model.features);
  if (f * (f + 1) / 2 > pairs::kIndexMask) {
    throw std::invalid_argument("interactions on the GPU take models of at most 11584 features");
  }
  for (const AnnotatedTree& tree : model.trees) {
    if (tree.path_features > pairs::kMaxPositions) {
      throw std::invalid_argument("interactions on the GPU take paths of at most " +
                                  std::to_string(pairs::kMaxPositions) +
                                  " distinct features; use the CPU");
    }
  }
}

}  // namespace

PairTapeSet CompilePairs(const AnnotatedModel& model, std::int32_t unit_leaves) {
  RequireFits(model);
  PairTapeSet out;
  if (unit_leaves > 0) out.ranks = RankTable(model);
  std::vector<std::uint32_t> offsets;
  for (const CategorySet& set : model.sets) {
    offsets.push_back(static_cast<std::uint32_t>(out.sets.size()));
    out.sets.push_back(static_cast<std::uint32_t>(set.left.size()) |
                       (set.others_left ? 1u << 31 : 0u));
    out.sets.insert(out.sets.end(), set.left.begin(), set.left.end());
  }
  std::map<int, PairTape> tapes;
  std::map<int, QuadratureRule> rules;
  const TapeOptions sizes{.points = {4, 6, 8}, .max_points = 8};
  for (const AnnotatedTree& tree : model.trees) {
    out.bound += LargestLeaf(tree);
    if (tree.nodes[0].feature < 0) continue;
    const auto planned = PlanUnits(tree, out.ranks, unit_leaves);
    std::map<std::int32_t, const PlannedUnit*> units;
    for (const PlannedUnit& unit : planned) units[unit.root] = &unit;
    const int exact = ExactPoints(tree.path_features);
    if (!rules.contains(exact)) rules[exact] = GaussLegendre(exact);
    std::size_t begin = 0;
    for (const int size : Passes(exact, sizes)) {
      PairTape& tape = tapes[size];
      tape.points = size;
      PairSegment segment;
      segment.group = static_cast<std::uint32_t>(tree.group);
      segment.first_word = static_cast<std::uint32_t>(tape.words.size());
      segment.first_unit = static_cast<std::uint32_t>(tape.units.size());
      PairWriter writer({tree, rules[exact], begin, size, offsets}, tape, &units, nullptr,
                        tape.words);
      writer.Tree();
      tape.slots = std::max(tape.slots, writer.slots());
      segment.units = static_cast<std::uint32_t>(tape.units.size()) - segment.first_unit;
      tape.segments.push_back(segment);
      begin += static_cast<std::size_t>(size);
    }
  }
  for (auto& [points, tape] : tapes) out.tapes.push_back(std::move(tape));
  return out;
}

}  // namespace retable::treeshap
