#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/frontier/steps.hpp"
#include "algorithms/extratrees/splits/candidates.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

struct Data {
  std::vector<float> values;
  std::vector<std::uint32_t> labels;
  std::size_t columns = 0;
  FeatureMatrix matrix() const { return {values.data(), labels.size(), columns}; }
};

//! `distinct` real values a column; every fifth column constant; labels depend on two columns.
Data MakeData(std::size_t rows, std::size_t columns, std::uint32_t classes, std::uint32_t distinct,
              std::uint64_t seed) {
  Data data;
  data.columns = columns;
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint64_t sum = 0;
    for (std::size_t f = 0; f < columns; ++f) {
      const std::uint64_t k = UniformBelow(philox.Block(i, f).half(0), f % 5 == 4 ? 1 : distinct);
      if (f < 2) sum += k;
      data.values.push_back(0.37f * static_cast<float>(k) - 3.0f);
    }
    data.labels.push_back(static_cast<std::uint32_t>((sum * 4 / distinct) % classes));
  }
  return data;
}

// ---- the oracle: the rule of the header on plain floats, one node after the other, no codes, no
// class order, no bitmaps, scores by long double.

struct Oracle {
  const Data& data;
  const ForestOptions& options;
  std::uint32_t classes, tree;
  Tree out;

  std::vector<std::uint32_t> Counts(const std::vector<std::uint32_t>& rows) const {
    std::vector<std::uint32_t> counts(classes, 0);
    for (const std::uint32_t r : rows) ++counts[data.labels[r]];
    return counts;
  }
  static std::uint64_t Squares(const std::vector<std::uint32_t>& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t c : counts) sum += c * c;
    return sum;
  }
  float At(std::uint32_t row, std::uint32_t f) const {
    return data.values[std::size_t{row} * data.columns + f];
  }

  struct Best {
    long double score = 0;
    double cut = 0;
    std::int32_t feature = -1;
  };

  bool Try(const std::vector<std::uint32_t>& rows, std::uint32_t f, std::uint64_t bits,
           Best& best) const {
    float low = At(rows[0], f);
    float high = low;
    for (const std::uint32_t r : rows) {
      low = std::min(low, At(r, f));
      high = std::max(high, At(r, f));
    }
    if (high <= low + 1e-7f) return false;
    const double u = static_cast<double>(bits >> 11) / 9007199254740992.0;
    double cut =
        u * (static_cast<double>(high) - static_cast<double>(low)) + static_cast<double>(low);
    if (cut >= static_cast<double>(high)) cut = static_cast<double>(low);
    std::vector<std::uint32_t> left;
    std::vector<std::uint32_t> right;
    for (const std::uint32_t r : rows) {
      (static_cast<double>(At(r, f)) <= cut ? left : right).push_back(r);
    }
    const auto leaf = static_cast<std::size_t>(options.min_samples_leaf);
    if (left.size() < leaf || right.size() < leaf) return true;
    const long double score =
        static_cast<long double>(Squares(Counts(left))) / static_cast<long double>(left.size()) +
        static_cast<long double>(Squares(Counts(right))) / static_cast<long double>(right.size());
    if (score > best.score * (1 + 1e-15L)) best = {score, cut, static_cast<std::int32_t>(f)};
    return true;
  }

  Best Search(const std::vector<std::uint32_t>& rows, std::uint64_t path) const {
    const auto features = static_cast<std::uint32_t>(data.columns);
    const std::uint32_t k = ResolveMaxFeatures(options.max_features, features);
    Best best;
    if (options.constant_rule == ConstantRule::kPublished) {
      std::vector<std::uint32_t> valid;
      for (std::uint32_t f = 0; f < features; ++f) {
        Best unused;
        if (Try(rows, f, 0, unused)) valid.push_back(f);
      }
      for (std::uint32_t i = 0; i < k && !valid.empty(); ++i) {
        const PhiloxBlock bits = NodeBits(options.seed, tree, path, 0x80000000u | i);
        Try(rows, valid[UniformBelow(bits.half(0), valid.size())], bits.half(1), best);
      }
      return best;
    }
    std::vector<std::uint32_t> order(features);
    std::iota(order.begin(), order.end(), 0);
    std::uint32_t tried = 0;
    for (std::uint32_t i = 0; i < features; ++i) {
      const PhiloxBlock bits = NodeBits(options.seed, tree, path, i);
      std::swap(order[i], order[i + UniformBelow(bits.half(0), features - i)]);
      if (Try(rows, order[i], bits.half(1), best)) ++tried;
      const bool enough =
          options.constant_rule == ConstantRule::kGeurts ? tried >= k : i + 1 >= k && tried > 0;
      if (enough) break;
    }
    return best;
  }

  std::int32_t Grow(const std::vector<std::uint32_t>& rows, std::uint64_t path, int depth) {
    const std::vector<std::uint32_t> counts = Counts(rows);
    const auto at = static_cast<std::int32_t>(out.nodes.size());
    TreeNode node;
    node.samples = static_cast<std::uint32_t>(rows.size());
    const auto n = static_cast<double>(rows.size());
    node.impurity = 1.0 - static_cast<double>(Squares(counts)) / (n * n);
    node.weight = n;
    out.nodes.push_back(node);
    const bool stops = node.impurity == 0 ||
                       (options.max_depth > 0 && depth >= options.max_depth) ||
                       rows.size() < static_cast<std::size_t>(options.min_samples_split) ||
                       rows.size() < 2 * static_cast<std::size_t>(options.min_samples_leaf);
    const Best best = stops ? Best{} : Search(rows, path);
    if (best.feature < 0) {
      std::uint32_t value = kMixed | static_cast<std::uint32_t>(out.leaf_values.size() / classes);
      for (std::uint32_t c = 0; c < classes; ++c) {
        if (counts[c] == rows.size()) value = c;
      }
      if ((value & kMixed) != 0) {
        for (const std::uint32_t count : counts) out.leaf_values.push_back(count / n);
      }
      out.nodes[static_cast<std::size_t>(at)].value = value;
      return at;
    }
    std::vector<std::uint32_t> left;
    std::vector<std::uint32_t> right;
    for (const std::uint32_t r : rows) {
      const float x = At(r, static_cast<std::uint32_t>(best.feature));
      (static_cast<double>(x) <= best.cut ? left : right).push_back(r);
    }
    const std::int32_t l = Grow(left, ChildPath(path, false), depth + 1);
    const std::int32_t r = Grow(right, ChildPath(path, true), depth + 1);
    TreeNode& grown = out.nodes[static_cast<std::size_t>(at)];
    grown.feature = best.feature;
    grown.threshold = best.cut;
    grown.left = l;
    grown.right = r;
    grown.missing_left = left.size() > right.size();
    return at;
  }
};

//! The first tree that is not the oracle's, and how; empty where all are.
std::string Difference(const Data& data, const ForestOptions& options) {
  const auto fitted = FrontierCpu(2).fit(data.matrix(), data.labels, options);
  const Forest& forest = fitted->host();
  std::vector<std::uint32_t> rows(data.labels.size());
  std::iota(rows.begin(), rows.end(), 0);
  for (std::uint32_t t = 0; t < forest.trees.size(); ++t) {
    Oracle oracle{data, options, forest.classes, t, {}};
    oracle.Grow(rows, kRootPath, 0);
    if (forest.trees[t] == oracle.out) continue;
    return "tree " + std::to_string(t) + ": " + std::to_string(forest.trees[t].nodes.size()) +
           " nodes, the oracle has " + std::to_string(oracle.out.nodes.size());
  }
  return "";
}

void ExpectOracle(const Data& data, const ForestOptions& options) {
  EXPECT_EQ(Difference(data, options), "");
}

class AllRules : public testing::TestWithParam<ConstantRule> {};

TEST_P(AllRules, TreesEqualTheOracles) {
  ForestOptions options;
  options.n_trees = 3;
  options.seed = 17;
  options.constant_rule = GetParam();
  ExpectOracle(MakeData(300, 12, 3, 9, 1), options);
  ExpectOracle(MakeData(257, 40, 7, 200, 2), options);
  ExpectOracle(MakeData(400, 3, 2, 300, 3), options);    // values as they are
  ExpectOracle(MakeData(2500, 6, 2, 50, 7), options);    // nodes read by columns, in bytes
  ExpectOracle(MakeData(2500, 6, 2, 1500, 7), options);  // and in values
  options.max_features = 1;
  ExpectOracle(MakeData(200, 11, 3, 4, 4), options);  // columns that come out constant
  options.max_features = 11;
  ExpectOracle(MakeData(200, 11, 3, 4, 5), options);
}

TEST_P(AllRules, LimitsEqualTheOracles) {
  ForestOptions options;
  options.n_trees = 2;
  options.constant_rule = GetParam();
  const Data data = MakeData(300, 12, 3, 9, 6);
  options.max_depth = 3;
  ExpectOracle(data, options);
  options = {.n_trees = 2, .min_samples_leaf = 7, .constant_rule = GetParam()};
  ExpectOracle(data, options);
  options = {.n_trees = 2, .min_samples_split = 20, .constant_rule = GetParam()};
  ExpectOracle(data, options);
}

INSTANTIATE_TEST_SUITE_P(Rules, AllRules,
                         testing::Values(ConstantRule::kScikitLearn, ConstantRule::kGeurts,
                                         ConstantRule::kPublished));

//! The rows of these indices, and no others.
Data RowsOf(const Data& data, const std::vector<std::uint32_t>& rows) {
  Data some;
  some.columns = data.columns;
  for (const std::uint32_t r : rows) {
    some.labels.push_back(data.labels[r]);
    for (std::size_t f = 0; f < data.columns; ++f) {
      some.values.push_back(data.values[r * data.columns + f]);
    }
  }
  return some;
}

TEST(OracleForest, TinyTreesAreTheBruteForceSplitters) {
  std::mt19937_64 random(FreshSeed());
  const auto below = [&random](int n) { return static_cast<int>(random() % unsigned(n)); };
  OracleClock clock(0.5);
  while (clock.more() && !testing::Test::HasFailure()) {
    const int columns = 1 + below(5);
    const Data data = MakeData(1 + random() % 14, static_cast<std::size_t>(columns),
                               1 + unsigned(below(4)), 1 + unsigned(below(6)), random());
    ForestOptions options{.n_trees = 2,
                          .max_depth = below(4),
                          .min_samples_split = 2 + below(3),
                          .min_samples_leaf = 1 + below(3),
                          .max_features = below(columns + 1),
                          .constant_rule = static_cast<ConstantRule>(below(3)),
                          .seed = random()};
    if (Difference(data, options).empty()) continue;
    std::vector<std::uint32_t> rows(data.labels.size());
    std::iota(rows.begin(), rows.end(), 0);
    rows = Shrink(rows, [&](const std::vector<std::uint32_t>& some) {
      return !some.empty() && !Difference(RowsOf(data, some), options).empty();
    });
    const Data least = RowsOf(data, rows);
    ADD_FAILURE() << Difference(least, options) << "; rows " << testing::PrintToString(least.values)
                  << " of " << columns << ", classes " << testing::PrintToString(least.labels)
                  << ", seed " << options.seed << ", depth " << options.max_depth << ", split "
                  << options.min_samples_split << ", leaf " << options.min_samples_leaf
                  << ", features " << options.max_features << ", rule "
                  << static_cast<int>(options.constant_rule);
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

TEST(Frontier, OneClassIsOneLeaf) {
  const std::vector<float> x = {1, 2, 3};
  const std::vector<std::uint32_t> y = {0, 0, 0};
  const auto fitted = FrontierCpu(1).fit({x.data(), 3, 1}, y, {.n_trees = 2});
  EXPECT_EQ(fitted->host().NodeCount(), 2u);
  EXPECT_EQ(fitted->predict(x.data(), 3), y);
}

TEST(Frontier, OneRowIsOneLeaf) {
  const std::vector<float> x = {4, 5};
  const std::vector<std::uint32_t> y = {0};
  EXPECT_EQ(FrontierCpu(1).fit({x.data(), 1, 2}, y, {.n_trees = 1})->host().NodeCount(), 1u);
}

TEST(Frontier, ConstantFeaturesMakeAMixedLeaf) {
  const std::vector<float> x = {1, 1, 1, 1};
  const std::vector<std::uint32_t> y = {0, 1, 1, 2};
  for (const auto rule :
       {ConstantRule::kScikitLearn, ConstantRule::kGeurts, ConstantRule::kPublished}) {
    const auto fitted =
        FrontierCpu(1).fit({x.data(), 4, 1}, y, {.n_trees = 3, .constant_rule = rule});
    ASSERT_EQ(fitted->host().NodeCount(), 3u);
    double proba[3];
    fitted->predict_proba(x.data(), 1, proba);
    EXPECT_DOUBLE_EQ(proba[0], 0.25);
    EXPECT_DOUBLE_EQ(proba[1], 0.5);
    EXPECT_DOUBLE_EQ(proba[2], 0.25);
  }
}

TEST(Frontier, DuplicateRowsWithTwoLabelsShareALeaf) {
  const std::vector<float> x = {0, 5, 5, 9};
  const std::vector<std::uint32_t> y = {0, 1, 2, 0};
  const auto fitted = FrontierCpu(1).fit({x.data(), 4, 1}, y, {.n_trees = 5});
  double proba[3];
  fitted->predict_proba(x.data() + 1, 1, proba);
  EXPECT_DOUBLE_EQ(proba[1], 0.5);
  EXPECT_DOUBLE_EQ(proba[2], 0.5);
}

TEST(Frontier, RangeWithin1e7IsConstant) {
  const std::vector<float> x = {0.0f, 5e-8f, 1e-7f};
  const std::vector<std::uint32_t> y = {0, 1, 0};
  EXPECT_EQ(FrontierCpu(1).fit({x.data(), 3, 1}, y, {.n_trees = 1})->host().NodeCount(), 1u);
}

TEST(Frontier, ManyClasses) {
  const Data data = MakeData(3000, 6, 900, 2000, 8);
  ForestOptions options;
  options.n_trees = 2;
  ExpectOracle(data, options);
}

TEST(Frontier, TrainingRowsAreLearntByHeart) {
  const Data data = MakeData(500, 20, 4, 5000, 9);
  const auto fitted = FrontierCpu(2).fit(data.matrix(), data.labels, {.n_trees = 5});
  EXPECT_EQ(fitted->predict(data.values.data(), 500), data.labels);
}

TEST(Frontier, TreesDoNotDependOnHowManyOthersGrow) {
  const Data data = MakeData(400, 10, 3, 50, 10);
  const auto few = FrontierCpu(1).fit(data.matrix(), data.labels, {.n_trees = 2, .seed = 3});
  const auto many = FrontierCpu(2).fit(data.matrix(), data.labels, {.n_trees = 9, .seed = 3});
  EXPECT_TRUE(few->host().trees[1] == many->host().trees[1]);
  EXPECT_FALSE(many->host().trees[1] == many->host().trees[2]);
}

TEST(Frontier, BootstrapDrawsRows) {
  const Data data = MakeData(400, 10, 3, 50, 11);
  const auto fitted =
      FrontierCpu(2).fit(data.matrix(), data.labels, {.n_trees = 3, .bootstrap = true});
  EXPECT_EQ(fitted->host().trees[0].nodes[0].samples, 400u);
  EXPECT_FALSE(fitted->host().trees[0] == fitted->host().trees[1]);
}

TEST(Frontier, BadInputIsNamed) {
  const std::vector<std::uint32_t> y = {0, 1, 0};
  FrontierCpu trainer(1);
  const std::vector<float> inf = {1, INFINITY, 3};
  EXPECT_THROW(trainer.fit({inf.data(), 3, 1}, y, {}), std::invalid_argument);
  const std::vector<float> fine = {1, 2, 3};
  EXPECT_THROW(trainer.fit({fine.data(), 0, 1}, {}, {}), std::invalid_argument);
  EXPECT_THROW(trainer.fit({fine.data(), 2, 1}, y, {}), std::invalid_argument);
  EXPECT_THROW(trainer.fit({fine.data(), 3, 1}, y, {.n_trees = 0}), std::invalid_argument);
  EXPECT_THROW(trainer.fit({fine.data(), 3, 1}, y, {.max_features = 2}), std::invalid_argument);
  for (const int leaves : {-1, 1}) {
    EXPECT_THROW(trainer.fit({fine.data(), 3, 1}, y, {.max_leaf_nodes = leaves}),
                 std::invalid_argument);
  }
  EXPECT_THROW(trainer.fit({fine.data(), 3, 1}, y, {.min_impurity_decrease = NAN}),
               std::invalid_argument);
  const std::vector<std::uint32_t> wild = {0, 1, 70000};
  EXPECT_THROW(trainer.fit({fine.data(), 3, 1}, wild, {}), std::invalid_argument);
}

TEST(Encode, KeepsEveryValue) {
  const Data data = MakeData(2000, 3, 4, 200, 12);
  const EncodedMatrix m = Encode(data.matrix(), data.labels, 4);
  ASSERT_FALSE(m.are_values);
  const std::shared_ptr<std::uint8_t> columns = ColumnCodes(m);
  std::vector<std::uint32_t> next(m.class_start.begin(), m.class_start.end() - 1);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    const std::uint32_t at = next[data.labels[i]]++;
    for (std::size_t f = 0; f < 3; ++f) {
      const std::uint32_t code = m.line_codes.get()[std::size_t{at} * 3 + f];
      ASSERT_EQ(columns.get()[f * m.rows + at], code);
      ASSERT_EQ(m.values[m.table_start[f] + code], data.values[i * 3 + f]);
    }
  }
}

TEST(Encode, ValuesStandForThemselvesWhereAByteIsTooNarrow) {
  Data data = MakeData(3000, 3, 4, 900, 12);
  data.values[0] = -0.0f;
  const auto encode = [&data] { return Encode(data.matrix(), data.labels, 4); };
  const EncodedMatrix m = encode();
  ASSERT_TRUE(m.are_values);
  EXPECT_TRUE(m.plain);
  const std::shared_ptr<std::uint8_t> columns = ColumnCodes(m);
  std::vector<std::uint32_t> next(m.class_start.begin(), m.class_start.end() - 1);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    const std::uint32_t at = next[data.labels[i]]++;
    for (std::size_t f = 0; f < 3; ++f) {
      ASSERT_EQ(m.Lines<float>()[std::size_t{at} * 3 + f], data.values[i * 3 + f]);
      ASSERT_EQ(reinterpret_cast<float*>(columns.get())[f * m.rows + at], data.values[i * 3 + f]);
      ASSERT_FALSE(i == 0 && f == 0 && std::signbit(m.Lines<float>()[std::size_t{at} * 3]));
    }
  }
  // The last row is past where a column of many values is left.
  data.values[2999 * 3 + 1] = NAN;
  EXPECT_TRUE(encode().has_missing);
  EXPECT_FALSE(encode().plain);
  data.values[2999 * 3 + 1] = -INFINITY;
  EXPECT_THROW(encode(), std::invalid_argument);
  // No column of more than 256 values: bytes.
  EXPECT_FALSE(Encode(MakeData(3000, 3, 4, 256, 12).matrix(), data.labels, 4).are_values);
}

TEST(Forest, LeavesAreWhereEachRowWalks) {
  Data data = MakeData(700, 6, 3, 400, 13);
  for (std::size_t i = 0; i < data.values.size(); i += 7) data.values[i] = NAN;
  const auto fitted = FrontierCpu(1).fit(data.matrix(), data.labels, {.n_trees = 3});
  const Forest& forest = fitted->host();
  for (std::size_t t = 0; t < 3; ++t) {
    for (const std::size_t n : {0u, 1u, 31u, 32u, 33u, 700u}) {
      std::vector<std::uint32_t> leaves(n + 1, 77777);
      forest.Leaves(t, data.values.data(), n, leaves.data());
      EXPECT_EQ(leaves[n], 77777u);
      for (std::size_t i = 0; i < n; ++i) {
        std::int32_t at = 0;
        while (forest.trees[t].nodes[static_cast<std::size_t>(at)].feature >= 0) {
          const TreeNode& node = forest.trees[t].nodes[static_cast<std::size_t>(at)];
          const float x = data.values[i * 6 + static_cast<std::size_t>(node.feature)];
          const bool left =
              std::isnan(x) ? node.missing_left : static_cast<double>(x) <= node.threshold;
          at = left ? node.left : node.right;
        }
        ASSERT_EQ(leaves[i], static_cast<std::uint32_t>(at));
      }
    }
  }
  // Many rows walk in smaller nodes than one does.
  std::vector<double> all(700 * 3), one(3);
  forest.PredictProba(data.values.data(), 700, all.data());
  for (std::size_t i = 0; i < 700; ++i) {
    forest.PredictProba(data.values.data() + i * 6, 1, one.data());
    for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(all[i * 3 + c], one[c]);
  }
}

TEST(SplitRules, LargestFloatUpToIsTheNextOneBelow) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const double size = std::ldexp(1.0, static_cast<int>(i % 280) - 152);
    const double cut = size * (UniformDouble(NodeBits(1, 2, 3, std::uint32_t(i)).half(0)) - 0.5);
    const float found = LargestFloatUpTo(cut);
    ASSERT_LE(found, cut);
    ASSERT_GT(std::nextafter(found, infinity), cut);
  }
  for (const float exact : {0.0f, -0.0f, 1.0f, -1.0f, 1e-45f, -1e-45f, 3e38f, -3e38f}) {
    EXPECT_EQ(LargestFloatUpTo(exact), exact);
  }
  EXPECT_EQ(LargestFloatUpTo(-1e-60), -1e-45f);
  EXPECT_EQ(LargestFloatUpTo(1e-60), 0.0f);
  EXPECT_EQ(LargestFloatUpTo(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(LargestFloatUpTo(-1e300), -infinity);
  EXPECT_EQ(LargestFloatUpTo(HUGE_VAL), infinity);
}

TEST(SplitRules, OrderedBitsKeepTheOrderOfFloats) {
  const float top = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> ascending = {-top,  -9,   -1.5f,        -1, -least, 0,
                                        least, 0.5f, 1 + 0x1p-23f, 2,  5000,   top};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::uint32_t ordered = OrderedBits(ascending[i]);
    EXPECT_EQ(FromOrderedBits(ordered), ascending[i]);
    EXPECT_LT(ordered, 0xFFFFFFFFu) << "which stands for a missing value";
    if (i > 0) {
      EXPECT_LT(OrderedBits(ascending[i - 1]), ordered);
    }
  }
}

TEST(SplitRules, CutCodeIsTheLargestValueBelow) {
  const std::vector<float> values = {-9, -1, 0, 0.5f, 2, 100, 101, 5000};
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t bits = NodeBits(1, 2, 3, static_cast<std::uint32_t>(i)).half(0);
    const double cut = DrawCut(values[1], values[7], bits);
    ASSERT_GE(cut, -1.0);
    ASSERT_LT(cut, 5000.0);
    const std::uint32_t code = CutCode(values.data(), 1, 7, cut, bits);
    ASSERT_LE(static_cast<double>(values[code]), cut);
    ASSERT_GT(static_cast<double>(values[code + 1]), cut);
  }
}

TEST(SplitRules, QuotientsOrderScoresOfSmallNodes) {
  const Philox4x32 philox = Philox4x32::FromSeed(4);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    SplitScore score[2];
    for (std::uint64_t j = 0; j < 2; ++j) {
      const PhiloxBlock bits = philox.Block(i, j);
      const std::uint64_t n_left = 1 + UniformBelow(bits.half(0), kExactQuotientRows - 1);
      const std::uint64_t n_right = kExactQuotientRows - n_left;
      const std::uint64_t l = UniformBelow(bits.half(1), n_left + 1);
      score[j] = GiniScore(l * l + (n_left - l) * (n_left - l), n_right * n_right, n_left, n_right);
    }
    ASSERT_EQ(Better(score[0], score[1]), Quotient(score[0]) > Quotient(score[1]));
    ASSERT_EQ(Better(score[1], score[0]), Quotient(score[1]) > Quotient(score[0]));
  }
}

//! The chunked rule of the GPU against one draw after the other.
TEST(Candidates, ChunksChooseAsTheSequentialRuleDoes) {
  const std::uint32_t features = 100;
  for (const bool geurts : {false, true}) {
    for (const std::uint32_t k : {1u, 5u, 28u, 32u, 33u, 64u, 70u, 100u}) {
      for (std::uint32_t round = 0; round < 50; ++round) {
        std::vector<bool> varies(features);
        for (std::uint32_t i = 0; i < features; ++i) {
          const std::uint64_t bits = NodeBits(k, round, 9, i).half(0);
          varies[i] = UniformBelow(bits, round + 1) == 0;
        }
        std::set<std::uint32_t> expected;
        for (std::uint32_t i = 0; i < features; ++i) {
          if (varies[i]) expected.insert(i);
          if (geurts ? expected.size() >= k : i + 1 >= k && !expected.empty()) break;
        }
        std::set<std::uint32_t> chosen;
        for (std::uint32_t start = 0;;) {
          const std::uint32_t width = ChunkWidth(geurts, k, features, start);
          std::uint32_t mask = 0;
          for (std::uint32_t j = 0; j < width; ++j) mask |= (varies[start + j] ? 1u : 0u) << j;
          const auto seen = static_cast<std::uint32_t>(chosen.size());
          const std::uint32_t lanes = EvaluatedLanes(geurts, k, start, seen, mask);
          for (std::uint32_t j = 0; j < 32; ++j) {
            if ((lanes >> j) & 1u) chosen.insert(start + j);
          }
          start += width;
          const auto now = static_cast<std::uint32_t>(chosen.size());
          if (SearchIsOver(geurts, k, features, start, now)) break;
        }
        ASSERT_EQ(chosen, expected) << "k " << k << " round " << round;
      }
    }
  }
}

TEST(FrontierSteps, AreNamed) {
  EXPECT_FALSE(ParseFrontierSteps("frontier").class_sorted);
  EXPECT_TRUE(ParseFrontierSteps("columns").columns);
  EXPECT_THROW(ParseFrontierSteps("fast"), std::invalid_argument);
}

}  // namespace
}  // namespace retable::extratrees
