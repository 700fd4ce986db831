// The fuzz corpus of the model readers, and fixed mutations of it, through the fuzz target's body.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "algorithms/treeshap/testing/model_fuzz_body.hpp"

namespace retable::treeshap {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Corpus() {
  std::vector<fs::path> paths;
  const fs::path folder = fs::path(RETABLE_SOURCE_DIR) / "algorithms/treeshap/testing/corpus/model";
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the order of a folder is not the same everywhere
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

bool IsModel(const std::string& text) {
  // A copy of its own size, so that a read beyond the end shows under the sanitizers.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  return FuzzModel(bytes.data(), bytes.size());
}

TEST(ModelFuzz, CorpusAndMutations) {
  const auto corpus = Corpus();
  ASSERT_GE(corpus.size(), 10u);
  int models = 0;
  for (const std::string& text : corpus) models += IsModel(text) ? 1 : 0;
  EXPECT_GE(models, 6) << "the corpus should have models of every format";
  std::mt19937_64 random(6);
  for (int i = 0; i < 4000; ++i) {
    std::string text = corpus[random() % corpus.size()];
    for (auto rounds = random() % 4 + 1; rounds > 0 && !text.empty(); --rounds) {
      const std::size_t at = random() % text.size();
      const std::string& other = corpus[random() % corpus.size()];
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(at, random() % 32));
          break;
        default:
          text = text.substr(0, at) + (other.empty() ? "" : other.substr(random() % other.size()));
      }
    }
    IsModel(text);
  }
}

}  // namespace
}  // namespace retable::treeshap
