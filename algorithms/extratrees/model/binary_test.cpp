// Forests as bytes: nothing is lost, and no damaged or hostile bytes are taken.

#include "algorithms/extratrees/model/binary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/model/fuzz/fuzz_body.hpp"
#include "algorithms/extratrees/model/json.hpp"
#include "base/fuzz/replay_testing.hpp"

namespace retable::extratrees {
namespace {

// A forest of few rows with missing values: pure and mixed leaves.
Forest Grown(bool regression, int trees) {
  constexpr std::size_t rows = 60, columns = 3;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> uniform;
  std::vector<float> x(rows * columns);
  for (float& value : x) value = uniform(random);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::uint32_t> labels(rows);
  std::vector<double> values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    labels[i] = static_cast<std::uint32_t>(random() % 3);
    values[i] = static_cast<double>(uniform(random));
  }
  const auto trainer = Registry<ForestTrainer>::Instance().Make("frontier", Device::kCpu, {});
  const ForestOptions options{.n_trees = trees, .min_samples_leaf = 2, .seed = 5};
  return trainer
      ->fit({x.data(), rows, columns}, regression ? Targets::Regression(values) : Targets(labels),
            options)
      ->host();
}

TEST(ForestBytes, NothingIsLost) {
  for (const bool regression : {false, true}) {
    const Forest forest = Grown(regression, 7);
    const std::vector<std::byte> bytes = WriteForestBytes(forest);
    EXPECT_EQ(bytes.size() % 8, 0u);
    const Forest again = ReadForestBytes(bytes);
    EXPECT_EQ(again.trees, forest.trees);
    EXPECT_EQ(again.columns, forest.columns);
    EXPECT_EQ(again.classes, forest.classes);
    EXPECT_EQ(again.regression, forest.regression);
    EXPECT_EQ(again.value_bits, forest.value_bits);
    EXPECT_EQ(WriteForestBytes(again), bytes);
  }
}

TEST(ForestBytes, NamesAreKept) {
  const Forest forest = Grown(false, 2);
  const ForestNames names{
      {"no", "\xC3\xBC", ""},
      {{"a,b", "nominal", {"x", "", "y\n"}}, {"c", "date", {}}, {"", "numeric", {}}}};
  ForestNames back;
  const std::vector<std::byte> bytes = WriteForestBytes(forest, names);
  EXPECT_EQ(bytes.size() % 8, 0u);
  EXPECT_EQ(ReadForestBytes(bytes, &back).trees, forest.trees);
  EXPECT_EQ(back, names);
  const std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(ReadForest(content, &back).trees, forest.trees);
  std::ostringstream json;
  WriteForestJson(forest, json, names);
  EXPECT_EQ(ReadForest(json.str(), &back).trees, forest.trees);
  EXPECT_EQ(back, names);
  ForestNames wrong = names;
  wrong.classes.pop_back();
  EXPECT_THROW(WriteForestBytes(forest, wrong), std::invalid_argument);
  wrong.classes = {"x", "y", "x"};
  EXPECT_THROW(WriteForestBytes(forest, wrong), std::invalid_argument);
}

// Pickles of older programs: no names, of which version 2 says that there are none in 8 bytes.
TEST(ForestBytes, VersionOneIsRead) {
  const Forest forest = Grown(true, 3);
  std::vector<std::byte> bytes = WriteForestBytes(forest);
  bytes.erase(bytes.begin() + 40, bytes.begin() + 48);
  bytes[8] = std::byte{1};
  const std::uint32_t sum = ForestChecksum(bytes);
  std::memcpy(bytes.data() + 12, &sum, sizeof(sum));
  EXPECT_EQ(ReadForestBytes(bytes).trees, forest.trees);
  bytes[8] = std::byte{3};
  EXPECT_THROW(ReadForestBytes(bytes), std::invalid_argument);
}

// The corpus was not written by this program.
TEST(ForestBytes, AnswersMutations) {
  auto corpus =
      fuzzing::Corpus(RETABLE_SOURCE_DIR "/algorithms/extratrees/model/fuzz/bytes_corpus");
  EXPECT_GE(fuzzing::Replay(corpus, 0, FuzzForestBytes, fuzzing::MutateFields), 4u);
  const std::vector<std::byte> grown = WriteForestBytes(Grown(false, 2));
  corpus.emplace_back(reinterpret_cast<const char*>(grown.data()), grown.size());
  EXPECT_GE(fuzzing::Replay(corpus, 20000, FuzzForestBytes, fuzzing::MutateFields), 500u);
}

TEST(ForestBytes, DamagedBytesAreRefused) {
  ForestNames names;
  names.classes = {"a", "b", "c"};
  names.features = {{"x", "nominal", {"p", "q"}}, {"y", "numeric", {}}, {"z", "numeric", {}}};
  const std::vector<std::byte> bytes = WriteForestBytes(Grown(false, 2), names);
  for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 16) {
    EXPECT_THROW(ReadForestBytes({bytes.data(), length}), std::invalid_argument) << length;
  }
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 64) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{4};
    EXPECT_THROW(ReadForestBytes(damaged), std::invalid_argument) << at;
  }
  std::vector<std::byte> longer = bytes;
  longer.resize(bytes.size() + 8);
  EXPECT_THROW(ReadForestBytes(longer), std::invalid_argument);
}

// Forests that are wrong under a checksum that is right.
TEST(ForestBytes, HostileForestsAreRefused) {
  const Forest good = Grown(false, 1);
  const auto refused = [&](const auto& spoil) {
    Forest forest = good;
    spoil(forest);
    EXPECT_THROW(ReadForestBytes(WriteForestBytes(forest)), std::invalid_argument);
  };
  ASSERT_GE(good.trees[0].nodes[0].feature, 0);
  const auto leaf = [](Forest& f) -> TreeNode& {
    for (TreeNode& node : f.trees[0].nodes) {
      if (node.feature < 0) return node;
    }
    throw std::logic_error("no leaf");
  };
  refused([](Forest& f) { f.trees[0].nodes[0].left = 0; });
  refused([](Forest& f) { f.trees[0].nodes[0].right = -7; });
  refused([](Forest& f) { f.trees[0].nodes[0].right = f.trees[0].nodes[0].left; });
  refused([](Forest& f) { f.trees[0].nodes[0].right = 1 << 30; });
  refused([](Forest& f) { f.trees[0].nodes[0].feature = 3; });
  refused([&](Forest& f) { leaf(f).value = 3; });
  refused([&](Forest& f) { leaf(f).value = kMixed | 1000000; });
  refused([](Forest& f) { f.trees[0].leaf_values.assign(30, std::nan("")); });
  refused([](Forest& f) { f.classes = 0; });
  refused([](Forest& f) { f.regression = true; });
  refused([](Forest& f) { f.value_bits = 100000; });
  refused([](Forest& f) { f.value_bits = 62; });
  refused([](Forest& f) { f.trees[0].nodes[0].threshold = std::nan(""); });
  refused([](Forest& f) { f.trees[0].nodes[0].weight = -1; });
  refused([](Forest& f) { f.trees.clear(); });
  refused([](Forest& f) { f.trees[0].nodes.clear(); });
}

}  // namespace
}  // namespace retable::extratrees
