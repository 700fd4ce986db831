#include "algorithms/extratrees/published/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numeric>

namespace retable::extratrees::published {
namespace {

struct LabelledRows {
  std::vector<float> values;
  std::vector<std::uint32_t> labels;
  std::size_t columns = 0;
  FeatureMatrix matrix() const { return {values.data(), labels.size(), columns}; }
};

LabelledRows MakeData(std::size_t rows, std::size_t columns, std::uint32_t classes,
                      std::uint64_t seed) {
  LabelledRows data;
  data.columns = columns;
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t f = 0; f < columns; ++f) {
      const std::uint64_t k = UniformBelow(philox.Block(i, f).half(0), f % 4 == 3 ? 1 : 50);
      data.values.push_back(static_cast<float>(k) / 8);
    }
    data.labels.push_back(
        static_cast<std::uint32_t>(UniformBelow(philox.Block(i, 999).half(0), classes)));
  }
  return data;
}

//! Breadth-first growth with explicit sample lists: no masks, no batch_pos. Fills features and
//! cuts by breadth-first number; -1 for leaves.
struct PublishedOracle {
  std::vector<std::int32_t> feature;
  std::vector<float> cut;
  std::vector<std::size_t> samples;
};

PublishedOracle Grow(const LabelledRows& data, std::uint32_t classes, std::uint32_t tree,
                     std::uint64_t seed) {
  const auto k = ResolveMaxFeatures(0, data.columns);
  std::vector<std::uint32_t> all(data.labels.size());
  std::iota(all.begin(), all.end(), 0);
  std::deque<std::vector<std::uint32_t>> queue{all};
  PublishedOracle out;
  std::uint64_t made = 1;
  while (!queue.empty()) {
    const std::vector<std::uint32_t> rows = queue.front();
    queue.pop_front();
    const std::uint64_t node = out.feature.size();
    const auto at = [&](std::uint32_t row, std::size_t f) {
      return data.values[row * data.columns + f];
    };
    out.samples.push_back(rows.size());
    std::vector<std::size_t> valid;
    for (std::size_t f = 0; f < data.columns; ++f) {
      bool same = true;
      for (const std::uint32_t r : rows) same = same && at(r, f) == at(rows[0], f);
      if (!same) valid.push_back(f);
    }
    bool pure = true;
    for (const std::uint32_t r : rows) pure = pure && data.labels[r] == data.labels[rows[0]];
    std::int32_t best_feature = -1;
    float best_cut = 0;
    double best = -INFINITY;
    for (std::uint32_t draw = 0; draw < k && !pure && !valid.empty(); ++draw) {
      const PhiloxBlock bits = NodeBits(seed, tree, node + 1, draw);
      const std::size_t f = valid[UniformBelow(bits.half(0), valid.size())];
      float low = INFINITY;
      float high = -INFINITY;
      for (const std::uint32_t r : rows) {
        low = std::min(low, at(r, f));
        high = std::max(high, at(r, f));
      }
      const float cut = PublishedCut(low, high, bits.word[2]);
      std::vector<std::int32_t> left(classes, 0);
      std::vector<std::int32_t> right(classes, 0);
      for (const std::uint32_t r : rows) ++(at(r, f) < cut ? left : right)[data.labels[r]];
      const double score = ProxyTerm(left.data(), classes) + ProxyTerm(right.data(), classes);
      if (score > best) {
        best = score;
        best_feature = static_cast<std::int32_t>(f);
        best_cut = cut;
      }
    }
    out.feature.push_back(best_feature);
    out.cut.push_back(best_cut);
    if (best_feature < 0) continue;
    std::vector<std::uint32_t> left;
    std::vector<std::uint32_t> right;
    for (const std::uint32_t r : rows) {
      (at(r, static_cast<std::size_t>(best_feature)) < best_cut ? left : right).push_back(r);
    }
    EXPECT_FALSE(left.empty());
    EXPECT_FALSE(right.empty());
    made += 2;
    queue.push_back(left);
    queue.push_back(right);
  }
  EXPECT_EQ(made, out.feature.size());
  return out;
}

//! The canonical tree's nodes in breadth-first order.
std::vector<TreeNode> BreadthFirst(const Tree& tree) {
  std::vector<TreeNode> out;
  std::deque<std::int32_t> queue{0};
  while (!queue.empty()) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(queue.front())];
    queue.pop_front();
    out.push_back(node);
    if (node.feature < 0) continue;
    queue.push_back(node.left);
    queue.push_back(node.right);
  }
  return out;
}

TEST(Report, GrowsWhatSampleListsGrow) {
  const LabelledRows data = MakeData(700, 9, 3, 1);
  const auto fitted =
      PublishedCpu({}, 2).fit(data.matrix(), data.labels, {.n_trees = 3, .seed = 4});
  for (std::uint32_t t = 0; t < 3; ++t) {
    const PublishedOracle oracle = Grow(data, 3, t, 4);
    const std::vector<TreeNode> nodes = BreadthFirst(fitted->host().trees[t]);
    ASSERT_EQ(nodes.size(), oracle.feature.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_EQ(nodes[i].feature, oracle.feature[i]);
      ASSERT_EQ(nodes[i].samples, oracle.samples[i]);
      if (nodes[i].feature < 0) continue;
      ASSERT_LT(nodes[i].threshold, static_cast<double>(oracle.cut[i]));
      ASSERT_EQ(std::nextafter(static_cast<float>(nodes[i].threshold), INFINITY), oracle.cut[i]);
    }
  }
}

TEST(Report, LearnsDistinctRowsByHeart) {
  LabelledRows data = MakeData(300, 6, 4, 2);
  for (std::size_t i = 0; i < 300; ++i) data.values[i * 6] = static_cast<float>(i);
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kBinomial, Sampling::kNormal}) {
    const auto fitted = PublishedCpu({sampling}, 2).fit(data.matrix(), data.labels, {.n_trees = 7});
    EXPECT_EQ(fitted->predict(data.values.data(), 300), data.labels);
  }
}

TEST(Report, DuplicateRowsWithTwoLabelsTakeTheMode) {
  const std::vector<float> x = {2, 2, 2, 5};
  const std::vector<std::uint32_t> y = {1, 1, 0, 2};
  const auto fitted = PublishedCpu({}, 1).fit({x.data(), 4, 1}, y, {.n_trees = 5});
  EXPECT_EQ(fitted->predict(x.data(), 4), (std::vector<std::uint32_t>{1, 1, 1, 2}));
}

TEST(Report, OneClassAndOneRow) {
  const std::vector<float> x = {1, 2};
  const std::vector<std::uint32_t> y = {0, 0};
  EXPECT_EQ(PublishedCpu({}, 1).fit({x.data(), 2, 1}, y, {.n_trees = 2})->host().NodeCount(), 2u);
  const std::vector<std::uint32_t> one = {0};
  EXPECT_EQ(PublishedCpu({}, 1).fit({x.data(), 1, 2}, one, {.n_trees = 1})->host().NodeCount(), 1u);
}

TEST(Report, StopsWhereToldTo) {
  const LabelledRows data = MakeData(700, 9, 3, 3);
  const auto fitted =
      PublishedCpu({Sampling::kUniform, 10}, 1).fit(data.matrix(), data.labels, {.n_trees = 2});
  EXPECT_EQ(fitted->parts.back().name, "stopped");
  EXPECT_EQ(fitted->parts.back().calls, 10u);
  EXPECT_LE(fitted->host().trees[0].nodes.size(), 21u);
}

TEST(Report, RefusesWhatItHasNot) {
  const LabelledRows data = MakeData(20, 4, 2, 4);
  PublishedCpu trainer;
  EXPECT_THROW(trainer.fit(data.matrix(), data.labels, {.max_depth = 3}), std::invalid_argument);
  EXPECT_THROW(trainer.fit(data.matrix(), data.labels, {.max_leaf_nodes = 3}),
               std::invalid_argument);
  EXPECT_THROW(trainer.fit(data.matrix(), data.labels, {.n_trees = 1025}), std::invalid_argument);
  EXPECT_THROW(trainer.fit(data.matrix(), data.labels, {.bootstrap = true}), std::invalid_argument);
  EXPECT_THROW(ParseSampling("gauss"), std::invalid_argument);
}

// 2^32 + 2 was cut to 2; a negative integer has no meaning.
TEST(Methods, RefuseIntegersWithoutAMeaning) {
  for (const auto& method : Registry<ForestTrainer>::Instance().Methods()) {
    for (const auto& parameter : method.parameters) {
      if (!std::holds_alternative<std::int64_t>(parameter.fallback)) continue;
      for (const std::int64_t value : {std::int64_t{4294967298}, std::int64_t{-3}}) {
        EXPECT_THROW(method.make({{parameter.name, value}}), std::invalid_argument)
            << method.name << ' ' << parameter.name;
      }
    }
  }
}

TEST(Report, MemoryIsTheReportsCount) {
  const auto bytes = CountMemory(60000, 784, 1024, 16000);
  EXPECT_EQ(bytes.at("X"), 188160000u);
  EXPECT_EQ(bytes.at("batch_pos"), 245760000u);
  EXPECT_EQ(bytes.at("trees"), 1024u * 6 * 16000 * 4);
}

TEST(PublishedCut, LeavesNeitherSideEmpty) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t bits = i < 2 ? 0xFFFFFFFFu * i : NodeBits(1, 1, 1, i).word[0];
    for (const float high : {1.0f, 1.0000001f, 3e38f}) {
      const float low = high == 3e38f ? -3e38f : 0.99999994f;
      const float cut = PublishedCut(low, high, bits);
      ASSERT_GT(cut, low);
      ASSERT_LE(cut, high);
    }
  }
}

//! Algorithm 2 has the law of sampling with replacement: each feature's count is Binomial(K, 1/f).
TEST(BinomialSampling, HasTheLawOfSamplingWithReplacement) {
  const int features = 6;
  const int draws = 10;
  const int rounds = 40000;
  std::vector<double> sum(features, 0);
  std::vector<double> squares(features, 0);
  for (int round = 0; round < rounds; ++round) {
    int left = draws;
    for (int i = 0; i < features; ++i) {
      const PhiloxBlock bits =
          NodeBits(5, 6, static_cast<std::uint64_t>(round), static_cast<std::uint32_t>(i));
      const int taken = BinomialDraw(left, 1.0 / (features - i), UniformDouble(bits.half(0)));
      left -= taken;
      sum[static_cast<std::size_t>(i)] += taken;
      squares[static_cast<std::size_t>(i)] += taken * taken;
    }
    ASSERT_EQ(left, 0);
  }
  const double mean = draws / 6.0;
  const double variance = draws * (1 / 6.0) * (5 / 6.0);
  for (std::size_t i = 0; i < features; ++i) {
    const double m = sum[i] / rounds;
    EXPECT_NEAR(m, mean, 5 * std::sqrt(variance / rounds));
    EXPECT_NEAR(squares[i] / rounds - m * m, variance, 0.03 * variance);
  }
}

}  // namespace
}  // namespace retable::extratrees::published
