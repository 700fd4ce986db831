//! The fuzz corpus, and deterministic mutations of it, through the fuzz targets' bodies.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include "base/atomic_file.hpp"
#include "datasets/fuzz_bodies.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Corpus(const char* kind) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(RETABLE_SOURCE_DIR) / "datasets/fuzz_corpus" / kind)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // the order of a folder is not the same everywhere
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(ReadWhole(path));
  return corpus;
}

//! Flips, cuts, repeats, splices with another input, or writes a byte that the grammar knows.
std::string Mutate(std::string text, const std::vector<std::string>& corpus,
                   std::mt19937_64& random) {
  static const std::string kSpecial("\0\n\r\t ,{}'\"\\%?@<>[]&;:/-+.0e\xEF\xC3\xFF", 31);
  for (auto rounds = random() % 4 + 1; rounds > 0; --rounds) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 6) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, 1, kSpecial[random() % kSpecial.size()]);
        break;
      case 2:
        text.erase(at, random() % 8);
        break;
      case 3:
        text.insert(at, text.substr(at, random() % 64));
        break;
      case 4: {
        const std::string& other = corpus[random() % corpus.size()];
        text = text.substr(0, at) + other.substr(other.empty() ? 0 : random() % other.size());
        break;
      }
      default:
        if (!text.empty()) text[at] = kSpecial[random() % kSpecial.size()];
    }
  }
  return text.substr(0, 8192);
}

template <class Body>
void Replay(const char* kind, Body body, int mutations) {
  const std::vector<std::string> corpus = Corpus(kind);
  ASSERT_GE(corpus.size(), 10u);
  const auto run = [&body](const std::string& text) {
    // A copy of its own size, so that a read beyond the end shows under the sanitizers.
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    ASSERT_NO_THROW(body(bytes.data(), bytes.size())) << text;
  };
  for (const std::string& text : corpus) run(text);
  std::mt19937_64 random(20);
  for (int i = 0; i < mutations; ++i) run(Mutate(corpus[random() % corpus.size()], corpus, random));
}

TEST(FuzzReplay, Arff) {
  Replay("arff", FuzzArff, 20000);
}

TEST(FuzzReplay, Json) {
  Replay("json", FuzzJson, 5000);
}

}  // namespace
}  // namespace retable::datasets
