#pragma once
//! @file
//! The corpus of a fuzz target, and mutations of it, through the target's body: every build covers
//! what libFuzzer found once, with or without libFuzzer.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/fuzz/mutation.hpp"

namespace retable::fuzzing {

//! The files of a folder in the order of their names.
inline std::vector<std::string> Corpus(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());  // the order of a folder is not the same everywhere
  std::vector<std::string> corpus;
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

//! `core` in so many levels of brackets: what readers that recurse end on.
inline std::string Nested(std::string_view open, std::string_view core, std::string_view close,
                          std::size_t levels = 200000) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  text += core;
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

//! JSON that is deep at its root, within an object, within `member` of an object, or never closed.
inline std::vector<std::string> DeepJson(const std::string& member) {
  const std::string lists = Nested("[", "", "]", 5000);
  const std::string objects = Nested("{\"a\":", "1", "}", 5000);
  return {lists,
          objects,
          "{\"" + member + "\":" + lists + "}",
          "{\"" + member + "\":" + objects + "}",
          Nested("[", "", "", 5000),
          Nested("[{\"" + member + "\":", "", "", 5000)};
}

//! The body on one text.
template <class Body>
bool Try(const Body& body, std::string_view text) {
  return body(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

//! Flips, cuts, repeats, splices with another input, or writes a byte that a grammar knows.
inline std::string MutateBytes(std::string text, const std::vector<std::string>& corpus,
                               Random& random) {
  static const std::string kSpecial("\0\n\r\t ,{}'\"\\%?@<>[]&;:/-+.0e\xEF\xC3\xFF", 31);
  for (std::size_t rounds = random(4) + 1; rounds > 0; --rounds) {
    const std::size_t at = random(text.size() + 1);
    const std::size_t choice = random(6);
    const bool inside = at < text.size();
    if (choice == 0 && inside) text[at] = static_cast<char>(random(256));
    if (choice == 1) text.insert(at, 1, random.Of(kSpecial));
    if (choice == 2) text.erase(at, random(8));
    if (choice == 3) text.insert(at, text.substr(at, random(64)));
    if (choice == 4) {
      const std::string& other = random.Of(corpus);
      text = text.substr(0, at) + other.substr(random(other.size() + 1));
    }
    if (choice == 5 && inside) text[at] = random.Of(kSpecial);
  }
  return text;
}

//! Runs the body on the corpus and on so many mutations of it, half of them by `mutate`. A body
//! that throws ends it. @return how many inputs the body took for good
template <class Body, class Mutate>
std::size_t Replay(const std::vector<std::string>& corpus, std::size_t mutations, const Body& body,
                   const Mutate& mutate) {
  std::size_t good = 0;
  const auto run = [&](const std::string& text) {
    // A copy of its own size, so that a read beyond the end shows under the sanitizers.
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    good += body(bytes.data(), bytes.size()) ? 1 : 0;
  };
  for (const std::string& text : corpus) run(text);
  Random random(20);
  for (std::size_t i = 0; i < mutations; ++i) {
    const std::string& text = random.Of(corpus);
    std::string mutated = i % 2 == 0 ? MutateBytes(text, corpus, random) : mutate(text, random);
    mutated.resize(std::min(mutated.size(), std::size_t{16384}));
    run(mutated);
  }
  return good;
}

}  // namespace retable::fuzzing
