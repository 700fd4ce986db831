//! The fuzz corpora, and fixed mutations of them, through the fuzz targets' bodies.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fuzz/replay_testing.hpp"
#include "datasets/fuzz_bodies.hpp"

namespace retable::datasets {
namespace {

using fuzzing::MutateJson;
using fuzzing::MutateText;
using fuzzing::Replay;

std::vector<std::string> Corpus(const std::string& kind) {
  return fuzzing::Corpus(std::string(RETABLE_SOURCE_DIR) + "/datasets/fuzz_corpus/" + kind);
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

}  // namespace
}  // namespace retable::datasets
