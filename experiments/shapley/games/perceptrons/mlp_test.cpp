// The perceptron: learning, determinism, and its game against predictions.

#include "experiments/shapley/games/perceptrons/mlp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "algorithms/common/philox.hpp"

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;

struct Data {
  std::vector<float> rows, numbers, classes;
  explicit Data(std::size_t n) {
    const Philox4x32 random = Philox4x32::FromSeed(1);
    for (std::size_t i = 0; i < n; ++i) {
      const auto draw = random.Block(i);
      const auto a = static_cast<float>(2 * UniformDouble(draw.half(0)) - 1);
      const auto b = static_cast<float>(2 * UniformDouble(draw.half(1)) - 1);
      rows.insert(rows.end(), {a, b, i % 3 == 0 ? 1.0f : 0.0f});
      numbers.push_back(3 * a * b + rows.back());
      classes.push_back(a * b > 0 ? 1.0f : 0.0f);
    }
  }
  RowBlock Rows() const { return {rows, rows.size() / 3, 3}; }
};

TEST(Mlp, LearnsAnInteraction) {
  const Data data(2000);
  MlpOptions options;
  const Mlp numbers = TrainMlp(data.Rows(), data.numbers, options);
  options.logistic = true;
  const Mlp classes = TrainMlp(data.Rows(), data.classes, options);
  double squares = 0;
  int right = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    squares += std::pow(numbers.Predict(data.Rows().row(i)) - double{data.numbers[i]}, 2) / 2000;
    right += (classes.Predict(data.Rows().row(i)) > 0) == (data.classes[i] > 0) ? 1 : 0;
  }
  EXPECT_LT(squares, 0.01);
  EXPECT_GT(right, 1950);
  EXPECT_LE(numbers.epochs, 200);
}

TEST(Mlp, ASeedIsANetwork) {
  const Data data(300);
  MlpOptions options;
  options.epochs = 3;
  const Mlp a = TrainMlp(data.Rows(), data.numbers, options);
  const Mlp b = TrainMlp(data.Rows(), data.numbers, options);
  options.seed = 2;
  const Mlp c = TrainMlp(data.Rows(), data.numbers, options);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.out_bias, b.out_bias);
  EXPECT_NE(a.weight, c.weight);
}

// One unit, one row: weights move against the gradient's sign by the learning rate, as Adam's first
// step does.
TEST(Mlp, TheFirstStepIsAdams) {
  const std::vector<float> rows = {2}, targets = {100};
  MlpOptions options;
  options.hidden = 50;
  options.epochs = 1;
  options.learning_rate = 1e-12;
  const Mlp start = TrainMlp({rows, 1, 1}, targets, options);
  options.learning_rate = 1e-3;
  const Mlp after = TrainMlp({rows, 1, 1}, targets, options);
  EXPECT_NEAR(after.out_bias - start.out_bias, 1e-3f, 1e-6f);
  for (std::size_t h = 0; h < 50; ++h) {
    const bool on = start.bias[h] + 2 * start.weight[h] > 0;
    const float move = on ? std::copysign(1e-3f, start.out[h]) : 0.0f;
    EXPECT_NEAR(after.bias[h] - start.bias[h], move, 1e-6f);
    if (on) {
      EXPECT_NEAR(after.out[h] - start.out[h], 1e-3f, 1e-6f);
    }
  }
}

TEST(MlpGame, ValuesAreMeansOfPredictions) {
  const Data data(200);
  MlpOptions options;
  options.epochs = 5;
  options.hidden = 13;
  const Mlp model = TrainMlp(data.Rows(), data.numbers, options);
  const RowBlock background = data.Rows().slice(1, 40);
  const auto row = data.Rows().row(0);
  const auto game = MakeMlpGame(model, row, background);
  for (std::uint64_t mask = 0; mask < 8; ++mask) {
    double expected = 0, value = 0;
    for (std::size_t b = 0; b < 40; ++b) {
      std::vector<float> mixed(background.row(b).begin(), background.row(b).end());
      for (std::size_t j = 0; j < 3; ++j) mixed[j] = (mask >> j) & 1 ? row[j] : mixed[j];
      expected += model.Predict(mixed) / 40;
    }
    game->evaluate({&mask, 1}, {&value, 1});
    EXPECT_NEAR(value, expected, 1e-10);
  }
  const std::vector<std::int32_t> order = {2, 0, 1};
  std::vector<double> walked(4), evaluated(4);
  game->walk(order, walked);
  game->evaluate(shapley::Prefixes(order), evaluated);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(walked[k], evaluated[k], 1e-12);
}

TEST(Mlp, BadInputIsRefused) {
  const Data data(20);
  MlpOptions options;
  options.logistic = true;
  EXPECT_THROW(TrainMlp(data.Rows(), data.numbers, options), std::invalid_argument);
  std::vector<float> missing = data.rows;
  missing[4] = std::nanf("");
  EXPECT_THROW(TrainMlp({missing, 20, 3}, data.numbers, {}), std::invalid_argument);
  options.logistic = false;
  options.epochs = 1;
  const Mlp model = TrainMlp(data.Rows(), data.numbers, options);
  EXPECT_THROW(model.Predict(std::vector<float>{1, 2}), std::invalid_argument);
  EXPECT_THROW(MakeMlpGame(model, data.Rows().row(0), data.Rows().slice(0, 0)),
               std::invalid_argument);
  EXPECT_THROW(MakeMlpGame(model, std::vector<float>{1, 2}, data.Rows()), std::invalid_argument);
}

}  // namespace
}  // namespace retable::experiments
