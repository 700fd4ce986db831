// The corpus of the fuzz target, and fixed mutations of it, through the target's body.

#include <gtest/gtest.h>

#include <string>

#include "base/csv/fuzz/fuzz_body.hpp"
#include "base/fuzz/replay_testing.hpp"

namespace retable {
namespace {

TEST(CsvFuzzReplay, CorpusAndMutations) {
  const auto corpus = fuzzing::Corpus(RETABLE_SOURCE_DIR "/base/csv/fuzz/corpus");
  EXPECT_GE(fuzzing::Replay(corpus, 20000, FuzzCsv, fuzzing::MutateText), 1000u);
}

}  // namespace
}  // namespace retable
