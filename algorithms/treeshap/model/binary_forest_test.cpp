// The same forest as JSON and as bytes is the same model.

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/treeshap/model/model_io.hpp"

namespace retable::treeshap {
namespace {

// x < 3 by a threshold that floats round: (kind: class 0, else mixed), else class 1.
constexpr const char* kJson =
    R"({"format": "retable-forest", "version": 1, "features": 2, "groups": 2, "split": "<=",
    "scale": 0.5, "feature_names": ["x", "kind"], "feature_levels": [[], ["red", "7"]], "trees": [
    {"feature": [0, 1, -1, -1, -1], "threshold": [3.0000000001, 0.5, 0, 0, 0],
    "left": [1, 2, -1, -1, -1], "right": [4, 3, -1, -1, -1], "default_left": [0, 1, 0, 0, 0],
    "cover": [8, 5, 3, 2, 3], "value": [[0, 0], [0, 0], [1, 0], [0.25, 0.75], [0, 1]]},
    {"feature": [-1], "threshold": [0], "left": [-1], "right": [-1], "default_left": [0],
    "cover": [8], "value": [[1, 0]]}]})";

std::string AsBytes() {
  ForestHeader header{2, 2, false, 40, {{"no", "yes"}, {{"x"}, {"kind", "nominal", {"red", "7"}}}}};
  const ForestTree trees[] = {
      {.nodes = {{.threshold = 3.0000000001, .weight = 8, .left = 1, .right = 4, .feature = 0},
                 {.threshold = 0.5,
                  .weight = 5,
                  .left = 2,
                  .right = 3,
                  .feature = 1,
                  .missing_left = true},
                 {.weight = 3},
                 {.weight = 2, .value = kMixed},
                 {.weight = 3, .value = 1}},
       .leaf_values = {0.25, 0.75}},
      {.nodes = {{.weight = 8}}}};
  const auto bytes = StoreForest(header, trees);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(BinaryForest, IsTheModelThatItsJsonIs) {
  const TreeEnsemble want = ReadModel(kJson), got = ReadModel(AsBytes());
  EXPECT_EQ(got.features, want.features);
  EXPECT_EQ(got.groups, want.groups);
  EXPECT_EQ(got.base_score, want.base_score);
  EXPECT_EQ(got.feature_names, want.feature_names);
  ASSERT_EQ(got.trees.size(), want.trees.size());
  for (std::size_t t = 0; t < want.trees.size(); ++t) {
    EXPECT_EQ(got.trees[t].group, want.trees[t].group);
    ASSERT_EQ(got.trees[t].nodes.size(), want.trees[t].nodes.size());
    for (std::size_t i = 0; i < want.trees[t].nodes.size(); ++i) {
      const TreeNode &a = got.trees[t].nodes[i], &b = want.trees[t].nodes[i];
      EXPECT_EQ(a.feature, b.feature);
      EXPECT_EQ(a.left, b.left);
      EXPECT_EQ(a.right, b.right);
      EXPECT_EQ(a.cover, b.cover);
      EXPECT_EQ(a.value, b.value);
      if (a.is_leaf()) continue;
      EXPECT_EQ(a.threshold, b.threshold);
      EXPECT_EQ(a.default_left, b.default_left);
    }
  }
  ASSERT_EQ(got.encodings.size(), want.encodings.size());
  EXPECT_TRUE(got.encodings.at(0).number);
  EXPECT_EQ(got.encodings.at(1).categories.code("7"), 1.0);
  EXPECT_EQ(got.encodings.at(1).categories.code(7.0), 1.0);
  EXPECT_TRUE(got.encodings.at(1).refuses_unknown);
}

TEST(BinaryForest, DamageIsRefused) {
  const std::string bytes = AsBytes();
  for (std::size_t length = 8; length < bytes.size(); ++length) {
    EXPECT_THROW(ReadModel(bytes.substr(0, length)), std::invalid_argument) << length;
  }
  for (std::size_t at = 8; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= 16;
    EXPECT_THROW(ReadModel(damaged), std::invalid_argument) << at;
  }
}

// Under a checksum that is right: shapes that other readers of the bytes take and explainers do
// not.
TEST(BinaryForest, TreesThatAreNoneAreRefused) {
  ForestHeader header{1, 1, true, 20, {}};
  const ForestNode leaf{.weight = 1, .value = kMixed};
  const ForestNode root{.weight = 1, .left = 1, .right = 1, .feature = 0};  // the same child twice
  const auto made = StoreForest(header, std::vector<ForestTree>{{{root, leaf, leaf}, {0}}});
  EXPECT_THROW(ReadModel({reinterpret_cast<const char*>(made.data()), made.size()}),
               std::invalid_argument);
  header.columns = std::uint64_t{1} << 40;
  const auto wide = StoreForest(header, std::vector<ForestTree>{{{leaf}, {0}}});
  EXPECT_THROW(ReadModel({reinterpret_cast<const char*>(wide.data()), wide.size()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
