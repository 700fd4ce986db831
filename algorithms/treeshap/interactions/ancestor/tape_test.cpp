// The interaction tape and its interpreter, the body of the CUDA kernels, run on the CPU with
// arrays as memory.

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "algorithms/treeshap/interactions/ancestor/interpreter.hpp"
#include "algorithms/treeshap/interactions/common/tape_testing.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

template <int Q, class Mask>
struct ArrayMemory {
  struct Slot {
    float g[Q], k[Q];
  };

  const InteractionTapeSet& set;
  const InteractionTape& tape;
  std::span<const float> x;
  const InteractionTile& tile;
  const Float4* words;
  const std::vector<std::array<float, Q>>& below;  // K of each tile
  std::vector<float> sums;
  std::vector<Slot> stack;
  bool general = true;

  ArrayMemory(const InteractionTapeSet& tapes, const InteractionTape& own,
              std::span<const float> row, const InteractionTile& one,
              const std::vector<Float4>& all, const std::vector<std::array<float, Q>>& tiles,
              std::uint32_t slots)
      : set(tapes),
        tape(own),
        x(row),
        tile(one),
        words(all.data() + one.first_word),
        below(tiles),
        sums(one.interactions, 0.0f) {
    stack.resize(slots);
    general = !set.sets.empty() ||
              std::any_of(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  }

  float X(std::uint32_t bits) const {
    const std::uint32_t index = bits & tape::kFeatureMask;
    EXPECT_LT(index, tile.features);
    return ClampInfinity(x[ListedIn(words, index)]);
  }
  bool InSet(std::uint32_t offset, float value) const {
    return treeshap::InSet([this](std::uint32_t i) { return set.sets.at(i); }, offset, value);
  }
  Slot& At(int slot) { return stack.at(static_cast<std::size_t>(slot)); }
  void PushG(int slot, const float (&g)[Q]) { std::copy_n(g, Q, At(slot).g); }
  void PeekG(int slot, float (&g)[Q]) { std::copy_n(At(slot).g, Q, g); }
  void PushK(int slot, const float (&k)[Q]) { std::copy_n(k, Q, At(slot).k); }
  void PeekK(int slot, float (&k)[Q]) { std::copy_n(At(slot).k, Q, k); }
  float& Sum(std::uint32_t word) {
    return sums.at((word & ancestor::kSumMask) >> ancestor::kSumShift);
  }
  void Below(std::uint32_t number, float (&k)[Q]) { std::copy_n(below.at(number).begin(), Q, k); }

  // Runs the subtree for the row itself. That the rows of a row class agree is tested with
  // quadrature/tape/compiler.hpp.
  void Shared(const Float4* at, const Float4& head, float (&k)[Q]) {
    const InteractionTile& subtree = tape.subtree_tiles.at(tape::Bits(head.y));
    EXPECT_EQ(subtree.interactions, tape::Bits(head.z));
    ArrayMemory own(set, tape, x, subtree, tape.subtree_words, below, tape.subtree_sizes.slots);
    own.Evaluate(k);
    for (std::uint32_t i = 0; i < subtree.interactions; ++i) Sum(ListedIn(at, i)) += own.sums[i];
  }

  void Evaluate(float (&k)[Q]) {
    ancestor::Lane<Q, Mask> lane;
    if (general) {
      ancestor::Evaluate<true>(words, tile, lane, *this);
    } else {
      ancestor::Evaluate<false>(words, tile, lane, *this);
    }
    std::copy_n(lane.k, Q, k);
  }
};

template <int Q, class Mask>
void RunTape(const InteractionTapeSet& set, const InteractionTape& tape, const RowBlock& rows,
             const auto& add) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    // Not a number until a tile has run: the order must be right.
    std::array<float, Q> none;
    none.fill(NAN);
    std::vector<std::array<float, Q>> below(tape.tiles.size(), none);
    for (std::size_t number = 0; number < tape.tiles.size(); ++number) {
      const InteractionTile& tile = tape.tiles[number];
      ArrayMemory<Q, Mask> memory(set, tape, rows.row(r), tile, tape.words, below,
                                  tape.sizes.slots);
      float k[Q];
      memory.Evaluate(k);
      std::copy_n(k, Q, below[number].begin());
      const Float4* list = memory.words + (tile.features + 3) / 4;
      for (std::uint32_t i = 0; i < tile.interactions; ++i) {
        add(r, tile, ListedIn(list, i), memory.sums[i]);
      }
    }
  }
}

std::vector<double> Interactions(const TreeEnsemble& model, const RowBlock& rows,
                                 const InteractionOptions& options) {
  const InteractionTapeSet set = CompileInteractions(Annotate(model), options);
  return MatricesOf(set, model, rows, [&](const InteractionTape& tape, const auto& add) {
    if (tape.wide)
      RunTape<8, std::uint64_t>(set, tape, rows, add);
    else if (tape.points == 4)
      RunTape<4, std::uint32_t>(set, tape, rows, add);
    else if (tape.points == 6)
      RunTape<6, std::uint32_t>(set, tape, rows, add);
    else
      RunTape<8, std::uint32_t>(set, tape, rows, add);
  });
}

TEST(InteractionTape, MatchesAllSubsets) {
  ExpectAllSubsets<InteractionOptions>(
      16, {{0, 1 << 20, 2000}, {0, 5, 20}, {6, 24, 160}, {20, 3, 1}}, Interactions);
}

// Forty features on a path: masks of 64 bits, tiles in several levels.
TEST(InteractionTape, MatchesTheProcessorOnAChain) {
  const TreeEnsemble model = ChainEnsemble(40, 40, 0.8, 3);
  ExpectProcessors(model, 2, [&](const RowBlock& rows) { return Interactions(model, rows, {}); });
}

TEST(InteractionTape, RefusesTooManyFeatures) {
  const TreeEnsemble chain = ChainEnsemble(65, 65, 0.9, 1);
  EXPECT_THROW(CompileInteractions(Annotate(chain), {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
