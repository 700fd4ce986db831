// The corpora of the fuzz targets, and fixed mutations of them, through the targets' bodies.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fuzz/replay_testing.hpp"
#include "experiments/shapley/games/images/fuzz/fuzz_body.hpp"

namespace retable::experiments {
namespace {

std::vector<std::string> Corpus(const std::string& kind) {
  return fuzzing::Corpus(
      std::filesystem::path(RETABLE_SOURCE_DIR "/experiments/shapley/games/images/fuzz/corpus") /
      kind);
}

TEST(ImageFuzzReplay, Onnx) {
  EXPECT_GE(fuzzing::Replay(Corpus("onnx"), 4000, FuzzOnnx, MutateOnnx), 20u);
}

TEST(ImageFuzzReplay, Ppm) {
  EXPECT_GE(fuzzing::Replay(Corpus("ppm"), 1000, FuzzPpm, fuzzing::MutateText), 2u);
}

}  // namespace
}  // namespace retable::experiments
