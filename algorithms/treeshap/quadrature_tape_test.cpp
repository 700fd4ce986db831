// The tape and its interpreter, the body of the CUDA kernel, run on the CPU with arrays as memory.

#include "algorithms/treeshap/quadrature_tape.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/treeshap/brute_force.hpp"
#include "algorithms/treeshap/quadrature_interpreter.hpp"
#include "algorithms/treeshap/random_trees.hpp"

namespace retable::treeshap {
namespace {

// One lane of R rows.
template <int Q, int R>
struct ArrayMemory {
  const TapeSet& set;
  const float* rows;  // R x features
  std::vector<std::vector<float>> stack;
  std::vector<float> tree_phi;  // features x R
  std::vector<double> phi;      // features x R

  void X(std::uint32_t bits, float (&x)[R]) const {
    const auto feature = static_cast<int>(bits & tape::kFeatureMask);
    for (int r = 0; r < R; ++r) x[r] = ClampInfinity(rows[r * set.features + feature]);
  }
  void AddPhi(std::uint32_t bits, const float (&change)[R]) {
    const auto feature = static_cast<int>(bits & tape::kFeatureMask);
    for (int r = 0; r < R; ++r) tree_phi[static_cast<std::size_t>(feature * R + r)] += change[r];
  }
  void Push(int slot, const float (&g)[Q * R]) {
    stack.at(static_cast<std::size_t>(slot)).assign(g, g + Q * R);
  }
  void Peek(int slot, float (&g)[Q * R]) const {
    std::copy_n(stack.at(static_cast<std::size_t>(slot)).begin(), Q * R, g);
  }
  bool InSet(std::uint32_t offset, float x) const {
    const std::uint32_t head = set.sets.at(offset);
    if (!(x >= 0) || x >= static_cast<float>((head & 0x7fffffffu) * 32)) return (head >> 31) != 0;
    const auto category = static_cast<std::uint32_t>(x);
    return ((set.sets.at(offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
  }
  void EndTree() {
    for (std::size_t i = 0; i < phi.size(); ++i) {
      phi[i] += static_cast<double>(tree_phi[i]);
      tree_phi[i] = 0;
    }
  }
};

template <bool General, int Q, int R>
void RunTape(const TapeSet& set, const Tape& tape, const std::vector<float>& rows,
             std::vector<double>& out) {
  const auto features = static_cast<std::size_t>(set.features);
  for (const TapeSegment& segment : tape.segments) {
    for (std::size_t row = 0; row * features < rows.size(); row += R) {
      ArrayMemory<Q, R> memory{set, rows.data() + row * features, {}, {}, {}};
      memory.stack.resize(static_cast<std::size_t>(tape.slots), std::vector<float>(Q * R, NAN));
      memory.tree_phi.assign(features * R, 0.0f);
      memory.phi.assign(features * R, 0.0);
      tape::LaneState<Q, R> state;
      tape::StartTree(state);
      const Float4* chunk = tape.words.data() + segment.first_chunk * tape::kChunk;
      while (tape::RunChunk<General, Q, R>(chunk, state, memory)) chunk += tape::kChunk;
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
                            const TapeOptions& options) {
  const AnnotatedModel annotated = Annotate(model);
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
    ExpectClose(Explain<true, 2>(model, rows, {.max_points = 4}), want, 5e-7);
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
    ExpectClose(Explain<false, 1>(model, rows, {}), want, 5e-7);
  }
}

TEST(QuadratureTape, SegmentsDoNotChangeTheSum) {
  const TreeEnsemble model = RandomEnsemble({.trees = 12, .features = 5, .depth = 8}, 2);
  const auto rows = RandomRows(model, 2, 0, 2);
  const auto one = Explain<false, 2>(model, rows, {});
  const auto many = Explain<false, 2>(model, rows, {.segment_words = 1});
  ExpectClose(many, one, 1e-14);
}

TEST(QuadratureTape, PassesCoverThePoints) {
  const TapeOptions options;
  EXPECT_EQ(Passes(1, options), (std::vector<int>{2}));
  EXPECT_EQ(Passes(5, options), (std::vector<int>{6}));
  EXPECT_EQ(Passes(14, options), (std::vector<int>{8, 6}));
  EXPECT_EQ(Passes(64, options), (std::vector<int>(8, 8)));
}

}  // namespace
}  // namespace retable::treeshap
