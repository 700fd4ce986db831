// The fuzz corpus of the model readers, and fixed mutations of it, through the fuzz target's body.

#include <gtest/gtest.h>

#include <string>

#include "algorithms/treeshap/testing/model_fuzz_body.hpp"
#include "base/fuzz/replay_testing.hpp"

namespace retable::treeshap {
namespace {

TEST(ModelFuzz, CorpusAndMutations) {
  const auto corpus = fuzzing::Corpus(std::string(RETABLE_SOURCE_DIR) +
                                      "/algorithms/treeshap/testing/corpus/model");
  ASSERT_GE(corpus.size(), 10u);
  EXPECT_GE(fuzzing::Replay(corpus, 0, FuzzModel, MutateModel), 6u) << "models of every format";
  EXPECT_GE(fuzzing::Replay(corpus, 4000, FuzzModel, MutateModel), 300u) << "mutated valid models";
}

}  // namespace
}  // namespace retable::treeshap
