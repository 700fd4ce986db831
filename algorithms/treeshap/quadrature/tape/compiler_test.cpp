// The tape and its interpreter, the body of the CUDA kernel, run on the CPU with arrays as memory.

#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "algorithms/treeshap/quadrature/tree_parts.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

std::uint32_t KeyOf(const TapeSet& set, const Tape& tape, const SharedSubtree& subtree,
                    const float* row) {
  std::uint32_t sums[2] = {0, 0};
  const std::uint32_t* at = tape.subtree_keys.data() + subtree.first_key;
  for (std::uint32_t d = 0; d < subtree.digits; ++d) {
    const KeyDigit digit{at[0], at[1], at[2], at[3]};
    const float x = row[digit.feature];
    const std::uint32_t rank =
        std::isnan(x) ? kMissingRank
                      : set.ranks.Rank(static_cast<std::int32_t>(digit.feature), ClampInfinity(x));
    for (std::uint32_t i = 0; i < 2 * digit.missing_groups; ++i) {
      const std::uint32_t bound = at[kGroupWords + 2 * i] & 0xffffu;
      EXPECT_EQ(bound * 0x10001u, at[kGroupWords + 2 * i]);
      const std::uint32_t cut = (1u - bound) & 0xffffu;
      sums[digit.upper] += rank >= cut ? at[kGroupWords + 2 * i + 1] : 0;
    }
    at += kGroupWords * (1 + digit.missing_groups);
  }
  EXPECT_EQ(at, tape.subtree_keys.data() + subtree.first_key + subtree.key_words);
  EXPECT_LT(sums[0], 0xffffu);
  EXPECT_LT(sums[1], 0xffffu);
  return sums[0] | sums[1] << 16;
}

// A subtree's own tape for one row: features are places in its list.
template <int Q>
std::vector<float> RunSubtree(const TapeSet& set, const Tape& tape, const SharedSubtree& subtree,
                              const float* row);

// What a subtree gives for one class of rows, as the table holds it: the own features' sums, then
// K.
using ClassResults = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<float>>;

// Subtrees are for passes of at least so many points, as on a device: less to compile.
constexpr int kMinSubtreePoints = 4;

// One lane of R rows.
template <int Q, int R>
struct TapeMemory {
  static constexpr bool kCategories = true;
  static constexpr bool kSharedSubtrees = Q >= kMinSubtreePoints;

  const TapeSet& set;
  const Tape& tape;
  ClassResults& classes;
  const float* rows;  // R x features
  bool placed;        // sums have places of their own
  std::vector<std::vector<float>> stack;
  std::vector<float> tree_phi;                 // places x R
  std::vector<double> phi;                     // features x R
  std::span<const std::int32_t> columns = {};  // features of sums not yet written out

  std::uint32_t Feature(std::uint32_t bits) const {
    return bits & (placed ? tape::kSlottedFeatureMask : tape::kFeatureMask);
  }
  float& Sum(std::uint32_t bits, int r) {
    const std::uint32_t place = placed ? bits >> tape::kSlotShift & tape::kSlotMask : Feature(bits);
    return tree_phi.at(place * R + static_cast<std::size_t>(r));
  }
  void X(std::uint32_t bits, float (&x)[R]) const {
    const auto feature = static_cast<int>(Feature(bits));
    for (int r = 0; r < R; ++r) x[r] = ClampInfinity(rows[r * set.features + feature]);
  }
  void AddPhi(std::uint32_t bits, const float (&change)[R]) {
    for (int r = 0; r < R; ++r) Sum(bits, r) += change[r];
  }
  void Push(int slot, const float (&g)[Q * R]) {
    stack.at(static_cast<std::size_t>(slot)).assign(g, g + Q * R);
  }
  void Peek(int slot, float (&g)[Q * R]) const {
    std::copy_n(stack.at(static_cast<std::size_t>(slot)).begin(), Q * R, g);
  }
  bool InSet(std::uint32_t offset, float x) const {
    return treeshap::InSet([this](std::uint32_t i) { return set.sets.at(i); }, offset, x);
  }
  // Takes a class's results from its first row, as the kernels do; every further row must give the
  // same bits.
  const Float4* Shared(const Float4* at, float (&k)[Q * R]) {
    const std::uint32_t index = tape::Bits(at->x);
    const SharedSubtree& subtree = tape.subtrees.at(index);
    const std::uint32_t own = tape::Bits(at->y);
    EXPECT_TRUE(own == 0 || own == subtree.own);
    EXPECT_EQ(subtree.width, tape::Bits(at->z));
    const std::uint32_t k_at = tape::Bits(at->w);
    for (int r = 0; r < R; ++r) {
      const float* row = rows + r * set.features;
      std::vector<float> results;
      if constexpr (kSharedSubtrees) results = RunSubtree<Q>(set, tape, subtree, row);
      const std::uint32_t key = KeyOf(set, tape, subtree, row);
      EXPECT_LT(key, subtree.keys);
      const auto& first = classes.try_emplace({index, key}, results).first->second;
      EXPECT_EQ(first, results) << "rows with one key differ";
      for (int q = 0; q < Q && k_at != tape::kNoK; ++q) {
        k[q * R + r] = first.at(4 * k_at + static_cast<std::size_t>(q));
      }
      for (std::uint32_t i = 0; i < own; ++i) {
        const std::uint32_t bits = tape::Bits(reinterpret_cast<const float*>(at + 1)[i]);
        EXPECT_EQ(Feature(bits), tape.subtree_features.at(subtree.first_feature + i));
        Sum(bits, r) += first.at(i);
      }
    }
    return at + 1 + (own + 3) / 4;
  }
  void Write(std::uint32_t bits, std::uint32_t feature) {
    for (int r = 0; r < R; ++r) {
      phi.at(feature * R + static_cast<std::size_t>(r)) += static_cast<double>(Sum(bits, r));
      Sum(bits, r) = 0;
    }
  }
  const Float4* Fold(const Float4* at, std::uint32_t count) {
    EXPECT_FALSE(placed);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bits = tape::Bits(reinterpret_cast<const float*>(at)[i]);
      Write(bits, Feature(bits));
    }
    for (const float sum : tree_phi) EXPECT_EQ(sum, 0.0f) << "a sum is not in the list";
    return at + (count + 3) / 4;
  }
  const Float4* Spill(const Float4* at, std::uint32_t count) {
    EXPECT_TRUE(placed);
    EXPECT_LE(count, columns.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      Write(tape::Bits(reinterpret_cast<const float*>(at)[i]),
            static_cast<std::uint32_t>(columns[i]));
    }
    columns = columns.subspan(count);
    return at + (count + 3) / 4;
  }
};

template <int Q>
std::vector<float> RunSubtree(const TapeSet& set, const Tape& tape, const SharedSubtree& subtree,
                              const float* row) {
  TapeSet local;
  local.features = static_cast<std::int32_t>(subtree.features);
  local.sets = set.sets;
  std::vector<float> values;
  for (std::uint32_t i = 0; i < subtree.features; ++i) {
    values.push_back(row[tape.subtree_features.at(subtree.first_feature + i)]);
  }
  ClassResults none;
  EXPECT_LE(subtree.features, 32u) << "a lane holds one each";
  TapeMemory<Q, 1> memory{local, tape, none, values.data(), false, {}, {}, {}};
  memory.stack.resize(static_cast<std::size_t>(tape.subtree_stack_slots),
                      std::vector<float>(Q, NAN));
  memory.tree_phi.assign(subtree.features, 0.0f);
  std::vector<float> results(4 * std::size_t{subtree.width}, 0.0f);
  const Float4* tape_of_one = tape.subtree_words.data() + subtree.first_word;
  for (std::uint32_t length = subtree.words; length > 0;) {
    const Float4 head = *tape_of_one;
    tape::LaneState<Q, 1> state;
    const Float4* at =
        tape::StartSubtree<true, Q, 1>(tape_of_one + 1, tape::Bits(head.y), state, memory);
    EXPECT_FALSE((tape::RunChunk<true, Q, 1>(at, state, memory)));
    if (tape::Bits(head.z) != tape::kNoK) {
      std::copy_n(state.k, Q, results.begin() + 4 * tape::Bits(head.z));
    }
    tape_of_one += length;
    length = tape::Bits(head.x);
  }
  std::copy_n(memory.tree_phi.begin(), subtree.own, results.begin());
  return results;
}

template <bool General, int Q, int R>
void RunTape(const TapeSet& set, const Tape& tape, const std::vector<float>& rows,
             std::vector<double>& out) {
  const auto features = static_cast<std::size_t>(set.features);
  ClassResults classes;
  for (std::size_t row = 0; row * features < rows.size(); row += R) {
    tape::LaneState<Q, R> state;
    tape::StartTree(state);
    for (const TapeSegment& segment : tape.segments) {  // of one range
      const bool placed = set.layout == AccumulatorLayout::kSlots;
      TapeMemory<Q, R> memory{set, tape, classes, rows.data() + row * features, placed, {}, {}, {}};
      memory.stack.resize(static_cast<std::size_t>(tape.stack_slots),
                          std::vector<float>(Q * R, NAN));
      if (placed) memory.columns = segment.features;
      memory.tree_phi.assign(tape.accumulator_slots * R, 0.0f);
      memory.phi.assign(features * R, 0.0);
      const Float4* chunk = tape.words.data() + segment.first_chunk * tape::kChunk;
      while (tape::RunChunk<General, Q, R>(chunk, state, memory)) chunk += tape::kChunk;
      EXPECT_TRUE(memory.columns.empty());
      for (const float sum : memory.tree_phi) EXPECT_EQ(sum, 0.0f) << "a sum is not written out";
      for (std::size_t f = 0; f < features; ++f) {
        for (std::size_t r = 0; r < R; ++r) {
          const std::size_t group = (row + r) * static_cast<std::size_t>(set.groups) +
                                    static_cast<std::size_t>(segment.group);
          out[group * (features + 1) + f] += memory.phi[f * R + r];
        }
      }
    }
  }
}

template <bool General, int R>
std::vector<double> Explain(const TreeEnsemble& model, const std::vector<float>& rows,
                            TapeOptions options, std::size_t part_leaves = 1u << 30) {
  if (options.subtree_leaves > 0) std::erase_if(options.points, [](int q) { return q < 4; });
  const AnnotatedModel annotated = CutTrees(Annotate(model), part_leaves);
  const TapeSet set = CompileTapes(annotated, options);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  const std::size_t count = rows.size() / (side - 1);
  std::vector<double> out(count * ValuesPerRow(model), 0.0);
  for (const Tape& tape : set.tapes) {
    switch (tape.points) {
      case 2:
        RunTape<General, 2, R>(set, tape, rows, out);
        break;
      case 3:
        RunTape<General, 3, R>(set, tape, rows, out);
        break;
      case 4:
        RunTape<General, 4, R>(set, tape, rows, out);
        break;
      case 6:
        RunTape<General, 6, R>(set, tape, rows, out);
        break;
      case 8:
        RunTape<General, 8, R>(set, tape, rows, out);
        break;
      default:
        ADD_FAILURE() << "no pass of " << tape.points;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t g = 0; g < annotated.expected.size(); ++g) {
      out[i * ValuesPerRow(model) + (g + 1) * side - 1] = annotated.expected[g];
    }
  }
  return out;
}

void ExpectClose(const std::vector<double>& got, const std::vector<double>& want,
                 double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double most = 0;
  for (const double w : want) most = std::max(most, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * most) << i;
  }
}

TEST(QuadratureTape, MatchesReferenceOnRandomEnsembles) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 20);
    options.depth = static_cast<int>(seed % 9);
    options.groups = 1 + static_cast<int>(seed % 3);
    options.leaf_probability = 0.3 * static_cast<double>(seed % 4) / 3;
    options.zero_cover_probability = seed % 5 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(options, seed);
    const auto rows = RandomRows(model, 4, 0.2, seed);
    const auto want =
        PathReferenceValues(model, {rows, 4, static_cast<std::size_t>(model.features)});
    ExpectClose(Explain<true, 1>(model, rows, {}), want, 5e-7);
    ExpectClose(Explain<true, 2>(model, rows, {.points = {2, 3, 4}}), want, 5e-7);
  }
}

TEST(QuadratureTape, FastRoutingMatchesWithoutMissingValues) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const TreeEnsemble model =
        RandomEnsemble({.trees = 4, .features = 5, .depth = 9, .leaf_probability = 0.1}, seed);
    const auto rows = RandomRows(model, 4, 0, seed);
    const auto want = PathReferenceValues(model, {rows, 4, 5});
    ExpectClose(Explain<false, 2>(model, rows, {}), want, 5e-7);
  }
}

TEST(QuadratureTape, TakesChainsInPasses) {
  for (const int depth : {1, 2, 3, 4, 5, 16, 32, 64}) {
    const TreeEnsemble model = ChainEnsemble(depth, depth, 0.7, 9);
    std::vector<float> rows(static_cast<std::size_t>(2 * depth), 0.5f);
    const auto want = PathReferenceValues(model, {rows, 2, static_cast<std::size_t>(depth)});
    ExpectClose(Explain<false, 2>(model, rows, {}), want, 5e-7);
  }
}

TEST(QuadratureTape, PartsOfTreesAddUp) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomEnsembleOptions options;
    options.features = 3 + static_cast<int>(seed * 2);
    options.depth = 9;
    options.groups = 1 + static_cast<int>(seed % 2);
    options.leaf_probability = 0.02;
    options.zero_cover_probability = seed % 3 == 0 ? 0.1 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(options, seed);
    const auto rows = RandomRows(model, 4, 0.1, seed);
    const auto want =
        PathReferenceValues(model, {rows, 4, static_cast<std::size_t>(model.features)});
    for (const std::size_t leaves : {40, 150}) {
      ASSERT_GT(CutTrees(Annotate(model), leaves).trees.size(), model.trees.size());
      ExpectClose(Explain<true, 2>(model, rows, {}, leaves), want, 5e-7);
      ExpectClose(Explain<true, 1>(model, rows, {.subtree_leaves = 8}, leaves), want, 5e-7);
    }
  }
}

// Sums that have places for a while, more and fewer of them.
TEST(QuadratureTape, TakesManyFeatures) {
  for (const int features : {17, 60, 97, 300}) {
    const TreeEnsemble model = RandomEnsemble(
        {.trees = 30, .features = features, .groups = 2, .depth = features == 60 ? 9 : 7}, 4);
    const auto rows = RandomRows(model, 4, 0.1, 4);
    const auto want = PathReferenceValues(model, {rows, 4, static_cast<std::size_t>(features)});
    ExpectClose(Explain<true, 1>(model, rows, {}), want, 5e-7);
    ExpectClose(
        Explain<true, 2>(model, rows, {.points = {4}, .subtree_leaves = 8, .accumulator_slots = 8}),
        want, 5e-7);
  }
}

// They change where float sums are folded.
TEST(QuadratureTape, SegmentsHardlyChangeTheSum) {
  const TreeEnsemble model = RandomEnsemble({.trees = 12, .features = 5, .depth = 8}, 2);
  const auto rows = RandomRows(model, 2, 0, 2);
  const auto one = Explain<false, 2>(model, rows, {});
  const auto many = Explain<false, 2>(model, rows, {.segment_words = 1});
  ExpectClose(many, one, 5e-7);
}

TEST(QuadratureTape, SharedSubtreesChangeNothing) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomEnsembleOptions shape;
    shape.features = 2 + static_cast<int>(seed % 7);
    shape.depth = 4 + static_cast<int>(seed % 5);
    shape.groups = 1 + static_cast<int>(seed % 2);
    shape.leaf_probability = 0.1;
    shape.zero_cover_probability = seed % 3 == 0 ? 0.1 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, seed);
    const auto rows = RandomRows(model, 60, seed % 2 == 0 ? 0.2 : 0, seed);
    const auto want =
        PathReferenceValues(model, {rows, 60, static_cast<std::size_t>(model.features)});
    ExpectClose(Explain<true, 2>(model, rows, {.subtree_leaves = 8}), want, 5e-7);
    ExpectClose(Explain<true, 1>(model, rows, {.subtree_leaves = 40}), want, 5e-7);
    ExpectClose(Explain<true, 1>(model, rows, {.subtree_leaves = 1 << 20}), want, 5e-7);
  }
}

TEST(QuadratureTape, SharesSubtreesOfDeepNarrowTrees) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const TreeEnsemble model = RandomEnsemble({.trees = 2,
                                               .features = 12 + static_cast<int>(seed % 5),
                                               .depth = 16,
                                               .leaf_probability = 0.33,
                                               .repeats = seed % 2 == 0 ? 1 : 3},
                                              seed);
    const auto rows = RandomRows(model, 40, seed % 3 == 0 ? 0.1 : 0, seed);
    const auto want =
        PathReferenceValues(model, {rows, 40, static_cast<std::size_t>(model.features)});
    for (const std::int32_t leaves : {8, 30}) {
      ExpectClose(Explain<true, 2>(model, rows, {.subtree_leaves = leaves}), want, 5e-7);
    }
  }
}

// More of them than are joined at once, in one batch and in several.
TEST(QuadratureTape, EqualSubtreesAreMerged) {
  for (const int features : {5, 25}) {
    const TreeEnsemble model = RandomEnsemble(
        {.trees = 3, .features = features, .groups = 2, .depth = 6, .repeats = 11}, 7);
    const auto rows = RandomRows(model, 30, 0.1, 7);
    const auto want = PathReferenceValues(model, {rows, 30, static_cast<std::size_t>(features)});
    for (const std::int32_t leaves : {8, 100}) {
      ExpectClose(Explain<true, 2>(model, rows, {.subtree_leaves = leaves}), want, 5e-7);
      ExpectClose(
          Explain<true, 2>(model, rows,
                           {.segment_words = 100, .subtree_leaves = leaves, .batch_width = 40}),
          want, 5e-7);
      const AnnotatedModel annotated = Annotate(model);
      const TapeSet set = CompileTapes(annotated, {.subtree_leaves = leaves});
      std::size_t planned = 0;
      std::size_t subtrees = 0;
      for (const AnnotatedTree& tree : annotated.trees) {
        planned += PlanSubtrees(tree, set.ranks, leaves).size();
      }
      for (const Tape& tape : set.tapes) subtrees += tape.subtrees.size();
      EXPECT_GT(subtrees, 0u);
      EXPECT_LE(11 * subtrees, 2 * planned) << "eight and three of eleven";
    }
  }
}

// Repetitions of a tree, each with another split somewhere: some above subtrees, some inside.
TEST(QuadratureTape, SubtreesThatDifferByAFewCutsAreMerged) {
  for (const int features : {3, 7, 25}) {
    const auto count = static_cast<std::size_t>(features);
    TreeEnsemble model = RandomEnsemble(
        {.trees = 2, .features = features, .groups = 2, .depth = 6, .repeats = 8}, 11);
    std::size_t chosen = 0;
    for (Tree& tree : model.trees) {
      chosen = (chosen + 17) % tree.nodes.size();
      while (tree.nodes[chosen].is_leaf()) chosen = (chosen + 1) % tree.nodes.size();
      TreeNode& node = tree.nodes[chosen];
      if (chosen % 2 == 0) node.feature = (node.feature + 1) % features;
      node.threshold += 0.25f;
    }
    const auto rows = RandomRows(model, 60, features == 7 ? 0 : 0.15, 11);
    const auto want = PathReferenceValues(model, {rows, 60, count});
    const AnnotatedModel annotated = Annotate(model);
    for (const std::int32_t leaves : {8, 20, 100}) {
      ExpectClose(Explain<true, 2>(model, rows, {.subtree_leaves = leaves}), want, 5e-7);
      ExpectClose(
          Explain<true, 1>(model, rows,
                           {.segment_words = 100, .subtree_leaves = leaves, .batch_width = 40}),
          want, 5e-7);
      const TapeSet set = CompileTapes(annotated, {.subtree_leaves = leaves});
      std::set<std::vector<std::uint32_t>> keys;
      for (const AnnotatedTree& tree : annotated.trees) {
        for (const PlannedSubtree& subtree : PlanSubtrees(tree, set.ranks, leaves)) {
          std::vector<std::uint32_t> key = subtree.key;
          key.push_back(static_cast<std::uint32_t>(tree.group));
          keys.insert(std::move(key));
        }
      }
      std::size_t subtrees = 0;
      for (const Tape& tape : set.tapes) subtrees += tape.subtrees.size();
      EXPECT_LT(subtrees, keys.size()) << features << " features, " << leaves << " leaves";
    }
  }
}

TEST(QuadratureTape, SharedSubtreesAreTheLargestThatFit) {
  const AnnotatedModel model = Annotate(RandomEnsemble({.trees = 1, .depth = 9}, 3));
  const RankTable ranks(model);
  EXPECT_TRUE(PlanSubtrees(model.trees[0], ranks, 4).empty());
  const auto whole = PlanSubtrees(model.trees[0], ranks, 1 << 20);
  const auto some = PlanSubtrees(model.trees[0], ranks, 20);
  ASSERT_FALSE(whole.empty());
  EXPECT_GT(some.size(), whole.size());
  for (const PlannedSubtree& subtree : some) EXPECT_LE(subtree.own, subtree.features.size());
  const RankTable categorical(
      Annotate(RandomEnsemble({.depth = 6, .categorical_probability = 1}, 3)));
  EXPECT_FALSE(categorical.fits());
}

TEST(QuadratureTape, PassesCoverThePoints) {
  const std::vector<int> sizes = TapeOptions().points;
  EXPECT_EQ(Passes(1, sizes), (std::vector<int>{2}));
  EXPECT_EQ(Passes(5, sizes), (std::vector<int>{6}));
  EXPECT_EQ(Passes(14, sizes), (std::vector<int>{8, 6}));
  EXPECT_EQ(Passes(64, sizes), (std::vector<int>(8, 8)));
}

}  // namespace
}  // namespace retable::treeshap
