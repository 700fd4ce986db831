#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/interactions/common/tile_tape.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// Where a tree is cut.
struct Cuts {
  std::vector<bool> tile;  // by node: a tile begins
  std::map<std::int32_t, const PlannedSubtree*> subtrees;
};

// Marks the nodes at which tiles begin, from the bottom: a subtree that would become too large
// loses its larger child.
class TilePlanner {
 public:
  TilePlanner(const AnnotatedTree& tree, const InteractionOptions& options, Cuts& cuts)
      : tree_(tree), options_(options), cuts_(cuts) {}

  void Run() {
    cuts_.tile.assign(tree_.nodes.size(), false);
    cuts_.tile[0] = true;
    Visit(0);
  }

 private:
  struct Subtree {
    std::int32_t leaves = 1;
    int height = 0;
    bool whole = true;  // nothing to cut: a leaf, a shared subtree
    std::vector<std::int32_t> features;
  };

  Subtree Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    if (at.feature < 0) return {};
    if (const auto it = cuts_.subtrees.find(n); it != cuts_.subtrees.end()) {
      const auto& features = it->second->features;
      return {
          tuning::kSubtreeCost, 0, true, {features.begin(), features.begin() + it->second->own}};
    }
    Subtree left, right;
    path_.With({at.feature}, [&] {
      left = Visit(at.left);
      right = Visit(at.right);
    });
    Subtree whole = Joined(at.feature, left, right);
    for (int cut = 0; cut < 2 && !Fits(whole); ++cut) {
      const bool take_left = !left.whole && (right.whole || left.leaves >= right.leaves);
      Subtree& child = take_left ? left : right;
      if (child.whole) break;
      cuts_.tile[static_cast<std::size_t>(take_left ? at.left : at.right)] = true;
      child = {};
      whole = Joined(at.feature, left, right);
    }
    return whole;
  }

  static Subtree Joined(std::int32_t feature, const Subtree& left, const Subtree& right) {
    Subtree whole{left.leaves + right.leaves, 1 + std::max(left.height, right.height), false,
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

  bool Fits(const Subtree& subtree) const {
    const auto own = Count(subtree.features.size());
    std::uint32_t others = 0;
    for (const auto& [f] : path_) {
      const auto& list = subtree.features;
      others += std::find(list.begin(), list.end(), f) == list.end() ? 1 : 0;
    }
    return subtree.leaves <= options_.tile_leaves && subtree.height <= ancestor::kMostStackSlots &&
           own * (own + 1) / 2 + own * others <= options_.tile_interactions;
  }

  const AnnotatedTree& tree_;
  const InteractionOptions& options_;
  Cuts& cuts_;
  PathFeatures<FeatureOnPath> path_;
};

// A tile that an instruction names, and where that instruction's head is.
struct TileCall {
  std::uint32_t tile;
  std::size_t head;
};

// A tape whose tiles are numbered as written: those below come first.
struct TapeDraft {
  InteractionTape tape;
  std::vector<TileCall> calls;
  std::vector<std::size_t> shared;  // heads of instructions that name a shared subtree

  // Puts another one behind this.
  void Append(TapeDraft next) {
    InteractionTape& from = next.tape;
    const std::uint32_t first_word = Count(tape.words.size());
    const std::uint32_t first_tile = Count(tape.tiles.size());
    for (const TileCall& call : next.calls) {
      calls.push_back({call.tile + first_tile, call.head + first_word});
    }
    for (const std::size_t head : next.shared) {
      float& subtree = from.words[head].y;
      subtree = Word(std::bit_cast<std::uint32_t>(subtree) + Count(tape.subtrees.size()));
    }
    for (InteractionTile& tile : from.tiles) {
      tile.first_word += first_word;
      if (tile.above != InteractionTile::kNoTile) tile.above += first_tile;
    }
    for (SharedSubtree& subtree : from.subtrees) {
      subtree.first_key += Count(tape.subtree_keys.size());
    }
    for (InteractionTile& tile : from.subtree_tiles) {
      tile.first_word += Count(tape.subtree_words.size());
    }
    const auto append = [](const auto& more, auto& to) {
      to.insert(to.end(), more.begin(), more.end());
    };
    append(from.words, tape.words);
    append(from.tiles, tape.tiles);
    append(from.subtrees, tape.subtrees);
    append(from.subtree_tiles, tape.subtree_tiles);
    append(from.subtree_words, tape.subtree_words);
    append(from.subtree_keys, tape.subtree_keys);
    tape.sizes.Take(from.sizes);
    tape.subtree_sizes.Take(from.subtree_sizes);
    tape.most_key_words = std::max(tape.most_key_words, from.most_key_words);
    tape.subtree_width += from.subtree_width;
  }
};

// Writes one tile, and those below it first.
class TileWriter final : public TileCode<Cuts, 8> {
 public:
  TileWriter(const TilePass<Cuts>& pass, TapeDraft& draft, PathFeatures<LiveFeature> path)
      : TileCode(pass, std::move(path)), draft_(draft), out_(draft.tape) {
    for (LiveFeature& live : path_) live.state = -1;
    factors_ = path_.size();
  }

  // Returns the tile's number.
  std::uint32_t Write(std::int32_t root) {
    Visit(root);
    Head(ancestor::kEnd, 0, 0, 0);
    InteractionTile tile = Finish(out_.words, out_.sizes);
    tile.below = Count(below_.size());
    const std::uint32_t number = Count(out_.tiles.size());
    out_.tiles.push_back(tile);
    const std::size_t first_op = out_.words.size() - ops_.size();
    for (const auto& [below, head] : below_) {
      out_.tiles[below].above = number;
      draft_.calls.push_back({below, first_op + head});
    }
    for (const std::size_t head : shared_) draft_.shared.push_back(first_op + head);
    return number;
  }

  // Also returns its interactions in the order of their slots.
  InteractionTile WriteSubtree(std::int32_t root, std::vector<std::uint32_t>& interactions) {
    in_subtree_ = true;
    Visit(root);
    Head(ancestor::kEnd, 0, 0, 0);
    const InteractionTile tile = Finish(out_.subtree_words, out_.subtree_sizes);
    interactions = std::move(interactions_);
    return tile;
  }

 private:
  InteractionTile Finish(std::vector<Float4>& words, InteractionSizes& sizes) {
    InteractionTile tile;
    tile.group = static_cast<std::uint32_t>(tree_.group);
    tile.first_word = Count(words.size());
    tile.states = states_;
    tile.factors = Count(factors_);
    tile.interactions = Count(interactions_.size());
    std::vector<Float4> factors;
    for (std::size_t i = 0; i < factors_; ++i) Factor(factors, path_[i]);
    tile.features = Count(features_.size());
    Words(features_, words);
    Words(interactions_, words);
    words.insert(words.end(), state_words_.begin(), state_words_.end());
    Points(words, [](double t, double) { return -1 / (1 - t); });
    words.insert(words.end(), factors.begin(), factors.end());
    words.insert(words.end(), ops_.begin(), ops_.end());
    tile.words = Count(words.size()) - tile.first_word;
    sizes.Take({.words = tile.words,
                .interactions = tile.interactions,
                .features = tile.features,
                .slots = static_cast<std::uint32_t>(slots_)});
    return tile;
  }

  void Factor(std::vector<Float4>& words, const LiveFeature& live) {
    Float4 split = Split(tree_.at(live.node));
    split.w = Word(std::bit_cast<std::uint32_t>(split.w) | (live.right ? 0u : ancestor::kBelow));
    words.push_back(split);
    Points(words, [&](double t, double) { return t + live.cover * (1 - t); });
    Points(words, [&](double t, double) { return live.cover * (1 - t); });
  }

  Float4 Split(const AnnotatedNode& at) {
    return SplitWords(at, pass_.sets, IndexInList(at.feature));
  }

  // Index of the feature in the tile's list.
  std::uint32_t IndexInList(std::int32_t feature) {
    const auto it =
        std::find(features_.begin(), features_.end(), Count(static_cast<std::size_t>(feature)));
    const std::uint32_t index = Count(static_cast<std::size_t>(it - features_.begin()));
    if (it == features_.end()) features_.push_back(static_cast<std::uint32_t>(feature));
    return index;
  }

  void Head(ancestor::Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    Begin({Word(static_cast<std::uint32_t>(op)), Word(a), Word(b), Word(c)});
  }

  bool Slotless(std::int32_t n) const override { return tree_.at(n).height <= 1 || Cut(n); }

  bool Cut(std::int32_t n) const {
    return !in_subtree_ &&
           (pass_.plan.tile[static_cast<std::size_t>(n)] || pass_.plan.subtrees.contains(n));
  }

  void Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    const int left_slots = Slots(at.left);
    const int right_slots = Slots(at.right);
    const bool left_first = left_slots != right_slots
                                ? left_slots > right_slots
                                : tree_.at(at.left).height >= tree_.at(at.right).height;
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    const std::size_t position = path_.IndexOf(at.feature);
    if (at.height == 1) {
      Node(ancestor::kLeafParent, 0, at, first, second, position);
      return;
    }
    const int slots = 1 + std::max(left_slots, right_slots);
    slots_ = std::max(slots_, slots);
    const auto slot = static_cast<std::uint32_t>(slots - 1);
    Node(ancestor::kDown, slot, at, first, second, position);
    OnPath(n, first, [&] { Child(first); });
    const bool leaf = tree_.at(second).height == 0;
    if (!leaf) {
      Node(ancestor::kMid, slot, at, first, second, position);
      OnPath(n, second, [&] { Child(second); });
    }
    Node(leaf ? ancestor::kUpLeaf : ancestor::kUp, slot, at, first, second, position);
  }

  void Child(std::int32_t n) {
    if (!in_subtree_) {
      if (const auto it = pass_.plan.subtrees.find(n); it != pass_.plan.subtrees.end()) {
        Shared(*it->second);
        return;
      }
      if (pass_.plan.tile[static_cast<std::size_t>(n)]) {
        const std::uint32_t below = TileWriter(pass_, draft_, path_).Write(n);
        below_.push_back({below, ops_.size()});
        Head(ancestor::kTile, below, 0, 0);
        Tail();
        return;
      }
    }
    Visit(n);
  }

  void Node(ancestor::Op op, std::uint32_t slot, const AnnotatedNode& at, std::int32_t first,
            std::int32_t second, std::size_t position) {
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double c = at.cover_above;
    const bool leaf_parent = op == ancestor::kLeafParent;
    const double difference = leaf_parent ? tree_.at(second).value - tree_.at(first).value : 1.0;
    const bool adds = op != ancestor::kDown && op != ancestor::kMid;
    std::vector<std::uint32_t> partners;
    if (adds) partners = Partners(at.feature);
    Head(op, slot, adds ? Count(partners.size()) | Slot(at.feature, at.feature) << 16 : 0u,
         Count(position) | (right_second ? 256u : 0u));
    if (leaf_parent || op == ancestor::kDown) Group(Split(at));
    Group({static_cast<float>(right_second ? 1 - w : -w),
           static_cast<float>(right_second ? -w : 1 - w),
           static_cast<float>(leaf_parent ? at.value : w),
           static_cast<float>(tree_.at(second).value)});
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
      partners.push_back(Count(j) | Slot(feature, path_[j].feature) << ancestor::kSumShift |
                         State(path_[j]) << ancestor::kStateShift);
    }
    return partners;
  }

  std::uint32_t State(LiveFeature& live) {
    if (live.state < 0) {
      live.state = states_++;
      const double c = live.cover;
      Points(state_words_, [&](double t, double) { return (1 - c) / (t + c * (1 - t)); });
    }
    return static_cast<std::uint32_t>(live.state);
  }

  std::uint32_t Slot(std::int32_t a, std::int32_t b) {
    return SlotOf(TriangleIndex(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
  }

  std::uint32_t SlotOf(std::uint32_t interaction) {
    const auto [it, fresh] = slot_of_.try_emplace(interaction, Count(interactions_.size()));
    if (fresh) {
      Require(it->second <= ancestor::kSumMask >> ancestor::kSumShift,
              "too many pairs of features meet; use the CPU");
      interactions_.push_back(interaction);
    }
    return it->second;
  }

  void Shared(const PlannedSubtree& planned) {
    SharedSubtree subtree;
    subtree.first_key = Count(out_.subtree_keys.size());
    subtree.key_words = Count(planned.key.size());
    subtree.digits = planned.digits;
    subtree.keys = planned.keys;
    out_.subtree_keys.insert(out_.subtree_keys.end(), planned.key.begin(), planned.key.end());
    std::vector<std::uint32_t> list;
    const InteractionTile tile = TileWriter(pass_, draft_, path_).WriteSubtree(planned.root, list);
    subtree.width = Count(static_cast<std::size_t>(pass_.points + 3) / 4 + (list.size() + 3) / 4);
    shared_.push_back(ops_.size());
    Head(ancestor::kShared, Count(out_.subtrees.size()), tile.interactions, subtree.width);
    for (std::uint32_t& word : list) word = SlotOf(word) << ancestor::kSumShift;
    Words(list, ops_);
    Tail();
    out_.subtrees.push_back(subtree);
    out_.subtree_tiles.push_back(tile);
    out_.subtree_width += subtree.width;
    out_.most_key_words = std::max(out_.most_key_words, subtree.key_words);
  }

  TapeDraft& draft_;
  InteractionTape& out_;
  std::size_t factors_ = 0;
  bool in_subtree_ = false;  // a shared one
  // Heads are counted from the first instruction.
  std::vector<TileCall> below_;
  std::vector<std::size_t> shared_;
  std::vector<std::uint32_t> features_;
  std::vector<Float4> state_words_;
  std::uint32_t states_ = 0;
};

void RequireFits(const AnnotatedModel& model) {
  const auto f = static_cast<std::uint64_t>(model.features);
  Require(f * (f + 1) / 2 < 1u << 26,
          "interactions on the GPU take models of at most 11584 features");
  for (const AnnotatedTree& tree : model.trees) {
    Require(tree.path_features <= ancestor::kMaxPositions,
            "interactions on the GPU take paths of at most ", ancestor::kMaxPositions,
            " distinct features; use the CPU");
  }
}

// Orders the tiles, and gives instructions their new numbers.
InteractionTape Ordered(TapeDraft draft) {
  const std::vector<std::uint32_t> number = OrderTiles(draft.tape.tiles);
  for (const TileCall& call : draft.calls) {
    draft.tape.words[call.head].y = Word(number[call.tile]);
  }
  return std::move(draft.tape);
}

}  // namespace

InteractionTapeSet CompileInteractions(const AnnotatedModel& model,
                                       const InteractionOptions& options) {
  RequireFits(model);
  InteractionTapeSet out;
  const std::int32_t subtree_leaves = std::min(options.subtree_leaves, ancestor::kMostStackSlots);
  if (subtree_leaves > 0) out.ranks = RankTable(model);
  const std::vector<std::uint32_t> offsets = AppendSets(model.sets, out.sets);
  using Drafts = std::map<std::pair<int, bool>, TapeDraft>;  // by points and width
  std::vector<Drafts> of_trees(model.trees.size());
  ParallelFor(of_trees.size(), [&](std::size_t t) {
    const AnnotatedTree& tree = model.trees[t];
    if (tree.nodes[0].feature < 0) return;
    const auto planned = PlanSubtrees(tree, out.ranks, subtree_leaves);
    Cuts cuts;
    for (const PlannedSubtree& subtree : planned) {
      // A tree is no shared subtree: the tile that holds it would have no node.
      if (subtree.root != 0) cuts.subtrees[subtree.root] = &subtree;
    }
    TilePlanner(tree, options, cuts).Run();
    const bool wide = tree.path_features > ancestor::kFewPositions;
    const std::vector<int> sizes = wide ? std::vector{8} : std::vector{4, 6, 8};
    ForEachPass(tree, sizes, [&](const QuadratureRule& rule, std::size_t begin, int size) {
      TapeDraft& draft = of_trees[t][{size, wide}];
      TileWriter({tree, rule, begin, size, offsets, cuts}, draft, {}).Write(0);
    });
  });
  Drafts drafts;
  for (std::size_t t = 0; t < of_trees.size(); ++t) {
    out.bound += LargestLeaf(model.trees[t]);
    for (auto& [key, draft] : of_trees[t]) drafts[key].Append(std::move(draft));
  }
  for (auto& [key, draft] : drafts) {
    draft.tape.points = key.first;
    draft.tape.wide = key.second;
    out.tapes.push_back(Ordered(std::move(draft)));
  }
  out.sums = NumberSums(out.tapes, [](InteractionTape& tape, const InteractionTile& tile) {
    return WordsFrom(tape.words, tile.first_word + (tile.features + 3) / 4, tile.interactions);
  });
  return out;
}

}  // namespace retable::treeshap
