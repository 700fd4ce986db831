// The exact frontier on weighted classes, real targets and missing values, against an oracle on
// plain floats and long doubles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <string>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/encoding/target_sums.hpp"
#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/frontier/training_table_testing.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

struct Oracle {
  const TrainingTable& data;
  const ForestOptions& options;
  bool regression, weighted;
  std::uint32_t tree;
  long double total = 0;
  std::vector<TreeNode> nodes;
  std::vector<std::vector<double>> answers;  //!< class fractions or mean, a node
  std::vector<double> gains;                 //!< weighted impurity decrease of a node's split

  using Rows = std::vector<std::uint32_t>;
  double Weight(std::uint32_t r) const { return weighted ? data.weights[r] : 1.0; }
  float At(std::uint32_t r, std::uint32_t f) const { return data.x[r * data.columns + f]; }

  struct Stats {
    long double weight = 0, proxy = 0, impurity = 0;
    double class_squares = 0;
    double double_weight() const { return static_cast<double>(weight); }
    std::vector<double> answer;
  };
  Stats Of(const Rows& rows) const {
    Stats stats;
    long double sum = 0;
    std::vector<long double> counts(8, 0);
    for (const std::uint32_t r : rows) {
      stats.weight += Weight(r);
      sum += static_cast<long double>(Weight(r)) * (data.values[r] - 100.0L);
      counts[data.labels[r]] += Weight(r);
    }
    if (!regression) {
      for (const long double count : counts) {
        stats.proxy += count * count / stats.weight;
        stats.class_squares += static_cast<double>(count) * static_cast<double>(count);
        stats.answer.push_back(static_cast<double>(count / stats.weight));
      }
      stats.impurity = 1 - stats.proxy / stats.weight;
      return stats;
    }
    const long double mean = sum / stats.weight;
    stats.proxy = sum * mean;
    stats.answer = {static_cast<double>(mean + 100.0L)};
    for (const std::uint32_t r : rows) {
      const long double apart = data.values[r] - 100.0L - mean;
      stats.impurity += Weight(r) * apart * apart / stats.weight;
    }
    return stats;
  }
  bool Pure(const Rows& rows) const {
    for (const std::uint32_t r : rows) {
      if (regression ? data.values[r] != data.values[rows[0]]
                     : data.labels[r] != data.labels[rows[0]]) {
        return false;
      }
    }
    return true;
  }

  struct Best {
    bool found = false;
    long double score = 0, gain = 0;
    double cut = 0;
    std::int32_t feature = -1;
    bool missing_left = false;
    Rows left, right;
  };

  bool Try(const Rows& rows, std::uint32_t f, std::uint64_t bits, Best& best) const {
    float low = INFINITY;
    float high = -INFINITY;
    std::size_t missing = 0;
    for (const std::uint32_t r : rows) {
      const float x = At(r, f);
      missing += std::isnan(x) ? 1 : 0;
      low = std::fmin(low, x);
      high = std::fmax(high, x);
    }
    if (missing == rows.size() || (missing == 0 && high <= low + 1e-7f)) return false;
    Best mine;
    mine.found = true;
    mine.feature = static_cast<std::int32_t>(f);
    const double u = static_cast<double>(bits >> 11) / 9007199254740992.0;
    mine.cut =
        u * (static_cast<double>(high) - static_cast<double>(low)) + static_cast<double>(low);
    if (mine.cut >= static_cast<double>(high)) mine.cut = static_cast<double>(low);
    mine.missing_left = missing > 0 && (bits & 1) != 0;
    for (const std::uint32_t r : rows) {
      const float x = At(r, f);
      const bool left = std::isnan(x) ? mine.missing_left : static_cast<double>(x) <= mine.cut;
      (left ? mine.left : mine.right).push_back(r);
    }
    if (missing == 0) mine.missing_left = mine.left.size() > mine.right.size();
    const auto leaf = static_cast<std::size_t>(options.min_samples_leaf);
    if (mine.left.size() < leaf || mine.right.size() < leaf) return true;
    // Classes often tie. Whole counts are compared exactly: two scores of so few rows are equal or
    // further apart than the margin. Other counts are compared as ClassScore rounds them. Targets
    // tie only where the sides are the same.
    const Stats l = Of(mine.left);
    const Stats r = Of(mine.right);
    const long double least = options.min_weight_fraction_leaf * total;
    if (l.weight < least || r.weight < least) return true;
    const long double rest = Of(rows).proxy;
    mine.gain = l.proxy + r.proxy - rest;
    mine.score = regression
                     ? mine.gain
                     : l.class_squares / l.double_weight() + r.class_squares / r.double_weight();
    const bool rounded = !regression && (weighted || data.HasHoles());
    const long double margin = rounded ? 0 : 1e-12L * std::abs(best.score);
    if (!best.found || mine.score > best.score + margin) best = std::move(mine);
    return true;
  }

  Best Search(const Rows& rows, std::uint64_t path) const {
    const auto features = static_cast<std::uint32_t>(data.columns);
    const std::uint32_t k = ResolveMaxFeatures(options.max_features, features, regression);
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

  //! Classes often tie, so that their gain has to be rounded as the trainer rounds it.
  double Gain(const Stats& stats, const Best& best) const {
    const auto exact = static_cast<double>(best.gain / total);
    if (regression) return exact;
    double gain = (static_cast<double>(best.score) - stats.class_squares / stats.double_weight()) /
                  static_cast<double>(total);
    if (!weighted && !data.HasHoles()) {
      const auto squares = [&](const Rows& rows) {
        return static_cast<std::uint64_t>(Of(rows).class_squares);
      };
      gain = ImpurityDecrease(static_cast<std::uint64_t>(stats.class_squares),
                              best.left.size() + best.right.size(), squares(best.left),
                              best.left.size(), squares(best.right), data.labels.size());
    }
    EXPECT_NEAR(gain, exact, 1e-12);
    return gain;
  }

  std::int32_t Grow(const Rows& rows, std::uint64_t path, int depth) {
    const Stats stats = Of(rows);
    if (depth == 0) total = stats.weight;
    const auto at = static_cast<std::int32_t>(nodes.size());
    TreeNode node;
    node.samples = static_cast<std::uint32_t>(rows.size());
    node.weight = static_cast<double>(stats.weight);
    node.impurity = static_cast<double>(stats.impurity);
    nodes.push_back(node);
    answers.push_back(stats.answer);
    gains.push_back(0);
    const bool stops = Pure(rows) || (options.max_depth > 0 && depth >= options.max_depth) ||
                       rows.size() < static_cast<std::size_t>(options.min_samples_split) ||
                       rows.size() < 2 * static_cast<std::size_t>(options.min_samples_leaf);
    const Best best = stops ? Best{} : Search(rows, path);
    // A split that gains nothing is taken where no gain is asked for, though its sums may round to
    // less than nothing.
    const double least = options.min_impurity_decrease;
    if (!best.found || (least > 0 && static_cast<double>(best.gain / total) < least)) return at;
    const std::int32_t l = Grow(best.left, ChildPath(path, false), depth + 1);
    const std::int32_t r = Grow(best.right, ChildPath(path, true), depth + 1);
    TreeNode& grown = nodes[static_cast<std::size_t>(at)];
    grown.feature = best.feature;
    grown.threshold = best.cut;
    grown.left = l;
    grown.right = r;
    grown.missing_left = best.missing_left;
    gains[static_cast<std::size_t>(at)] = Gain(stats, best);
    return at;
  }

  //! Copies the nodes below `from` that remain when only those in `split` are split.
  std::int32_t CopyTop(const std::vector<bool>& split, std::size_t from, Oracle& to) const {
    const auto at = static_cast<std::int32_t>(to.nodes.size());
    to.nodes.push_back(nodes[from]);
    to.answers.push_back(answers[from]);
    TreeNode leaf;
    leaf.samples = nodes[from].samples;
    leaf.weight = nodes[from].weight;
    leaf.impurity = nodes[from].impurity;
    if (!split[from]) {
      to.nodes.back() = leaf;
      return at;
    }
    const std::int32_t left = CopyTop(split, static_cast<std::size_t>(nodes[from].left), to);
    const std::int32_t right = CopyTop(split, static_cast<std::size_t>(nodes[from].right), to);
    to.nodes[static_cast<std::size_t>(at)].left = left;
    to.nodes[static_cast<std::size_t>(at)].right = right;
    return at;
  }

  //! The top of the whole tree that best-first growth makes: of all open nodes, looked through one
  //! by one in the order of their making, the first that gains most.
  Oracle BestFirst() const {
    std::vector<bool> split(nodes.size());
    std::vector<std::size_t> open{0};
    for (int leaves = 1; leaves < options.max_leaf_nodes; ++leaves) {
      std::erase_if(open, [&](std::size_t i) { return nodes[i].feature < 0; });
      if (open.empty()) break;
      const auto next =
          std::max_element(open.begin(), open.end(),
                           [&](std::size_t i, std::size_t j) { return gains[i] < gains[j]; });
      const TreeNode& node = nodes[*next];
      split[*next] = true;
      open.erase(next);
      open.push_back(static_cast<std::size_t>(node.left));
      open.push_back(static_cast<std::size_t>(node.right));
    }
    Oracle top{data, options, regression, weighted, tree, total, {}, {}, {}};
    CopyTop(split, 0, top);
    return top;
  }
};

void ExpectOracle(const TrainingTable& data, bool regression, bool weighted,
                  const ForestOptions& options) {
  SCOPED_TRACE(std::string(regression ? "regression" : "classes") + (weighted ? ", weighted" : ""));
  const auto fitted = FrontierCpu(2).fit(data.matrix(), data.Given(regression, weighted), options);
  const Forest& forest = fitted->host();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < data.labels.size(); ++i) {
    if (!weighted || data.weights[i] > 0) rows.push_back(i);
  }
  for (std::uint32_t t = 0; t < forest.trees.size(); ++t) {
    Oracle whole{data, options, regression, weighted, t, 0, {}, {}, {}};
    whole.Grow(rows, kRootPath, 0);
    const Tree& tree = forest.trees[t];
    const Oracle oracle = options.max_leaf_nodes > 0 ? whole.BestFirst() : whole;
    ASSERT_EQ(tree.nodes.size(), oracle.nodes.size());
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& ours = tree.nodes[i];
      const TreeNode& theirs = oracle.nodes[i];
      ASSERT_EQ(ours.feature, theirs.feature);
      ASSERT_EQ(ours.threshold, theirs.threshold);
      ASSERT_EQ(ours.left, theirs.left);
      ASSERT_EQ(ours.right, theirs.right);
      ASSERT_EQ(ours.samples, theirs.samples);
      ASSERT_EQ(ours.missing_left, theirs.missing_left);
      ASSERT_DOUBLE_EQ(ours.weight, theirs.weight);
      ASSERT_NEAR(ours.impurity, theirs.impurity,
                  1e-9 * std::max(1.0, theirs.impurity) + (regression ? 1e-6 : 0.0));
      if (ours.feature >= 0) continue;
      for (std::uint32_t c = 0; c < forest.classes; ++c) {
        ASSERT_NEAR(tree.LeafValue(ours, c, forest.classes), oracle.answers[i][c],
                    1e-12 * std::max(1.0, oracle.answers[i][c]));
      }
    }
  }
}

TEST(OracleForest, TinyTreesOfAnyTargetsAreTheBruteForceSplitters) {
  std::mt19937_64 random(FreshSeed());
  const auto below = [&random](int n) { return static_cast<int>(random() % unsigned(n)); };
  OracleClock clock(0.5);
  while (clock.more() && !testing::Test::HasFailure()) {
    const int columns = 1 + below(5);
    const std::uint64_t seed = random();
    const auto rows = static_cast<std::size_t>(1 + below(14));
    TrainingTable data =
        MakeTrainingTable(rows, static_cast<std::size_t>(columns), 1 + unsigned(below(4)),
                          1 + unsigned(below(6)), below(2) == 0, seed);
    data.weights[0] = 1;  // some row has to weigh something
    const ForestOptions options{
        .n_trees = 2,
        .max_depth = below(4),
        .min_samples_split = 2 + below(3),
        .min_samples_leaf = 1 + below(3),
        .max_features = below(columns + 1),
        .max_leaf_nodes = below(3) == 0 ? 0 : 2 + below(6),
        // No sum of weights is that share of another.
        .min_weight_fraction_leaf = below(3) == 0 ? 0.00371 + 0.01 * below(45) : 0.0,
        .min_impurity_decrease = below(3) == 0 ? 1e-3 : 0.0,
        .constant_rule = static_cast<ConstantRule>(below(3)),
        .seed = random()};
    SCOPED_TRACE("rows " + testing::PrintToString(data.x) + " of " + std::to_string(columns) +
                 ", classes " + testing::PrintToString(data.labels) + ", values " +
                 testing::PrintToString(data.values) + ", weights " +
                 testing::PrintToString(data.weights) + ", leaves " +
                 std::to_string(options.max_leaf_nodes) + ", share " +
                 std::to_string(options.min_weight_fraction_leaf) + ", seed " +
                 std::to_string(options.seed));
    ExpectOracle(data, below(2) == 0, below(2) == 0, options);
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

class AllTargets : public testing::TestWithParam<ConstantRule> {};

TEST_P(AllTargets, TreesEqualTheOracles) {
  for (const bool regression : {false, true}) {
    for (const bool weighted : {false, true}) {
      for (const bool holes : {false, true}) {
        ForestOptions options{.n_trees = 2, .constant_rule = GetParam(), .seed = 21};
        ExpectOracle(MakeTrainingTable(220, 11, 4, 7, holes, 1), regression, weighted, options);
        options.max_features = 3;
        ExpectOracle(MakeTrainingTable(250, 38, 5, 240, holes, 2), regression, weighted, options);
        options.min_samples_leaf = 3;
        options.min_samples_split = 9;
        options.max_depth = 6;
        options.min_impurity_decrease = 1e-3;
        ExpectOracle(MakeTrainingTable(330, 7, 3, 600, holes, 3), regression, weighted, options);
      }
    }
  }
}

TEST_P(AllTargets, TheBestOpenNodeIsSplitFirst) {
  for (const bool regression : {false, true}) {
    for (const bool weighted : {false, true}) {
      for (const bool holes : {false, true}) {
        ForestOptions options{.n_trees = 2, .constant_rule = GetParam(), .seed = 22};
        for (const int leaves : {2, 3, 10, 25}) {
          options.max_leaf_nodes = leaves;
          ExpectOracle(MakeTrainingTable(220, 11, 4, 7, holes, 1), regression, weighted, options);
          ExpectOracle(MakeTrainingTable(330, 7, 3, 600, holes, 3), regression, weighted, options);
        }
        options.max_depth = 4;
        options.min_samples_leaf = 5;
        options.min_impurity_decrease = 1e-3;
        ExpectOracle(MakeTrainingTable(330, 7, 3, 600, holes, 3), regression, weighted, options);
      }
    }
  }
}

TEST_P(AllTargets, ALimitThatIsNotReachedChangesNothing) {
  for (const bool bootstrap : {false, true}) {
    for (const bool holes : {false, true}) {
      const TrainingTable data = MakeTrainingTable(300, 9, 4, 400, holes, 4);
      for (const bool regression : {false, true}) {
        ForestOptions options{
            .n_trees = 3, .bootstrap = bootstrap, .constant_rule = GetParam(), .seed = 23};
        const Targets targets = data.Given(regression, holes);
        const Forest whole = FrontierCpu(2).fit(data.matrix(), targets, options)->host();
        options.max_leaf_nodes = 300;
        const Forest limited = FrontierCpu(2).fit(data.matrix(), targets, options)->host();
        EXPECT_TRUE(whole.trees == limited.trees) << regression << holes << bootstrap;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, AllTargets,
                         testing::Values(ConstantRule::kScikitLearn, ConstantRule::kGeurts,
                                         ConstantRule::kPublished));

TEST(Targets, AShareOfRowsThatWeighTheSameIsANumberOfThem) {
  const TrainingTable data = MakeTrainingTable(300, 7, 4, 60, false, 21);
  for (const bool regression : {false, true}) {
    const Targets targets = data.Given(regression, false);
    ForestOptions options{.n_trees = 3, .min_weight_fraction_leaf = 0.05, .seed = 5};
    const Forest by_share = FrontierCpu(2).fit(data.matrix(), targets, options)->host();
    options.min_weight_fraction_leaf = 0;
    options.min_samples_leaf = 15;
    const Forest by_rows = FrontierCpu(2).fit(data.matrix(), targets, options)->host();
    EXPECT_TRUE(by_share.trees == by_rows.trees) << regression;
    EXPECT_GT(by_share.trees[0].nodes.size(), 1u);
  }
  ForestOptions wrong{.min_weight_fraction_leaf = 0.6};
  EXPECT_THROW(FrontierCpu(1).fit(data.matrix(), data.Given(true, false), wrong),
               std::invalid_argument);
}

TEST(Targets, WeightsAreRepetitions) {
  // Weights 2 and rows given twice: the same cuts, so the same tree but for the counts of samples.
  TrainingTable once = MakeTrainingTable(120, 6, 3, 50, false, 5);
  TrainingTable twice = once;
  twice.x.insert(twice.x.end(), once.x.begin(), once.x.end());
  twice.values.insert(twice.values.end(), once.values.begin(), once.values.end());
  twice.labels.insert(twice.labels.end(), once.labels.begin(), once.labels.end());
  const std::vector<double> two(120, 2.0);
  const auto a = FrontierCpu(1).fit(once.matrix(), Targets::Regression(once.values, two), {});
  const auto b = FrontierCpu(1).fit(twice.matrix(), Targets::Regression(twice.values), {});
  ASSERT_EQ(a->host().NodeCount(), b->host().NodeCount());
  for (std::size_t i = 0; i < a->host().trees[0].nodes.size(); ++i) {
    const TreeNode& left = a->host().trees[0].nodes[i];
    const TreeNode& right = b->host().trees[0].nodes[i];
    EXPECT_EQ(left.threshold, right.threshold);
    EXPECT_EQ(left.weight, right.weight);
    EXPECT_EQ(2 * left.samples, right.samples);
  }
}

TEST(Targets, RegressionLearnsItsRowsByHeart) {
  const TrainingTable data = MakeTrainingTable(300, 5, 3, 100000, false, 6);
  const auto fitted = FrontierCpu(2).fit(data.matrix(), Targets::Regression(data.values), {});
  std::vector<double> answers(300);
  fitted->predict_proba(data.x.data(), 300, answers.data());
  for (std::size_t i = 0; i < 300; ++i) EXPECT_NEAR(answers[i], data.values[i], 1e-6);
  EXPECT_THROW(fitted->predict(data.x.data(), 300), std::invalid_argument);
}

TEST(Targets, AnOffsetAndAScaleChangeNothing) {
  const TrainingTable data = MakeTrainingTable(200, 5, 3, 60, false, 7);
  const auto grow = [&](double scale, double offset) {
    std::vector<double> values;
    for (const double y : data.values) values.push_back(scale * std::round(64 * y) + offset);
    return FrontierCpu(1)
        .fit(data.matrix(), Targets::Regression(values), {.n_trees = 2})
        ->host()
        .trees[1];
  };
  const Tree plain = grow(1, 0);
  for (const auto& [scale, offset] : {std::pair{1.0, 1e9}, {0x1p-300, 0.0}, {0x1p300, 0.0}}) {
    const Tree other = grow(scale, offset);
    ASSERT_EQ(plain.nodes.size(), other.nodes.size());
    for (std::size_t i = 0; i < plain.nodes.size(); ++i) {
      EXPECT_EQ(plain.nodes[i].threshold, other.nodes[i].threshold);
    }
  }
}

TEST(Targets, OfEqualGainsTheFirstNodeIsSplit) {
  const std::vector<float> x = {0, 1, 1000, 1001};
  const std::vector<std::uint32_t> y = {0, 1, 0, 1};
  const auto fitted = FrontierCpu(1).fit({x.data(), 4, 1}, y, {.n_trees = 20, .max_leaf_nodes = 3});
  int halves = 0;
  for (const Tree& tree : fitted->host().trees) {
    ASSERT_EQ(tree.nodes.size(), 5u);
    if (tree.nodes[static_cast<std::size_t>(tree.nodes[0].left)].samples != 2) continue;
    ++halves;
    EXPECT_EQ(tree.nodes[0].right, 4);  // the left half took the second split
  }
  EXPECT_GT(halves, 15);
}

TEST(Targets, EqualTargetsAreOneLeaf) {
  const TrainingTable data = MakeTrainingTable(50, 3, 3, 60, true, 8);
  const std::vector<double> same(50, 0.1);
  const auto fitted = FrontierCpu(1).fit(data.matrix(), Targets::Regression(same), {.n_trees = 3});
  EXPECT_EQ(fitted->host().NodeCount(), 3u);
  EXPECT_EQ(fitted->host().trees[0].leaf_values[0], 0.1);
  EXPECT_EQ(fitted->host().trees[0].nodes[0].impurity, 0.0);
}

TEST(Targets, AllMissingIsConstant) {
  const std::vector<float> x = {NAN, NAN, NAN};
  const std::vector<std::uint32_t> y = {0, 1, 0};
  EXPECT_EQ(FrontierCpu(1).fit({x.data(), 3, 1}, y, {.n_trees = 1})->host().NodeCount(), 1u);
  const std::vector<float> some = {NAN, 5, NAN};  // one side drawn: missing | 5, or no cut
  const auto fitted = FrontierCpu(1).fit({some.data(), 3, 1}, y, {.n_trees = 40});
  std::size_t split = 0;
  for (const Tree& tree : fitted->host().trees) {
    if (tree.nodes.size() == 1) continue;
    ++split;
    EXPECT_FALSE(tree.nodes[0].missing_left);
    EXPECT_EQ(tree.nodes[0].threshold, 5);
  }
  EXPECT_GT(split, 8u);
  EXPECT_LT(split, 32u);
}

TEST(Targets, BootstrapDrawsByWeight) {
  const TrainingTable data = MakeTrainingTable(400, 6, 3, 50, false, 9);
  std::vector<double> weights(400, 0.0);
  for (std::size_t i = 0; i < 400; i += 4) weights[i] = i < 200 ? 3.0 : 1.0;
  const auto fitted = FrontierCpu(1).fit(data.matrix(), Targets::Regression(data.values, weights),
                                         {.n_trees = 20, .bootstrap = true});
  for (const Tree& tree : fitted->host().trees) {
    EXPECT_EQ(tree.nodes[0].samples, 100u);  // as many draws as rows that weigh something
    EXPECT_EQ(tree.nodes[0].weight, 100.0);
  }
  EXPECT_FALSE(fitted->host().trees[0] == fitted->host().trees[1]);
  // DrawRow's law: the first half weighs three times the second.
  std::vector<std::int64_t> up_to;
  for (std::int64_t i = 0; i < 100; ++i)
    up_to.push_back((up_to.empty() ? 0 : up_to.back()) + (i < 50 ? 3 : 1));
  int early = 0;
  for (std::uint32_t i = 0; i < 4000; ++i) early += DrawRow(1, 2, i, 100, up_to.data()) < 50;
  EXPECT_NEAR(early / 4000.0, 0.75, 0.03);
}

// One far target, drawn hundreds of times among few: sums stay within 64 bits.
TEST(Targets, ARowThatIsDrawnOftenDoesNotOverflow) {
  std::vector<float> x;
  std::vector<double> values(100, 0.0), weights(100, 1e-4);
  for (int i = 0; i < 100; ++i) x.push_back(static_cast<float>(i));
  values[50] = 1000;
  weights[50] = 1;
  const ForestOptions options{.n_trees = 2000, .min_samples_leaf = 60, .bootstrap = true};
  for (const bool weighted : {false, true}) {
    Targets targets = Targets::Regression(values);
    if (weighted) targets.weights = weights;
    const auto fitted = FrontierCpu(1).fit({x.data(), 100, 1}, targets, options);
    for (const Tree& tree : fitted->host().trees) {
      for (const TreeNode& node : tree.nodes) {
        ASSERT_GE(node.impurity, 0.0);
        ASSERT_LE(node.impurity, 250001.0);
      }
      for (const double value : tree.leaf_values) {
        ASSERT_GE(value, 0.0);
        ASSERT_LE(value, 1000.0);
        ASSERT_NEAR(value, std::round(value / 10) * 10, 1e-9) << "100 rows, some of 1000";
      }
    }
  }
}

TEST(Targets, ARowThatWeighsNothingDoesNotCoarsenPredictions) {
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<double> values = {1.5, 2.5, 3.5, 1e20}, weights = {1, 1, 1, 0};
  const auto fitted =
      FrontierCpu(1).fit({x.data(), 4, 1}, Targets::Regression(values, weights), {.n_trees = 10});
  std::vector<double> answers(4);
  fitted->host().PredictProba(x.data(), 4, answers.data());
  EXPECT_EQ(answers, (std::vector<double>{1.5, 2.5, 3.5, 3.5}));
}

// Weights are held to a share of 2^-53 or so of all: as the sums see them, so the means do.
TEST(Targets, TheMeanOfRowsThatWeighLittleLiesAmongThem) {
  const std::vector<float> x = {0, 0, 0, 0, 0, 1, 1};
  const std::vector<double> values = {10, 11, 12, 13, 14, 0, 1};
  for (const double little : {1e-12, 1e-15, 3e-16, 1e-20}) {
    const std::vector<double> weights = {little, little, little, little, little, 1, 1};
    const auto fitted =
        FrontierCpu(1).fit({x.data(), 7, 1}, Targets::Regression(values, weights), {.n_trees = 10});
    double answer = 0;
    fitted->host().PredictProba(x.data(), 1, &answer);
    EXPECT_NEAR(answer, 12, little > 1e-13 ? 1e-5 : 0.05) << little;
  }
}

TEST(Targets, BadOnesAreNamed) {
  const std::vector<float> x = {1, 2, 3};
  const std::vector<std::uint32_t> y = {0, 1, 0};
  FrontierCpu trainer(1);
  const auto fit = [&](const Targets& targets) { trainer.fit({x.data(), 3, 1}, targets, {}); };
  const std::vector<double> nan = {1, NAN, 2};
  const std::vector<double> fine = {1, 2, 3};
  const std::vector<double> negative = {1, -1, 1};
  const std::vector<double> zero = {0, 0, 0};
  const std::vector<double> few = {1, 1};
  EXPECT_THROW(fit(Targets::Regression(nan)), std::invalid_argument);
  EXPECT_THROW(fit(Targets(y, negative)), std::invalid_argument);
  EXPECT_THROW(fit(Targets(y, zero)), std::invalid_argument);
  EXPECT_THROW(fit(Targets(y, few)), std::invalid_argument);
  EXPECT_THROW(fit(Targets::Regression(fine, nan)), std::invalid_argument);
  const std::vector<double> huge = {1e200, 0, -1e200};
  const std::vector<double> overflowing = {1.7e308, 1.7e308, -1};
  const std::vector<double> minute = {1e-300, 0, 2e-300};
  EXPECT_THROW(fit(Targets::Regression(huge)), std::invalid_argument);
  EXPECT_THROW(fit(Targets::Regression(overflowing)), std::invalid_argument);
  EXPECT_THROW(fit(Targets::Regression(minute)), std::invalid_argument);
  EXPECT_THROW(fit(Targets(y, minute)), std::invalid_argument);
  try {
    fit(Targets::Regression(minute));
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("lie up to 1e-300 from"), std::string::npos)
        << error.what();
  }
  // Either alone is held; the squares of both together are beyond what doubles hold.
  const std::vector<double> far = {1e119, 0, -1e119}, heavy = {1e88, 1e88, 1e88};
  const std::vector<double> near = {1e-110, 0, -1e-110}, light = {1e-80, 1e-80, 1e-80};
  const std::vector<double> farther = {1e300, 0, -1e300};
  EXPECT_THROW(fit(Targets::Regression(farther, heavy)), std::invalid_argument);
  EXPECT_NO_THROW(fit(Targets::Regression(far)));
  EXPECT_NO_THROW(fit(Targets::Regression(near)));
  EXPECT_NO_THROW(fit(Targets::Regression(far, light)));
  EXPECT_THROW(fit(Targets::Regression(far, heavy)), std::invalid_argument);
  EXPECT_THROW(fit(Targets::Regression(near, light)), std::invalid_argument);
  const auto report = Registry<ForestTrainer>::Instance().Make("report", Device::kCpu, {});
  EXPECT_THROW(report->fit({x.data(), 3, 1}, Targets::Regression(fine), {}), std::invalid_argument);
  const std::vector<float> holes = {1, NAN, 3};
  EXPECT_THROW(report->fit({holes.data(), 3, 1}, y, {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::extratrees
