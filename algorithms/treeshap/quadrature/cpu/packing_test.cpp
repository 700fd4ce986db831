// What a bundle of trees holds, by hand.

#include "algorithms/treeshap/quadrature/cpu/packing.hpp"

#include <gtest/gtest.h>

namespace retable::treeshap {
namespace {

AnnotatedNode Leaf(double value) {
  AnnotatedNode node;
  node.value = value;
  return node;
}

AnnotatedNode Split(std::int32_t feature, std::int32_t left, std::int32_t right,
                    std::int16_t height) {
  AnnotatedNode node;
  node.feature = feature;
  node.left = left;
  node.right = right;
  node.height = height;
  return node;
}

// A split above two leaves, 2 and 6.
AnnotatedTree Stump() {
  return {.nodes = {Split(0, 1, 2, 1), Leaf(2), Leaf(6)}};
}

// A split above a leaf, 5, and a split.
AnnotatedTree Taller() {
  return {.nodes = {Split(0, 1, 2, 2), Leaf(5), Split(1, 3, 4, 1), Leaf(1), Leaf(3)}};
}

TEST(BundleTrees, ShorterLanesAreClosedAndEnd) {
  const QuadratureRule rule = {{0.5}, {1.0}};
  const auto stump = PackTree<float>(Stump(), rule, 2);
  const auto taller = PackTree<float>(Taller(), rule, 2);
  const std::vector<const PackedTree<float>*> trees = {&taller, &stump, &taller};
  const std::vector<std::size_t> begins = {1, 3, 4};
  const auto bundle = BundleTrees<float>(trees, begins, 4);
  ASSERT_EQ(bundle.splits.size(), 2u);
  EXPECT_EQ(bundle.splits[0].first, 1);
  EXPECT_EQ(bundle.splits[0].second, -1);
  EXPECT_TRUE(bundle.splits[0].closed);
  EXPECT_EQ(bundle.splits[1].first, -1);
  const auto number = [&](int split, int field, int lane) {
    return bundle.View().numbers[(split * (kBundleFields + 2) + field) * 4 + lane];
  };
  EXPECT_EQ(number(0, kSecond, 0), 5);  // the leaf, whose sibling is higher
  EXPECT_EQ(number(0, kClosed, 1), 1);
  EXPECT_EQ(number(0, kWeight, 1), 4);  // the mean of its leaves
  EXPECT_EQ(number(0, kSecond, 1), 1);
  EXPECT_EQ(number(1, kWeight, 0), 2);
  EXPECT_EQ(number(1, kWeight, 1), 0);  // the closed lane's first leaf
  // Places: the trees' own sums, and one that is nobody's.
  const std::vector<std::uint16_t> want = {0, 0, 0, 0, 1, 3, 4, 0, 1, 0, 1, 0, 2, 0, 5, 0};
  EXPECT_EQ(bundle.places, want);
}

}  // namespace
}  // namespace retable::treeshap
