#include "algorithms/treeshap/interactions/derivative/tape.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/interactions/common/tile_tape.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/sorted_set.hpp"

namespace retable::treeshap {

namespace {

std::uint32_t InteractionOf(std::int32_t a, std::int32_t b) {
  return TriangleIndex(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}

// Where tiles begin, and which child of each node comes first.
struct TilePlan {
  std::vector<bool> cut, left_first;  // by node
};

// Cuts from the bottom: a subtree that would become too large loses its larger child.
class TilePlanner {
 public:
  TilePlanner(const AnnotatedTree& tree, int points, std::int32_t features,
              const DerivativeOptions& options)
      : tree_(tree),
        points_(static_cast<std::uint32_t>(points)),
        features_(static_cast<std::uint32_t>(features)),
        options_(options) {}

  TilePlan Run() {
    plan_.cut.assign(tree_.nodes.size(), false);
    plan_.left_first.assign(tree_.nodes.size(), true);
    plan_.cut[0] = true;
    Visit(0);
    return std::move(plan_);
  }

 private:
  struct Subtree {
    std::int32_t leaves = 1;
    int height = 0;
    bool whole = true;                        // leaves nothing to cut
    bool below = false;                       // a tile of its own
    bool simple = true;                       // a leaf or a parent of leaves
    std::uint32_t vectors = 0;                // at most at once
    std::vector<std::int32_t> features;       // ascending, with those of tiles below
    std::vector<std::uint32_t> interactions;  // ascending, those that meet here
  };

  Subtree Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    if (at.feature < 0) return {};
    Subtree left = Visit(at.left);
    Subtree right = Visit(at.right);
    Subtree whole = Joined(at.feature, left, right);
    for (int cut = 0; cut < 2 && !Fits(whole); ++cut) {
      const bool take_left = !left.whole && (right.whole || left.leaves >= right.leaves);
      if ((take_left ? left : right).whole) break;
      Cut(take_left ? at.left : at.right, take_left ? left : right);
      whole = Joined(at.feature, left, right);
    }
    plan_.left_first[static_cast<std::size_t>(n)] = LeftFirst(left, right);
    return whole;
  }

  // Makes the subtree a tile.
  void Cut(std::int32_t n, Subtree& subtree) {
    plan_.cut[static_cast<std::size_t>(n)] = true;
    const std::uint32_t vectors = Count(subtree.features.size());
    subtree = {tuning::kTileCost, 0, true, true, false, vectors, std::move(subtree.features), {}};
  }

  // Vectors needed while both are evaluated.
  static std::uint32_t During(const Subtree& first, const Subtree& second) {
    return std::max(first.vectors,
                    second.below ? 0 : Count(first.features.size()) + 1 + second.vectors);
  }

  // The second child is a leaf or a parent of leaves, if there is one, or a tile below; else the
  // first is the child after which fewer vectors are needed.
  static bool LeftFirst(const Subtree& left, const Subtree& right) {
    const auto rank = [](const Subtree& subtree, std::uint32_t vectors) {
      return std::tuple(!subtree.simple, !subtree.below, ~vectors, subtree.height);
    };
    return rank(left, During(left, right)) >= rank(right, During(right, left));
  }

  static Subtree Joined(std::int32_t feature, const Subtree& left, const Subtree& right) {
    Subtree joined;
    joined.leaves = left.leaves + right.leaves;
    joined.height = 1 + std::max(left.height, right.height);
    joined.whole = left.features.empty() && right.features.empty();
    joined.simple = joined.whole;
    joined.features = left.features;
    MergeSorted(joined.features, right.features);
    // A second child that is a tile of its own, or of at most one split, keeps no vectors.
    const auto kept = [](const Subtree& subtree) {
      return subtree.below || subtree.simple ? 0 : Count(subtree.features.size());
    };
    const std::uint32_t after = kept(left) > 0 && kept(right) > 0 ? kept(left) + kept(right)
                                                                  : Count(joined.features.size());
    joined.vectors =
        std::max(after + 1, LeftFirst(left, right) ? During(left, right) : During(right, left));
    std::vector<std::uint32_t> met;
    for (const std::int32_t f : joined.features) {
      if (f != feature) met.push_back(InteractionOf(f, feature));
    }
    std::sort(met.begin(), met.end());
    joined.interactions = left.interactions;
    MergeSorted(joined.interactions, right.interactions);
    MergeSorted(joined.interactions, met);
    MergeSorted(joined.features, {feature});
    return joined;
  }

  bool Fits(const Subtree& subtree) const {
    return subtree.leaves <= options_.tile_leaves &&
           subtree.height <= derivatives::kMostStackSlots &&
           features_ + Count(subtree.interactions.size()) + 1 + subtree.vectors * points_ <=
               options_.tile_columns;
  }

  const AnnotatedTree& tree_;
  std::uint32_t points_, features_;
  const DerivativeOptions& options_;
  TilePlan plan_;
};

// The vector that holds D of a subtree by a feature.
struct Derivative {
  std::int32_t feature;
  std::uint32_t vector;
};
using Derivatives = std::vector<Derivative>;

// Hands out the lowest free vector.
class VectorPool {
 public:
  std::uint32_t Take() {
    const auto it = std::find(taken_.begin(), taken_.end(), false);
    const auto vector = Count(static_cast<std::size_t>(it - taken_.begin()));
    if (it == taken_.end()) {
      taken_.push_back(true);
    } else {
      *it = true;
    }
    return vector;
  }
  void Give(std::uint32_t vector) { taken_[vector] = false; }
  std::uint32_t most() const { return Count(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

// Writes one tile after those below it, which so have lower numbers.
class TileWriter final : public TileCode<TilePlan, 4> {
 public:
  TileWriter(const TilePass<TilePlan>& pass, DerivativeTape& out, PathFeatures<LiveFeature> path)
      : TileCode(pass, std::move(path)), out_(out) {}

  // Returns the tile's number, and the features by which it leaves D, in order.
  std::uint32_t Write(std::int32_t root, std::vector<std::int32_t>& left_features) {
    const Derivatives result = Visit(root);
    for (const Derivative& d : result) left_features.push_back(d.feature);
    Leave(result, root == 0);
    Head(derivatives::kEnd, 0, 0);
    Tail();
    DerivativeTile tile = Finish();
    tile.out = out_.vectors;
    tile.below = Count(below_.size());
    if (root != 0) out_.vectors += 1 + Count(result.size());
    const std::uint32_t number = Count(out_.tiles.size());
    for (const std::uint32_t below : below_) out_.tiles[below].above = number;
    out_.tiles.push_back(tile);
    return number;
  }

  void Leave(const Derivatives& result, bool root) {
    std::vector<std::uint32_t> list;
    for (const Derivative& d : result) {
      list.push_back(Offset(d.vector));
      if (root) values_.push_back(InteractionOf(d.feature, d.feature));
    }
    Head(root ? derivatives::kValues : derivatives::kLeave, 0, Count(result.size()));
    Words(list, ops_);
    Tail();
  }

 private:
  std::uint32_t Offset(std::uint32_t vector) const {
    return vector * Count(static_cast<std::size_t>(pass_.points)) * derivatives::kColumn;
  }

  DerivativeTile Finish() {
    Group({});  // where the next head would be
    std::vector<Float4>& words = out_.words;
    DerivativeTile tile;
    tile.group = static_cast<std::uint32_t>(tree_.group);
    tile.first_word = Count(words.size());
    tile.factors = Count(path_.size());
    tile.interactions = Count(interactions_.size());
    tile.values = Count(values_.size());
    interactions_.insert(interactions_.end(), values_.begin(), values_.end());
    Words(interactions_, words);
    Points(words, [](double, double weight) { return weight; });
    Points(words, [](double t, double) { return t; });
    for (const LiveFeature& live : path_) Factor(words, live);
    words.insert(words.end(), ops_.begin(), ops_.end());
    tile.words = Count(words.size()) - tile.first_word;
    DerivativeSizes& sizes = out_.sizes;
    sizes.words = std::max(sizes.words, tile.words);
    sizes.columns =
        std::max(sizes.columns, tile.interactions + 1 +
                                    pool_.most() * Count(static_cast<std::size_t>(pass_.points)));
    sizes.slots = std::max(sizes.slots, static_cast<std::uint32_t>(slots_));
    return tile;
  }

  void Factor(std::vector<Float4>& words, const LiveFeature& live) {
    Float4 split = Split(tree_.at(live.node));
    split.w = Word(std::bit_cast<std::uint32_t>(split.w) | (live.right ? 0u : derivatives::kBelow));
    words.push_back(split);
    Points(words, [&](double t, double) { return live.cover * (1 - t); });
  }

  Float4 Split(const AnnotatedNode& at) const {
    return SplitWords(at, pass_.sets,
                      static_cast<std::uint32_t>(at.feature) * derivatives::kColumn);
  }

  // A head without a split: two numbers.
  void Head(derivatives::Op op, std::uint32_t y, std::uint32_t z) {
    Begin({Word(static_cast<std::uint32_t>(op)), Word(y), Word(z), 0});
  }

  // The head of a node: its second child's weight, what the row adds to it, `a` in the high half.
  void Head(derivatives::Op op, const AnnotatedNode& at, bool right_second, std::uint32_t a) {
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    Begin({Word(static_cast<std::uint32_t>(op) | a << 16), static_cast<float>(w),
           static_cast<float>(right_second ? 1 - w : -w),
           static_cast<float>(right_second ? -w : 1 - w)});
  }

  // g and e of a node whose covers are c, times a factor.
  void WriteG(double c, double factor) {
    Points(ops_, [&](double t, double) { return t / (t + c * (1 - t)) * factor; });
  }
  void WriteE(double c, double factor) {
    Points(ops_, [&](double t, double) {
      const double d = t + c * (1 - t);
      return c / (d * d) * factor;
    });
  }

  bool Leaf(std::int32_t n) const { return tree_.at(n).height == 0; }
  bool Cut(std::int32_t n) const { return pass_.plan.cut[static_cast<std::size_t>(n)]; }

  // In registers: a parent of parents of two leaves.
  bool Fork(std::int32_t n) const {
    const AnnotatedNode& at = tree_.at(n);
    return at.height == 2 && !Cut(at.left) && !Cut(at.right);
  }

  bool Slotless(std::int32_t n) const override {
    return tree_.at(n).height <= 1 || Cut(n) || Fork(n);
  }

  Derivatives Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    if (at.height == 1) return Simple(n, pool_.Take());
    const bool left_first = pass_.plan.left_first[static_cast<std::size_t>(n)];
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    if (Fork(n)) return Forked(at, first, second);
    const int slots = 1 + std::max(Slots(first), Slots(second));
    slots_ = std::max(slots_, slots);
    const auto slot = static_cast<std::uint32_t>(slots - 1);
    Head(derivatives::kDown, at, left_first, slot);
    Group(Split(at));
    WriteG(at.cover_above, 1);
    Tail();
    const Derivatives of_first = Child(n, first);
    if (tree_.at(second).height <= 1) return Up(at, slot, of_first, {}, second);
    if (Cut(second)) return Up(at, slot, of_first, TakenBy(n, second), second);
    // K of the first child waits in a free vector.
    const std::uint32_t kept = pool_.Take();
    const std::uint32_t operands = slot | Offset(kept) / derivatives::kColumn
                                              << derivatives::kIndexShift;
    Head(derivatives::kMid, at, left_first, operands);
    WriteG(at.cover_above, 1);
    Tail();
    const Derivatives of_second = Child(n, second);
    pool_.Give(kept);
    return Up(at, operands, of_first, of_second, second);
  }

  Derivatives Child(std::int32_t parent, std::int32_t n) {
    Derivatives result;
    OnPath(parent, n, [&] { result = Cut(n) ? Copied(Below(n)) : Visit(n); });
    return result;
  }

  // A second child that is a tile: its vectors are read where it leaves them, K before them.
  Derivatives TakenBy(std::int32_t parent, std::int32_t n) {
    Derivatives result;
    OnPath(parent, n, [&] { result = Below(n); });
    return result;
  }

  // Writes the tile; its vectors have the numbers of what it leaves.
  Derivatives Below(std::int32_t n) {
    std::vector<std::int32_t> features;
    const std::uint32_t number = TileWriter(pass_, out_, path_).Write(n, features);
    below_.push_back(number);
    Derivatives result;
    for (const std::int32_t f : features) {
      result.push_back({f, out_.tiles[number].out + 1 + Count(result.size())});
    }
    return result;
  }

  Derivatives Copied(Derivatives below) {
    Head(derivatives::kTile, below[0].vector - 1, Count(below.size()));
    std::vector<std::uint32_t> list;
    for (Derivative& d : below) {
      d.vector = pool_.Take();
      list.push_back(Offset(d.vector));
    }
    Words(list, ops_);
    Tail();
    return below;
  }

  // A parent of two leaves, as an instruction or within one.
  Derivatives Simple(std::int32_t n, std::uint32_t vector) {
    const AnnotatedNode& at = tree_.at(n);
    Head(derivatives::kLeafParent, at, true, Offset(vector) / derivatives::kColumn);
    ops_[last_].y = static_cast<float>(at.value);
    Group(Split(at));
    const double difference = tree_.at(at.right).value - tree_.at(at.left).value;
    WriteG(at.cover_above, difference);
    WriteE(at.cover_above, difference);
    Tail();
    return {{at.feature, vector}};
  }

  static Derivatives::const_iterator Find(const Derivatives& all, std::int32_t feature) {
    return std::ranges::find(all, feature, &Derivative::feature);
  }

  // Where D by a feature goes: to the vector there is, or a new one.
  std::uint32_t Target(Derivatives& all, std::int32_t feature) {
    const auto it = Find(all, feature);
    if (it != all.end()) return Offset(it->vector) | derivatives::kAdds;
    all.push_back({feature, pool_.Take()});
    return Offset(all.back().vector);
  }

  Derivatives Forked(const AnnotatedNode& at, std::int32_t first, std::int32_t second) {
    const bool leaf = Leaf(second);
    Derivatives result = {{tree_.at(first).feature, pool_.Take()}};
    const std::uint32_t to_second = leaf ? 0 : Target(result, tree_.at(second).feature);
    const std::uint32_t own = Target(result, at.feature);
    const std::size_t head = ops_.size();
    Head(leaf ? derivatives::kForkLeaf : derivatives::kFork, at, second == at.right, 0);
    Group(Split(at));
    Group({Word(own), Word(Met(tree_.at(first).feature, at.feature)),
           Word(leaf ? 0 : Met(tree_.at(second).feature, at.feature)),
           leaf ? static_cast<float>(tree_.at(second).value) : Word(to_second)});
    WriteG(at.cover_above, 1);
    WriteE(at.cover_above, 1);
    Simple(first, result[0].vector);
    if (!leaf) Simple(second, 0);
    last_ = head;
    Tail();
    return result;
  }

  Derivatives Up(const AnnotatedNode& at, std::uint32_t slot, const Derivatives& first,
                 const Derivatives& second, std::int32_t second_node) {
    const bool leaf = Leaf(second_node);
    const bool leaf_parent = tree_.at(second_node).height == 1;
    const bool below = Cut(second_node);
    std::vector<std::uint32_t> both;
    std::vector<std::uint32_t> only_first;
    std::vector<std::uint32_t> only_second;
    Derivatives result = first;
    for (const Derivative& d : first) {
      const auto it = Find(second, d.feature);
      const std::uint32_t sum = Met(d.feature, at.feature);
      if (it == second.end()) {
        only_first.insert(only_first.end(), {Offset(d.vector), sum});
      } else {
        both.insert(both.end(),
                    {Offset(d.vector), below ? it->vector : Offset(it->vector), sum, 0});
        if (!below) pool_.Give(it->vector);
      }
    }
    for (const Derivative& d : second) {
      if (Find(first, d.feature) != first.end()) continue;
      const std::uint32_t sum = Met(d.feature, at.feature);
      result.push_back({d.feature, below ? pool_.Take() : d.vector});
      const std::uint32_t to = Offset(result.back().vector);
      if (below) {
        only_second.insert(only_second.end(), {to, d.vector, sum, 0});
      } else {
        only_second.insert(only_second.end(), {to, sum});
      }
    }
    const std::uint32_t to_second = leaf_parent ? Target(result, tree_.at(second_node).feature) : 0;
    const std::uint32_t own = Target(result, at.feature);
    const std::size_t head = ops_.size();
    Head(leaf          ? derivatives::kUpLeaf
         : leaf_parent ? derivatives::kUpLeafParent
         : below       ? derivatives::kUpTile
                       : derivatives::kUp,
         at, second_node == at.right, slot);
    Group({Word(own),
           Word(Count(both.size() / 4) | Count(only_first.size() / 2) << 8 |
                Count(only_second.size() / (below ? 4 : 2)) << 16),
           Word(leaf_parent ? Met(tree_.at(second_node).feature, at.feature) : 0),
           leaf ? static_cast<float>(tree_.at(second_node).value)
                : Word(below ? second[0].vector - 1 : to_second)});
    WriteG(at.cover_above, 1);
    WriteE(at.cover_above, 1);
    if (leaf_parent) Simple(second_node, 0);
    Words(both, ops_);
    Words(only_first, ops_);
    Words(only_second, ops_);
    last_ = head;
    Tail();
    return result;
  }

  static std::uint32_t SlotOffset(std::uint32_t slot) {
    return 0u - (slot + 1) * derivatives::kColumn;
  }

  // Slot of the interaction of two features that meet; a feature does not meet itself.
  std::uint32_t Met(std::int32_t a, std::int32_t b) {
    if (a == b) return SlotOffset(0);
    const auto [it, fresh] =
        slot_of_.try_emplace(InteractionOf(a, b), Count(interactions_.size()) + 1);
    if (fresh) interactions_.push_back(InteractionOf(a, b));
    return SlotOffset(it->second);
  }

  DerivativeTape& out_;
  std::vector<std::uint32_t> below_;
  VectorPool pool_;
  std::vector<std::uint32_t> values_;
};

}  // namespace

DerivativeTapeSet CompileDerivatives(const AnnotatedModel& model,
                                     const DerivativeOptions& options) {
  Require(model.features <= derivatives::kMostFeatures,
          "derivatives are for models of few features");
  DerivativeTapeSet out;
  const std::vector<std::uint32_t> offsets = AppendSets(model.sets, out.sets);
  std::map<int, DerivativeTape> tapes;
  for (const AnnotatedTree& tree : model.trees) {
    out.bound += LargestLeaf(tree);
    if (tree.nodes[0].feature < 0) continue;
    ForEachPass(tree, {4, 6, 8}, [&](const QuadratureRule& rule, std::size_t begin, int size) {
      DerivativeTape& tape = tapes[size];
      tape.points = size;
      tape.sizes.features = static_cast<std::uint32_t>(model.features);
      const TilePlan plan = TilePlanner(tree, size, model.features, options).Run();
      std::vector<std::int32_t> features;
      TileWriter({tree, rule, begin, size, offsets, plan}, tape, {}).Write(0, features);
    });
  }
  for (auto& [points, tape] : tapes) {
    OrderTiles(tape.tiles);
    out.tapes.push_back(std::move(tape));
  }
  out.sums = NumberSums(out.tapes, [](DerivativeTape& tape, const DerivativeTile& tile) {
    return WordsFrom(tape.words, tile.first_word, tile.interactions + tile.values);
  });
  return out;
}

}  // namespace retable::treeshap
