// Forests of nasty data, saved and read again: they answer as the trainer's do, and as plain walks
// from root to leaf; and their nodes hold the rows that reach them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/model/json.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

using Random = std::mt19937_64;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Data {
  std::size_t rows = 0, columns = 0;
  std::vector<float> x;
  std::vector<std::uint32_t> labels;
  std::vector<double> values, weights;
  ForestOptions options;

  FeatureMatrix matrix() const { return {x.data(), rows, columns}; }
  Targets targets(bool regression) const {
    return regression ? Targets::Regression(values, weights) : Targets(labels, weights);
  }
};

struct Kind {
  const char* name;
  std::size_t rows, columns;
  std::function<void(Data&, Random&)> spoil;
};

double Uniform(Random& random) {
  return std::uniform_real_distribution<double>()(random);
}

void Each(Data& data, const std::function<float()>& value) {
  std::generate(data.x.begin(), data.x.end(), value);
}

// Declared table: the kinds.
const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"plain", 40, 4, [](Data&, Random&) {}},
      {"one row", 1, 3, [](Data&, Random&) {}},
      {"one class", 20, 3, [](Data& d, Random&) { d.labels.assign(d.rows, 0); }},
      {"one class of many", 20, 3, [](Data& d, Random&) { d.labels.assign(d.rows, 300); }},
      {"a constant column", 30, 3,
       [](Data& d, Random&) {
         for (std::size_t i = 0; i < d.rows; ++i) d.x[3 * i] = 7;
       }},
      {"constant columns", 30, 3, [](Data& d, Random&) { Each(d, [] { return -2.5f; }); }},
      {"a column of missing values", 30, 3,
       [](Data& d, Random&) {
         for (std::size_t i = 0; i < d.rows; ++i) d.x[3 * i + 1] = kNan;
       }},
      {"missing values", 40, 3,
       [](Data& d, Random& random) {
         for (float& x : d.x) x = random() % 2 == 0 ? kNan : x;
       }},
      {"nothing but missing values", 20, 2, [](Data& d, Random&) { Each(d, [] { return kNan; }); }},
      {"duplicates", 40, 2,
       [](Data& d, Random&) {
         for (std::size_t i = 2; i < d.x.size(); ++i) d.x[i] = d.x[i % 2];
       }},
      {"few values", 60, 3,
       [](Data& d, Random& random) { Each(d, [&] { return static_cast<float>(random() % 3); }); }},
      {"neighbouring floats", 40, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return std::nextafter(1e6f, random() % 2 == 0 ? 0.0f : 1e9f); });
       }},
      {"ranges near 1e-7", 40, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return static_cast<float>(random() % 4) * 0.7e-7f; });
       }},
      {"denormals", 40, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return static_cast<float>(random() % 9) * 1e-45f; });
       }},
      {"signed zeros", 40, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return std::array<float, 4>{0.0f, -0.0f, 1.0f, -1.0f}[random() % 4]; });
       }},
      {"the largest floats", 40, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return static_cast<float>((Uniform(random) - 0.5) * 6.8e38); });
       }},
      {"integers beyond 2^24", 50, 2,
       [](Data& d, Random& random) {
         Each(d, [&] { return static_cast<float>(1600000000 + random() % 100000); });
       }},
      {"levels", 60, 3,
       [](Data& d, Random& random) { Each(d, [&] { return static_cast<float>(random() % 20); }); }},
      {"a class a row", 50, 3,
       [](Data& d, Random&) {
         for (std::size_t i = 0; i < d.rows; ++i) d.labels[i] = static_cast<std::uint32_t>(i);
       }},
      {"one row of another class", 60, 2,
       [](Data& d, Random&) {
         d.labels.assign(d.rows, 0);
         d.labels.back() = 1;
       }},
      {"more columns than rows", 6, 50, [](Data&, Random&) {}},
      {"large targets", 40, 3,
       [](Data& d, Random& random) {
         for (double& y : d.values) y = 1e15 + 1e3 * Uniform(random);
       }},
      {"targets of all sizes", 40, 3,
       [](Data& d, Random& random) {
         for (double& y : d.values) y = std::pow(10.0, 40 * Uniform(random) - 20);
       }},
      {"weights", 40, 3,
       [](Data& d, Random& random) {
         for (std::size_t i = 0; i < d.rows; ++i) {
           d.weights.push_back(random() % 4 == 0 ? 0.0 : std::pow(10.0, 6 * Uniform(random)));
         }
         d.weights[0] = 1;
       }},
      {"bootstrap", 40, 3, [](Data& d, Random&) { d.options.bootstrap = true; }},
  };
  return kinds;
}

Data Make(const Kind& kind, Random& random) {
  Data data;
  data.rows = kind.rows;
  data.columns = kind.columns;
  data.x.resize(kind.rows * kind.columns);
  Each(data, [&] { return static_cast<float>(10 * Uniform(random) - 5); });
  for (std::size_t i = 0; i < kind.rows; ++i) {
    const float first = data.x[i * kind.columns];
    data.labels.push_back(static_cast<std::uint32_t>(random() % 2 + (first > 0 ? 1 : 0)));
    data.values.push_back(double{first} * double{first} + Uniform(random));
  }
  data.options.n_trees = 1 + static_cast<int>(random() % 7);
  data.options.max_depth = static_cast<int>(random() % 5);
  data.options.min_samples_leaf = 1 + static_cast<int>(random() % 2);
  data.options.constant_rule = static_cast<ConstantRule>(random() % 3);
  data.options.seed = random();
  kind.spoil(data, random);
  return data;
}

//! The rows learnt, and others: infinite, missing, right at and beside thresholds.
std::vector<float> Asked(const Data& data, const Forest& forest, Random& random) {
  std::vector<float> asked = data.x;
  std::vector<float> strange = {kNan, kInfinity, -kInfinity, 0.0f, -0.0f, 3.4e38f};
  for (const TreeNode& node : forest.trees[0].nodes) {
    const auto at = static_cast<float>(node.threshold);
    for (const float beside : {at, std::nextafter(at, -kInfinity), std::nextafter(at, kInfinity)}) {
      if (node.feature >= 0) strange.push_back(beside);
    }
  }
  for (std::size_t i = 0; i < 20 * data.columns; ++i) {
    asked.push_back(random() % 3 == 0 ? data.x[random() % data.x.size()]
                                      : strange[random() % strange.size()]);
  }
  return asked;
}

std::size_t Walk(const Tree& tree, const float* row) {
  std::size_t at = 0;
  while (tree.nodes[at].feature >= 0) {
    const TreeNode& node = tree.nodes[at];
    const float x = row[node.feature];
    const bool left = std::isnan(x) ? node.missing_left : static_cast<double>(x) <= node.threshold;
    at = static_cast<std::size_t>(left ? node.left : node.right);
  }
  return at;
}

void ExpectPlainWalks(const Forest& forest, const std::vector<float>& rows,
                      const std::vector<double>& answers) {
  for (std::size_t i = 0; i * forest.columns < rows.size(); ++i) {
    for (std::uint32_t c = 0; c < forest.classes; ++c) {
      long double sum = 0, size = 0;
      for (const Tree& tree : forest.trees) {
        const double value =
            tree.LeafValue(tree.nodes[Walk(tree, &rows[i * forest.columns])], c, forest.classes);
        sum += value;
        size = std::max<long double>(size, std::abs(value));
      }
      const auto mean = static_cast<double>(sum / static_cast<long double>(forest.trees.size()));
      ASSERT_NEAR(answers[i * forest.classes + c], mean,
                  std::ldexp(1.0, -forest.value_bits) + 1e-15 * static_cast<double>(size));
    }
  }
}

//! Each leaf holds the rows of weight that reach it, and answers by them.
void ExpectLeavesHoldTheirRows(const Data& data, const Forest& forest) {
  double largest = 0;
  for (const double y : data.values) largest = std::max(largest, std::abs(y));
  for (const Tree& tree : forest.trees) {
    std::vector<std::uint32_t> samples(tree.nodes.size());
    std::vector<long double> weights(tree.nodes.size()), sums(tree.nodes.size() * forest.classes);
    for (std::size_t i = 0; i < data.rows; ++i) {
      const double weight = data.weights.empty() ? 1 : data.weights[i];
      if (weight == 0) continue;
      const std::size_t leaf = Walk(tree, &data.x[i * data.columns]);
      ++samples[leaf];
      weights[leaf] += weight;
      const std::size_t at = leaf * forest.classes + (forest.regression ? 0 : data.labels[i]);
      sums[at] += weight * (forest.regression ? data.values[i] : 1.0);
    }
    for (std::size_t k = 0; k < tree.nodes.size(); ++k) {
      if (tree.nodes[k].feature >= 0) continue;
      ASSERT_EQ(tree.nodes[k].samples, samples[k]);
      for (std::uint32_t c = 0; c < forest.classes; ++c) {
        ASSERT_NEAR(tree.LeafValue(tree.nodes[k], c, forest.classes),
                    static_cast<double>(sums[k * forest.classes + c] / weights[k]),
                    1e-9 * (forest.regression ? largest : 1));
      }
    }
  }
}

void Check(const Data& data, bool regression, Random& random) {
  const auto fitted = FrontierCpu(1).fit(data.matrix(), data.targets(regression), data.options);
  std::ostringstream text;
  WriteForestJson(fitted->host(), text);
  const Forest forest = ReadForestJson(text.str());
  ASSERT_TRUE(forest.trees == fitted->host().trees);
  const std::vector<float> asked = Asked(data, forest, random);
  const std::size_t rows = asked.size() / data.columns;
  std::vector<double> trained(rows * forest.classes), read(trained.size());
  fitted->predict_proba(asked.data(), rows, trained.data());
  forest.PredictProba(asked.data(), rows, read.data());
  ASSERT_EQ(trained, read);  // bit for bit: none is NaN
  ExpectPlainWalks(forest, asked, read);
  if (!data.options.bootstrap) ExpectLeavesHoldTheirRows(data, forest);
}

TEST(OracleSavedForest, AnswersAsTheTrainersOnNastyData) {
  Random random(FreshSeed());
  OracleClock clock(1);
  while (clock.more() && !testing::Test::HasFatalFailure()) {
    for (const Kind& kind : Kinds()) {
      SCOPED_TRACE(kind.name);
      const Data data = Make(kind, random);
      Check(data, false, random);
      Check(data, true, random);
    }
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

}  // namespace
}  // namespace retable::extratrees
