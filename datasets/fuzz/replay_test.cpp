//! The fuzz corpora, and fixed mutations of them, through the fuzz targets' bodies.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fuzz/replay_testing.hpp"
#include "datasets/fuzz/fuzz_body.hpp"

namespace retable::datasets {
namespace {

using fuzzing::MutateJson;
using fuzzing::MutateText;
using fuzzing::Replay;

std::vector<std::string> Corpus(const std::string& kind) {
  return fuzzing::Corpus(std::filesystem::path(RETABLE_SOURCE_DIR "/datasets/fuzz/corpus") / kind);
}

TEST(FuzzReplay, Arff) {
  EXPECT_GE(Replay(Corpus("arff"), 20000, FuzzArff, MutateText), 10u);
}

TEST(FuzzReplay, Json) {
  EXPECT_GE(Replay(Corpus("json"), 5000, FuzzJson, MutateJson), 5u);
}

TEST(FuzzReplay, Http) {
  EXPECT_GE(Replay(Corpus("http"), 2000, FuzzHttp, MutateText), 2u);
}

TEST(FuzzReplay, Frame) {
  EXPECT_GE(Replay(Corpus("frame"), 2000, FuzzFrame, MutateText), 2u);
}

TEST(FuzzReplay, DeepNestingIsAnswered) {
  for (const char* member : {"data_set_description", "data_features", "error", "detail"}) {
    for (const std::string& text : fuzzing::DeepJson(member)) {
      EXPECT_FALSE(fuzzing::Try(FuzzJson, text)) << member;
      // Within what is read for its text.
      for (const char* inner : {"id", "name", "message", "feature", "code"}) {
        const std::string wrapped =
            "{\"" + std::string(member) + "\":{\"id\":\"7\",\"" + inner + "\":" + text + "}}";
        EXPECT_FALSE(fuzzing::Try(FuzzJson, wrapped)) << member << ' ' << inner;
      }
    }
  }
  EXPECT_FALSE(fuzzing::Try(FuzzJson, R"({"data_set_description":{"name":"n","id":)" +
                                          fuzzing::Nested("[", "7", "]") + "}}"));
  for (const char* close : {"</a>", ""}) {
    EXPECT_FALSE(fuzzing::Try(FuzzJson, fuzzing::Nested("<a>", "x", close)));
    EXPECT_FALSE(fuzzing::Try(FuzzJson, fuzzing::Nested("<!--", "x", close)));
  }
  EXPECT_FALSE(fuzzing::Try(FuzzArff, fuzzing::Nested("@attribute {", "a", "}")));
}

}  // namespace
}  // namespace retable::datasets
