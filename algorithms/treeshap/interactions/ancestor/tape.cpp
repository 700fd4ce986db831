#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/interactions/common/tile_tape.hpp"

namespace retable::treeshap {

namespace {

// Where a tree is cut.
struct Cuts {
  std::vector<bool> part;  // by node: a part begins
  std::map<std::int32_t, const PlannedSubtree*> units;
};

// Marks the nodes at which parts begin: from the bottom, a subtree that would become too large is
// parted from its larger child.
class PartPlanner {
 public:
  PartPlanner(const AnnotatedTree& tree, const PairOptions& options, Cuts& cuts)
      : tree_(tree), options_(options), cuts_(cuts) {}

  void Run() {
    cuts_.part.assign(tree_.nodes.size(), false);
    cuts_.part[0] = true;
    Visit(0);
  }

 private:
  static constexpr std::int32_t kUnitLeaves = 6;  // the work of a unit's results

  struct Piece {
    std::int32_t leaves = 1;
    int height = 0;
    bool whole = true;  // nothing to cut: a leaf, a unit
    std::vector<std::int32_t> features;
  };

  Piece Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.nodes[static_cast<std::size_t>(n)];
    if (at.feature < 0) return {};
    if (const auto it = cuts_.units.find(n); it != cuts_.units.end()) {
      const auto& features = it->second->features;
      return {kUnitLeaves, 0, true, {features.begin(), features.begin() + it->second->own}};
    }
    const bool fresh = std::find(path_.begin(), path_.end(), at.feature) == path_.end();
    if (fresh) path_.push_back(at.feature);
    Piece left = Visit(at.left);
    Piece right = Visit(at.right);
    if (fresh) path_.pop_back();
    Piece whole = Joined(at.feature, left, right);
    for (int cut = 0; cut < 2 && !Fits(whole); ++cut) {
      const bool take_left = !left.whole && (right.whole || left.leaves >= right.leaves);
      Piece& child = take_left ? left : right;
      if (child.whole) break;
      cuts_.part[static_cast<std::size_t>(take_left ? at.left : at.right)] = true;
      child = {};
      whole = Joined(at.feature, left, right);
    }
    return whole;
  }

  static Piece Joined(std::int32_t feature, const Piece& left, const Piece& right) {
    Piece whole{left.leaves + right.leaves, 1 + std::max(left.height, right.height), false,
                left.features};
    const auto add = [&](std::int32_t f) {
      if (std::find(whole.features.begin(), whole.features.end(), f) == whole.features.end()) {
        whole.features.push_back(f);
      }
    };
    for (const std::int32_t f : right.features) add(f);
    add(feature);
    return whole;
  }

  bool Fits(const Piece& piece) const {
    const auto own = Count(piece.features.size());
    std::uint32_t others = 0;
    for (const std::int32_t f : path_) {
      const auto& list = piece.features;
      others += std::find(list.begin(), list.end(), f) == list.end() ? 1 : 0;
    }
    return piece.leaves <= options_.part_leaves && piece.height <= pairs::kMostSlots &&
           own * (own + 1) / 2 + own * others <= options_.part_pairs;
  }

  const AnnotatedTree& tree_;
  const PairOptions& options_;
  Cuts& cuts_;
  std::vector<std::int32_t> path_;
};

// What a pass of a tree needs.
struct PairPass {
  const AnnotatedTree& tree;
  const QuadratureRule& rule;
  std::size_t begin;
  int points;
  const std::vector<std::uint32_t>& sets;
  const Cuts& cuts;
};

// A feature of the path to the node at hand: the last split on it and the side taken.
struct Live {
  std::int32_t feature;
  double cover;
  std::int32_t node;
  bool right;
  std::int64_t state = -1;  // its number in the part, where it has one
};

// A part named by an operation: where its head is.
struct PartCall {
  std::uint32_t part;
  std::size_t head;
};

// A tape on which parts have the numbers in which they were written: those below come first.
struct PairDraft {
  PairTape tape;
  std::vector<PartCall> calls;
};

// Writes one part, and those below it first.
class PairWriter {
 public:
  PairWriter(const PairPass& pass, PairDraft& draft, std::vector<Live> path)
      : pass_(pass),
        tree_(pass.tree),
        draft_(draft),
        out_(draft.tape),
        calls_(draft.calls),
        path_(std::move(path)) {
    for (Live& live : path_) live.state = -1;
    factors_ = path_.size();
  }

  // The part's number.
  std::uint32_t Part(std::int32_t root) {
    Visit(root);
    Head(pairs::kEnd, 0, 0, 0);
    PairPart part = Finish(out_.words, out_.sizes);
    part.below = Count(below_.size());
    const std::uint32_t number = Count(out_.parts.size());
    out_.parts.push_back(part);
    const std::size_t first_op = out_.words.size() - ops_.size();
    for (const auto& [below, head] : below_) {
      out_.parts[below].above = number;
      calls_.push_back({below, first_op + head});
    }
    return number;
  }

  // Its pairs are kept in their order.
  PairPart UnitPart(std::int32_t root, std::vector<std::uint32_t>& pair_list) {
    unit_ = true;
    Visit(root);
    Head(pairs::kEnd, 0, 0, 0);
    const PairPart part = Finish(out_.unit_words, out_.unit_sizes);
    pair_list = std::move(pair_list_);
    return part;
  }

 private:
  const AnnotatedNode& node(std::int32_t n) const {
    return tree_.nodes[static_cast<std::size_t>(n)];
  }

  PairPart Finish(std::vector<Float4>& words, PairSizes& sizes) {
    PairPart part;
    part.group = static_cast<std::uint32_t>(tree_.group);
    part.first_word = Count(words.size());
    part.states = states_;
    part.factors = Count(factors_);
    part.pairs = Count(pair_list_.size());
    std::vector<Float4> factors;
    for (std::size_t i = 0; i < factors_; ++i) Factor(factors, path_[i]);
    part.features = Count(features_.size());
    Words(features_, words);
    Words(pair_list_, words);
    words.insert(words.end(), state_words_.begin(), state_words_.end());
    Points(words, [](double t, double) { return -1 / (1 - t); });
    words.insert(words.end(), factors.begin(), factors.end());
    words.insert(words.end(), ops_.begin(), ops_.end());
    part.words = Count(words.size()) - part.first_word;
    sizes.words = std::max(sizes.words, part.words);
    sizes.pairs = std::max(sizes.pairs, part.pairs);
    sizes.features = std::max(sizes.features, part.features);
    sizes.slots = std::max(sizes.slots, static_cast<std::uint32_t>(slots_));
    return part;
  }

  void Factor(std::vector<Float4>& words, const Live& live) {
    Float4 split = Split(node(live.node));
    split.w = Word(std::bit_cast<std::uint32_t>(split.w) | (live.right ? 0u : pairs::kBelow));
    words.push_back(split);
    Points(words, [&](double t, double) { return t + live.cover * (1 - t); });
    Points(words, [&](double t, double) { return live.cover * (1 - t); });
  }

  Float4 Split(const AnnotatedNode& at) {
    const bool categorical = at.left_set >= 0;
    const std::uint32_t flags = (at.missing_inside ? tape::kMissingInside : 0u) |
                                (at.missing_left ? 0u : tape::kMissingAbove) |
                                (categorical ? tape::kCategorical : 0u);
    return {categorical ? SetOffset(at.inside_set) : at.lower,
            categorical ? SetOffset(at.left_set) : at.upper, at.threshold,
            Word(Place(at.feature) | flags)};
  }

  // Of the feature in the part's list.
  std::uint32_t Place(std::int32_t feature) {
    const auto it =
        std::find(features_.begin(), features_.end(), Count(static_cast<std::size_t>(feature)));
    const std::uint32_t place = Count(static_cast<std::size_t>(it - features_.begin()));
    if (it == features_.end()) features_.push_back(static_cast<std::uint32_t>(feature));
    return place;
  }

  float SetOffset(std::int32_t set) const {
    return Word(set < 0 ? ~0u : pass_.sets[static_cast<std::size_t>(set)]);
  }

  void Group(Float4 four) { ops_.push_back(four); }

  void Head(pairs::Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    last_ = ops_.size();
    Group({Word(static_cast<std::uint32_t>(op)), Word(a), Word(b), Word(c)});
  }

  // Ends the operation: its length is known.
  void Tail() {
    const std::uint32_t length = Count(ops_.size() - last_);
    ops_[last_].x = Word(std::bit_cast<std::uint32_t>(ops_[last_].x) | length << 8);
  }

  // An array over the pass's points; value(t, weight), 0 past the rule's end.
  template <class F>
  void Points(std::vector<Float4>& words, F value) const {
    PointWords(pass_.rule, pass_.begin, pass_.points, value, words);
  }

  // Slots of the stack are numbered from the bottom: the busy ones are low. Returns the highest of
  // the subtree, plus one.
  int Slots(std::int32_t n) {
    if (node(n).height <= 1 || Cut(n)) return 0;
    const auto it = slots_of_.find(n);
    if (it != slots_of_.end()) return it->second;
    const int slots = 1 + std::max(Slots(node(n).left), Slots(node(n).right));
    slots_of_[n] = slots;
    return slots;
  }

  bool Cut(std::int32_t n) const {
    return !unit_ && (pass_.cuts.part[static_cast<std::size_t>(n)] || pass_.cuts.units.contains(n));
  }

  void Visit(std::int32_t n) {
    const AnnotatedNode& at = node(n);
    const int left_slots = Slots(at.left);
    const int right_slots = Slots(at.right);
    const bool left_first = left_slots != right_slots
                                ? left_slots > right_slots
                                : node(at.left).height >= node(at.right).height;
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
    const int slots = 1 + std::max(left_slots, right_slots);
    slots_ = std::max(slots_, slots);
    const auto slot = static_cast<std::uint32_t>(slots - 1);
    const double left_cover = at.cover_above * at.left_weight;
    const double right_cover = at.cover_above * (1 - at.left_weight);
    Node(pairs::kDown, slot, at, first, second, position);
    Live before{};
    if (fresh) {
      path_.push_back({at.feature, 0, n, false});
    } else {
      before = path_[position];
    }
    path_[position] = {at.feature, left_first ? left_cover : right_cover, n, !left_first};
    Child(first);
    const bool leaf = node(second).height == 0;
    if (!leaf) {
      Node(pairs::kMid, slot, at, first, second, position);
      path_[position] = {at.feature, left_first ? right_cover : left_cover, n, left_first};
      Child(second);
    }
    if (fresh) {
      path_.pop_back();
    } else {
      path_[position] = before;
    }
    Node(leaf ? pairs::kUpLeaf : pairs::kUp, slot, at, first, second, position);
  }

  void Child(std::int32_t n) {
    if (!unit_) {
      if (const auto it = pass_.cuts.units.find(n); it != pass_.cuts.units.end()) {
        Shared(*it->second);
        return;
      }
      if (pass_.cuts.part[static_cast<std::size_t>(n)]) {
        const std::uint32_t below = PairWriter(pass_, draft_, path_).Part(n);
        below_.push_back({below, ops_.size()});
        Head(pairs::kPart, below, 0, 0);
        Tail();
        return;
      }
    }
    Visit(n);
  }

  void Node(pairs::Op op, std::uint32_t slot, const AnnotatedNode& at, std::int32_t first,
            std::int32_t second, std::size_t position) {
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double c = at.cover_above;
    const bool leaf_parent = op == pairs::kLeafParent;
    const double difference = leaf_parent ? node(second).value - node(first).value : 1.0;
    const bool adds = op != pairs::kDown && op != pairs::kMid;
    std::vector<std::uint32_t> partners;
    if (adds) partners = Partners(at.feature);
    Head(op, slot, adds ? Count(partners.size()) | Slot(at.feature, at.feature) << 16 : 0u,
         Count(position) | (right_second ? 256u : 0u));
    if (leaf_parent || op == pairs::kDown) Group(Split(at));
    Group({static_cast<float>(right_second ? 1 - w : -w),
           static_cast<float>(right_second ? -w : 1 - w),
           static_cast<float>(leaf_parent ? at.value : w), static_cast<float>(node(second).value)});
    Points(ops_, [&](double t, double) { return t / (t + c * (1 - t)) * difference; });
    if (adds) {
      Points(ops_, [&](double t, double weight) {
        const double d = t + c * (1 - t);
        return weight * c / (d * d) * difference;
      });
      Words(partners, ops_);
    }
    Tail();
  }

  std::vector<std::uint32_t> Partners(std::int32_t feature) {
    std::vector<std::uint32_t> partners;
    for (std::size_t j = 0; j < path_.size(); ++j) {
      if (path_[j].feature == feature) continue;
      partners.push_back(Count(j) | Slot(feature, path_[j].feature) << pairs::kSumShift |
                         State(path_[j]) << pairs::kStateShift);
    }
    return partners;
  }

  std::uint32_t State(Live& live) {
    if (live.state < 0) {
      live.state = states_++;
      const double c = live.cover;
      Points(state_words_, [&](double t, double) { return (1 - c) / (t + c * (1 - t)); });
    }
    return static_cast<std::uint32_t>(live.state);
  }

  std::uint32_t Slot(std::int32_t a, std::int32_t b) {
    return SlotOf(PairIndex(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
  }

  std::uint32_t SlotOf(std::uint32_t pair) {
    const auto [it, fresh] = slot_of_.try_emplace(pair, Count(pair_list_.size()));
    if (fresh) {
      if (it->second > pairs::kSumMask >> pairs::kSumShift) {
        throw std::invalid_argument("too many pairs of features meet; use the CPU");
      }
      pair_list_.push_back(pair);
    }
    return it->second;
  }

  void Shared(const PlannedSubtree& planned) {
    SharedSubtree unit;
    unit.first_key = Count(out_.unit_keys.size());
    unit.key_words = Count(planned.key.size());
    unit.digits = planned.digits;
    unit.keys = planned.keys;
    out_.unit_keys.insert(out_.unit_keys.end(), planned.key.begin(), planned.key.end());
    std::vector<std::uint32_t> list;
    const PairPart part = PairWriter(pass_, draft_, path_).UnitPart(planned.root, list);
    unit.width = Count(static_cast<std::size_t>(pass_.points + 3) / 4 + (list.size() + 3) / 4);
    Head(pairs::kShared, Count(out_.units.size()), part.pairs, unit.width);
    for (std::uint32_t& pair : list) pair = SlotOf(pair) << pairs::kSumShift;
    Words(list, ops_);
    Tail();
    out_.units.push_back(unit);
    out_.unit_parts.push_back(part);
    out_.unit_width += unit.width;
    out_.most_key_words = std::max(out_.most_key_words, unit.key_words);
  }

  PairPass pass_;
  const AnnotatedTree& tree_;
  PairDraft& draft_;
  PairTape& out_;
  std::vector<PartCall>& calls_;
  std::vector<Live> path_;
  std::size_t factors_ = 0;
  bool unit_ = false;
  std::vector<PartCall> below_;  // heads counted from the first operation
  std::vector<std::uint32_t> features_;
  std::vector<Float4> ops_, state_words_;
  std::size_t last_ = 0;  // operation
  std::uint32_t states_ = 0;
  std::vector<std::uint32_t> pair_list_;
  std::unordered_map<std::uint32_t, std::uint32_t> slot_of_;
  int slots_ = 0;
  std::unordered_map<std::int32_t, int> slots_of_;
};

double LargestLeaf(const AnnotatedTree& tree) {
  double most = 0;
  for (const AnnotatedNode& node : tree.nodes) most = std::max(most, std::abs(node.value));
  return most;
}

void RequireFits(const AnnotatedModel& model) {
  const auto f = static_cast<std::uint64_t>(model.features);
  if (f * (f + 1) / 2 >= 1u << 26) {
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

// Renumbers the parts, the longest way to the root first: a part's is longer than that of the part
// above it.
PairTape Ordered(PairDraft draft) {
  const std::vector<PairPart> parts = std::move(draft.tape.parts);
  std::vector<std::size_t> way(parts.size());
  std::vector<std::uint32_t> order(parts.size());
  for (std::size_t i = parts.size(); i-- > 0;) {
    const std::uint32_t above = parts[i].above;
    way[i] = parts[i].words + (above == PairPart::kNoPart ? 0 : way[above]);
    order[i] = Count(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return way[a] > way[b]; });
  std::vector<std::uint32_t> number(parts.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = Count(i);
  PairTape tape = std::move(draft.tape);
  tape.parts.clear();
  for (const std::uint32_t old : order) {
    PairPart part = parts[old];
    if (part.above != PairPart::kNoPart) part.above = number[part.above];
    tape.parts.push_back(part);
  }
  for (const PartCall& call : draft.calls) tape.words[call.head].y = Word(number[call.part]);
  return tape;
}

}  // namespace

PairTapeSet CompilePairs(const AnnotatedModel& model, const PairOptions& options) {
  RequireFits(model);
  PairTapeSet out;
  const std::int32_t unit_leaves = std::min(options.unit_leaves, pairs::kMostSlots);
  if (unit_leaves > 0) out.ranks = RankTable(model);
  std::vector<std::uint32_t> offsets;
  for (const CategorySet& set : model.sets) {
    offsets.push_back(Count(out.sets.size()));
    out.sets.push_back(Count(set.left.size()) | (set.others_left ? 1u << 31 : 0u));
    out.sets.insert(out.sets.end(), set.left.begin(), set.left.end());
  }
  std::map<std::pair<int, bool>, PairDraft> drafts;
  std::map<int, QuadratureRule> rules;
  for (const AnnotatedTree& tree : model.trees) {
    out.bound += LargestLeaf(tree);
    if (tree.nodes[0].feature < 0) continue;
    const auto planned = PlanSubtrees(tree, out.ranks, unit_leaves);
    Cuts cuts;
    for (const PlannedSubtree& unit : planned) {
      // A tree that is one unit: a part that holds it needs a node.
      if (unit.root != 0) cuts.units[unit.root] = &unit;
    }
    PartPlanner(tree, options, cuts).Run();
    const int exact = ExactPoints(tree.path_features);
    const bool wide = tree.path_features > pairs::kFewPositions;
    if (!rules.contains(exact)) rules[exact] = GaussLegendre(exact);
    std::size_t begin = 0;
    TapeOptions sizes{.points = {4, 6, 8}, .max_points = 8};
    if (wide) sizes.points = {8};
    for (const int size : Passes(exact, sizes)) {
      PairDraft& draft = drafts[{size, wide}];
      draft.tape.points = size;
      draft.tape.wide = wide;
      PairWriter({tree, rules[exact], begin, size, offsets, cuts}, draft, {}).Part(0);
      begin += static_cast<std::size_t>(size);
    }
  }
  for (auto& [key, draft] : drafts) out.tapes.push_back(Ordered(std::move(draft)));
  out.sums = NumberSums(out.tapes, [](PairTape& tape, const PairPart& part) {
    return WordsFrom(tape.words, part.first_word + (part.features + 3) / 4, part.pairs);
  });
  return out;
}

}  // namespace retable::treeshap
