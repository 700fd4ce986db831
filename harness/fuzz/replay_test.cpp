// The corpora of the fuzz targets, and fixed mutations of them, through the targets' bodies.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fuzz/replay_testing.hpp"
#include "harness/fuzz/fuzz_body.hpp"

namespace retable::harness {
namespace {

using fuzzing::MutateJson;
using fuzzing::MutateText;
using fuzzing::Replay;

std::vector<std::string> Corpus(const std::string& kind) {
  return fuzzing::Corpus(std::filesystem::path(RETABLE_SOURCE_DIR "/harness/fuzz/corpus") / kind);
}

bool IsGood(const std::string& check) {
  return fuzzing::Try(FuzzClaim, check);
}

TEST(FuzzReplay, Toml) {
  EXPECT_GE(Replay(Corpus("toml"), 500, FuzzToml, MutateText), 1u);
}

TEST(FuzzReplay, Table) {
  EXPECT_GE(Replay(Corpus("table"), 1000, FuzzTable, MutateText), 1u);
}

TEST(FuzzReplay, Cell) {
  EXPECT_GE(Replay(Corpus("cell"), 500, FuzzCell, MutateJson), 1u);
}

TEST(FuzzReplay, Archive) {
  EXPECT_GE(Replay(Corpus("archive"), 300, FuzzArchive, MutateText), 2u);
}

TEST(FuzzReplay, Claim) {
  EXPECT_GE(Replay(Corpus("claim"), 1000, FuzzClaim, MutateText), 3u);
}

// Evaluating is a walk in depth: what is too deep for the stack is refused before.
TEST(FuzzReplay, ALongChainOfOperatorsIsRefused) {
  const auto chain = [](const std::string& link, int links, const std::string& end) {
    std::string text;
    for (int i = 0; i < links; ++i) text += link;
    return text + end;
  };
  EXPECT_TRUE(IsGood(chain("1+", 900, "1 < 2")));
  EXPECT_FALSE(IsGood(chain("1+", 9990, "1 < 2")));
  EXPECT_FALSE(IsGood(chain("true or ", 2490, "true")));
}

TEST(FuzzReplay, DeepNestingIsRefused) {
  for (const char* member : {"cell", "parameters", "facts", "metrics", "status", "attachments"}) {
    for (const std::string& text : fuzzing::DeepJson(member)) {
      EXPECT_FALSE(fuzzing::Try(FuzzCell, text));
      EXPECT_FALSE(fuzzing::Try(FuzzCell, "{\"cell\":" + text + "}"));
    }
  }
  for (const std::string& text :
       {"a = " + fuzzing::Nested("[", "", "]"), "a = " + fuzzing::Nested("{a = ", "1", "}"),
        "a = " + fuzzing::Nested("[", "", ""), "[" + fuzzing::Nested("a.", "a", "") + "]\n"}) {
    EXPECT_FALSE(fuzzing::Try(FuzzToml, text));
  }
  for (const std::string& text :
       {fuzzing::Nested("(", "1", ")"), fuzzing::Nested("not ", "true", ""),
        fuzzing::Nested("-", "1", ""), fuzzing::Nested("sum(i in [1]: ", "1", ")"),
        fuzzing::Nested("2 ^ ", "1", ""), fuzzing::Nested("[", "1", "]")}) {
    EXPECT_FALSE(IsGood(text)) << text.substr(0, 20);
  }
}

// toml++ would run into undefined behaviour.
TEST(FuzzReplay, ALetterBeyondAsciiWhereTheParserCannotBearItIsRefused) {
  for (const std::string text :
       {"\xC3\xA9 = 1\n", "a = \xC3\xA9\n", "a = 1 \xEF\xBB\xBF\n", "[a.\xE2\x80\x8B]\n",
        "a = \"x\\\"\" \xC3\xA9\n", "a = \"\"\"x\\\n \xC3\xA9\"\"\"", "a = \"\"\"\\\xD0\x90\"\"\"",
        "a = \"\"\"x\\ \r\n\r\n\t\xE1\x9A\x81\"\"\""}) {
    try {
      ParseToml(text, "fuzz.toml");
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.rfind("fuzz.toml:1:", 0), 0u) << what;
      EXPECT_NE(what.find("beyond ASCII"), std::string::npos) << what;
    }
  }
  const std::string three = "'''";
  for (const std::string& text : {std::string("a = \"\xC3\xA9\\\"\xC3\xA9\""),
                                  std::string("a = '\xC3\xA9'"), std::string("# \xC3\xA9\na = 1"),
                                  std::string("a = \"\"\"\n\xC3\xA9\"\\\n\"\"\" # \xC3\xA9"),
                                  std::string("a = \"\"\"\\\\\n\xC3\xA9\\\n.\xC3\xA9\"\"\""),
                                  "\xEF\xBB\xBF"
                                  "a = " +
                                      three + "\n\xC3\xA9" + three}) {
    EXPECT_NO_THROW(ParseToml(text, "fuzz.toml")) << text;
  }
}

}  // namespace
}  // namespace retable::harness
