// The corpus of the fuzz target, and fixed mutations of it, through the target's body.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "harness/fuzz_body.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Corpus() {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(RETABLE_SOURCE_DIR) / "harness/fuzz_corpus")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // the order of a folder is not the same everywhere
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

bool IsGood(const std::string& text) {
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  return FuzzFile(bytes.data(), bytes.size());
}

TEST(FuzzFiles, TheCorpusIsGoodAndItsMutationsAreAnswered) {
  const auto corpus = Corpus();
  ASSERT_GE(corpus.size(), 6u);
  for (const std::string& text : corpus) EXPECT_TRUE(IsGood(text)) << text;
  std::mt19937_64 random(8);
  for (int i = 0; i < 500; ++i) {
    std::string text = corpus[random() % corpus.size()];
    const std::size_t at = text.find('\n') + random() % (text.size() - text.find('\n'));
    if (i % 2 == 0) text[at] = static_cast<char>(random());
    if (i % 2 == 1) text.erase(at, random() % 8);
    ASSERT_NO_THROW(IsGood(text)) << text;
  }
}

// Evaluating is a walk in depth: what is too deep for the stack is refused before.
TEST(FuzzFiles, ALongChainOfOperatorsIsRefused) {
  const auto chain = [](const std::string& link, int links, const std::string& end) {
    std::string text = "check\n";
    for (int i = 0; i < links; ++i) text += link;
    return text + end;
  };
  EXPECT_TRUE(IsGood(chain("1+", 900, "1 < 2")));
  EXPECT_FALSE(IsGood(chain("1+", 9990, "1 < 2")));
  EXPECT_FALSE(IsGood(chain("true or ", 2490, "true")));
}

}  // namespace
}  // namespace retable::harness
