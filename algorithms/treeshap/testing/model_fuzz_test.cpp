// The fuzz corpus of the model readers, and fixed mutations of it, through the fuzz target's body.

#include <gtest/gtest.h>

#include <string>

#include "algorithms/treeshap/testing/model_fuzz_body.hpp"
#include "base/fuzz/replay_testing.hpp"

namespace retable::treeshap {
namespace {

TEST(ModelFuzz, CorpusAndMutations) {
  const auto corpus =
      fuzzing::Corpus(RETABLE_SOURCE_DIR "/algorithms/treeshap/testing/corpus/model");
  ASSERT_GE(corpus.size(), 10u);
  EXPECT_GE(fuzzing::Replay(corpus, 0, FuzzModel, fuzzing::MutateJsonOrUbj), 6u)
      << "models of every format";
  EXPECT_GE(fuzzing::Replay(corpus, 4000, FuzzModel, fuzzing::MutateJsonOrUbj), 300u)
      << "mutated valid models";
}

TEST(ModelFuzz, DeepNestingIsRefused) {
  for (const char* member : {"learner", "trees", "format"}) {
    for (const std::string& text : fuzzing::DeepJson(member)) {
      EXPECT_FALSE(fuzzing::Try(FuzzModel, text)) << member;
      EXPECT_FALSE(fuzzing::Try(FuzzModel, "{\"learner\":{\"gradient_booster\":" + text + "}}"));
      EXPECT_FALSE(fuzzing::Try(
          FuzzModel,
          R"({"format":"retable-forest","version":1,"features":1,"trees":)" + text + "}"));
    }
  }
  for (const char* ubj : {"[", "[#i\x01",
                          "{i\x01"
                          "a",
                          "[$[#i\x01"}) {
    EXPECT_FALSE(fuzzing::Try(FuzzModel, "{i\x07learner" + fuzzing::Nested(ubj, "", "")));
  }
}

// A few bytes that announce a forest of 65536 outputs and have none of their values.
TEST(ModelFuzz, ManyOutputsWithoutValuesAreRefusedBeforeTheyTakeMemory) {
  std::string fields;
  const auto list = [](const std::string& item) {
    std::string text = "[" + item;
    for (int i = 1; i < 20000; ++i) text += "," + item;
    return text + "]";
  };
  for (const char* name : {"feature", "left", "right", "threshold", "cover"}) {
    fields += "\"" + std::string(name) + "\":" + list("0") + ",";
  }
  EXPECT_FALSE(fuzzing::Try(
      FuzzModel,
      R"({"format":"retable-forest","version":1,"features":1,"groups":65536,"trees":[{)" + fields +
          "\"value\":" + list("[]") + "}]}"));
}

}  // namespace
}  // namespace retable::treeshap
