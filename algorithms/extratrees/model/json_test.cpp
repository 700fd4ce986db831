#include "algorithms/extratrees/model/json.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/model/fuzz/fuzz_body.hpp"
#include "base/fuzz/replay_testing.hpp"

namespace retable::extratrees {
namespace {

Forest SmallForest() {
  const std::vector<float> x = {0.1f, 5, 5, 9, 2.5f, -3, 7, 7};
  const std::vector<std::uint32_t> y = {0, 1, 2, 0, 1, 2, 1, 0};
  return FrontierCpu(1).fit({x.data(), 8, 1}, y, {.n_trees = 4, .seed = 3})->host();
}

std::string Written(const Forest& forest) {
  std::ostringstream out;
  WriteForestJson(forest, out);
  return out.str();
}

TEST(ForestJson, ReturnsTheSameForest) {
  const Forest forest = SmallForest();
  const Forest back = ReadForestJson(Written(forest));
  EXPECT_EQ(back.columns, forest.columns);
  EXPECT_EQ(back.classes, forest.classes);
  EXPECT_TRUE(back.trees == forest.trees);
}

TEST(ForestJson, RefusesDamage) {
  const std::string text = Written(SmallForest());
  EXPECT_THROW(ReadForestJson(""), std::invalid_argument);
  EXPECT_THROW(ReadForestJson("{}"), std::invalid_argument);
  EXPECT_THROW(ReadForestJson(text.substr(0, text.size() / 2)), std::invalid_argument);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"left\":[1,", "\"left\":[0,"},
        {"\"left\":[1,", "\"left\":[900,"},
        {"\"left\":[1,", "\"left\":[2,"},  // two parents
        {"\"feature\":[0,", "\"feature\":[1,"},
        {"\"feature\":[0,", "\"feature\":[0.5,"},
        {"\"feature\":[0,", "\"feature\":[1e300,"},
        {"\"feature\":[0,", "\"feature\":[18446744073709551615,"},
        {"\"value_bits\":40", "\"value_bits\":62"},
        {"\"version\":1", "\"version\":2"},
        {"\"samples\":[8,", "\"samples\":[0,"},
        {"\"cover\":[8.0,", "\"cover\":[0,"}}) {
    std::string damaged = text;
    const std::size_t at = damaged.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    damaged.replace(at, from.size(), to);
    EXPECT_THROW(ReadForestJson(damaged), std::invalid_argument) << to;
  }
}

TEST(ForestJson, KeepsNames) {
  const Forest forest = SmallForest();
  const ForestNames names{{"x,1", "\"y\"", "z\n"}, {{"a \"b\"", "nominal", {"u", "\xC3\xBC"}}}};
  std::ostringstream out;
  WriteForestJson(forest, out, names);
  ForestNames back;
  EXPECT_TRUE(ReadForestJson(out.str(), &back).trees == forest.trees);
  EXPECT_EQ(back, names);
  ReadForestJson(Written(forest), &back);
  EXPECT_EQ(back, ForestNames());
  for (const ForestNames& wrong : {ForestNames{{"x", "y"}, {}}, ForestNames{{"x", "x", "y"}, {}},
                                   ForestNames{{}, {{"a", "numeric", {}}, {"b", "numeric", {}}}}}) {
    std::ostringstream refused;
    EXPECT_THROW(WriteForestJson(forest, refused, wrong), std::invalid_argument);
    EXPECT_EQ(refused.str(), "");
  }
  std::string text = out.str();
  text.replace(text.find("[\"nominal\"]"), 11, "[]");
  EXPECT_THROW(ReadForestJson(text), std::invalid_argument);
}

// As the fuzz target does for longer.
TEST(ForestJson, AnswersMutations) {
  auto corpus = fuzzing::Corpus(RETABLE_SOURCE_DIR "/algorithms/extratrees/model/fuzz/corpus");
  corpus.push_back(Written(SmallForest()));
  EXPECT_GE(fuzzing::Replay(corpus, 1000, FuzzForest, fuzzing::MutateJson), 3u);
}

TEST(ForestJson, DeepNestingIsRefused) {
  for (const char* member : {"format", "trees", "class_names"}) {
    for (const std::string& text : fuzzing::DeepJson(member)) {
      EXPECT_FALSE(fuzzing::Try(FuzzForest, text)) << member;
    }
  }
}

}  // namespace
}  // namespace retable::extratrees
