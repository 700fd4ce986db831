#include "algorithms/treeshap/host/sharded_explainer.hpp"

#include <gtest/gtest.h>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

std::unique_ptr<TreeExplainer> One() {
  return Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu,
                                                  {{"threads", std::int64_t{1}}});
}

TEST(ShardRows, GivesTheSameBits) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 4, .groups = 2}, 1);
  const auto values = RandomRows(model, 37, 0.1, 1);
  const auto alone = One();
  alone->prepare(model);
  for (const std::size_t shares : {1u, 2u, 5u}) {
    std::vector<std::unique_ptr<TreeExplainer>> parts;
    for (std::size_t i = 0; i < shares; ++i) parts.push_back(One());
    const auto together = ShardRows(std::move(parts));
    together->prepare(model);
    for (const std::size_t rows : {0u, 1u, 3u, 37u}) {
      const RowBlock block{std::span(values).first(rows * 4), rows, 4};
      EXPECT_EQ(together->values(block), alone->values(block));
      EXPECT_EQ(together->interactions(block), alone->interactions(block));
    }
    EXPECT_THROW(together->values({values, 1, 3}), std::invalid_argument);
  }
  EXPECT_THROW(ShardRows({}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
