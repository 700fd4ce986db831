#include "experiments/shapley/games/perceptrons/mlp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/simd_target.hpp"
#include "experiments/shapley/games/trees/boosted_trees.hpp"

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;

constexpr std::uint64_t kStartStream = 7, kShuffleStream = 1000;

// y += a x
template <class T>
RETABLE_CLONES void AddScaled(T a, const T* x, T* y, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) y[k] += a * x[k];
}

// The sum of w max(0, x), in eight running sums. n is a multiple of 8.
template <class T>
RETABLE_CLONES T DotPositive(const T* w, const T* x, std::size_t n) {
  T sum[8] = {};
  for (std::size_t k = 0; k < n; k += 8) {
    for (std::size_t l = 0; l < 8; ++l) sum[l] += w[k + l] * std::max(T{0}, x[k + l]);
  }
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// What a walk's step needs: features' differences lie `stride` apart, background by background.
struct Joining {
  const double* difference;
  std::size_t stride;
  const double* weight;
  const double* out;
  std::size_t units, rows;
};

// One feature of every background row becomes the explained row's: the units' inputs change where
// the two differ, and with them the row's output.
RETABLE_CLONES void Join(const Joining& join, double* inputs, double* output) {
  for (std::size_t b = 0; b < join.rows; ++b, inputs += join.units) {
    const double difference = join.difference[b * join.stride];
    if (difference == 0) continue;
    double sum[8] = {};
    for (std::size_t k = 0; k < join.units; k += 8) {
      for (std::size_t l = 0; l < 8; ++l) {
        const double input = inputs[k + l] + difference * join.weight[k + l];
        inputs[k + l] = input;
        sum[l] += join.out[k + l] * std::max(0.0, input);
      }
    }
    output[b] = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  }
}

struct AdamRates {
  float first, second, step, decay;
};

// One update of every parameter: gradient plus decay times the parameter, scaled by its moments.
RETABLE_CLONES void AdamStep(const AdamRates& rate, const float* gradient, float* first,
                             float* second, float* parameter, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    const float g = gradient[k] + rate.decay * parameter[k];
    first[k] = rate.first * first[k] + (1 - rate.first) * g;
    second[k] = rate.second * second[k] + (1 - rate.second) * g * g;
    parameter[k] -= rate.step * first[k] / (std::sqrt(second[k]) + 1e-8f);
  }
}

// Parameters in one vector: weight, out (both decay), bias, out_bias. Units are padded to eight.
class PerceptronTrainer {
 public:
  PerceptronTrainer(const RowBlock& rows, std::span<const float> targets, const MlpOptions& options)
      : rows_(rows), targets_(targets), options_(options) {
    CheckTraining(rows, targets, options.logistic);
    hidden_ = static_cast<std::size_t>(options.hidden);
    padded_ = (hidden_ + 7) / 8 * 8;
    weights_ = (rows.columns + 1) * padded_;
    parameters_.assign(weights_ + padded_ + 1, 0.0f);
    Start();
    first_.assign(parameters_.size(), 0.0f);
    second_ = first_;
    units_.resize(padded_);
    back_.resize(padded_);
  }

  Mlp Train() {
    double best = std::numeric_limits<double>::infinity(), loss = 0;
    int waiting = 0, epoch = 0;
    std::vector<std::int32_t> order(rows_.rows);
    while (epoch < options_.epochs && waiting <= options_.patience) {
      shapley::UniformOrder(options_.seed, kShuffleStream + static_cast<std::uint64_t>(epoch++), 0,
                            order);
      loss = Epoch(order);
      if (!std::isfinite(loss)) {
        throw std::invalid_argument("training diverged: scale the features");
      }
      waiting = loss > best - options_.tolerance ? waiting + 1 : 0;
      best = std::min(best, loss);
    }
    return Result(epoch, loss);
  }

 private:
  float* Weight(std::size_t feature) { return parameters_.data() + feature * padded_; }
  float* Out() { return Weight(rows_.columns); }
  float* Bias() { return parameters_.data() + weights_; }
  float& OutBias() { return parameters_.back(); }

  // Uniform in +-sqrt(6 / (in + out)); 2 instead of 6 where the output is a probability.
  void Start() {
    const Philox4x32 random = Philox4x32::FromSeed(options_.seed);
    std::uint64_t next = 0;
    const auto draw = [&](double bound) {
      return static_cast<float>(
          bound * (2 * UniformDouble(random.Block(next++, kStartStream).half(0)) - 1));
    };
    const auto units = static_cast<double>(hidden_);
    const double inner = std::sqrt(6.0 / (static_cast<double>(rows_.columns) + units));
    const double outer = std::sqrt((options_.logistic ? 2.0 : 6.0) / (units + 1));
    for (std::size_t j = 0; j < rows_.columns; ++j) {
      for (std::size_t h = 0; h < hidden_; ++h) Weight(j)[h] = draw(inner);
    }
    for (std::size_t h = 0; h < hidden_; ++h) Out()[h] = draw(outer);
    for (std::size_t h = 0; h < hidden_; ++h) Bias()[h] = draw(inner);
    OutBias() = draw(outer);
  }

  // The mean loss over the epoch's batches.
  double Epoch(std::span<const std::int32_t> order) {
    double total = 0;
    const auto batch = static_cast<std::size_t>(
        std::min<std::int64_t>(options_.batch, static_cast<std::int64_t>(order.size())));
    for (std::size_t from = 0; from < order.size(); from += batch) {
      const auto rows = order.subspan(from, std::min(batch, order.size() - from));
      gradient_.assign(parameters_.size(), 0.0f);
      double squares = 0;
      for (std::size_t k = 0; k < weights_; ++k) {
        squares += static_cast<double>(parameters_[k]) * static_cast<double>(parameters_[k]);
      }
      total += 0.5 * options_.alpha * squares;
      for (const std::int32_t row : rows) total += AddRow(static_cast<std::size_t>(row));
      Update(rows.size());
    }
    return total / static_cast<double>(order.size());
  }

  // Adds the row's gradient; returns its loss.
  double AddRow(std::size_t row) {
    const auto x = rows_.row(row);
    std::copy_n(Bias(), padded_, units_.begin());
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] != 0) AddScaled(x[j], Weight(j), units_.data(), padded_);
    }
    const double z = OutBias() + DotPositive(Out(), units_.data(), padded_), y = targets_[row];
    double delta = z - y, loss = 0.5 * delta * delta;
    if (options_.logistic) {
      delta = 1 / (1 + std::exp(-z)) - y;
      loss = std::max(z, 0.0) - z * y + std::log1p(std::exp(-std::abs(z)));
    }
    const auto error = static_cast<float>(delta);
    float* gradient = gradient_.data();
    for (std::size_t h = 0; h < padded_; ++h) {
      const bool on = units_[h] > 0;
      back_[h] = on ? error * Out()[h] : 0.0f;
      units_[h] = on ? units_[h] : 0.0f;
    }
    AddScaled(error, units_.data(), gradient + rows_.columns * padded_, padded_);
    AddScaled(1.0f, back_.data(), gradient + weights_, padded_);
    gradient_.back() += error;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] != 0) AddScaled(x[j], back_.data(), gradient + j * padded_, padded_);
    }
    return loss;
  }

  void Update(std::size_t rows) {
    for (float& g : gradient_) g /= static_cast<float>(rows);
    ++steps_;
    const double first = 1 - std::pow(0.9, steps_), second = 1 - std::pow(0.999, steps_);
    AdamRates rate{0.9f, 0.999f,
                   static_cast<float>(options_.learning_rate * std::sqrt(second) / first),
                   static_cast<float>(options_.alpha / static_cast<double>(rows))};
    AdamStep(rate, gradient_.data(), first_.data(), second_.data(), parameters_.data(), weights_);
    rate.decay = 0;
    AdamStep(rate, gradient_.data() + weights_, first_.data() + weights_, second_.data() + weights_,
             parameters_.data() + weights_, parameters_.size() - weights_);
  }

  Mlp Result(int epochs, double loss) {
    Mlp model;
    model.features = rows_.columns;
    model.hidden = hidden_;
    for (std::size_t j = 0; j < rows_.columns; ++j) {
      model.weight.insert(model.weight.end(), Weight(j), Weight(j) + hidden_);
    }
    model.out.assign(Out(), Out() + hidden_);
    model.bias.assign(Bias(), Bias() + hidden_);
    model.out_bias = OutBias();
    model.epochs = epochs;
    model.loss = loss;
    return model;
  }

  RowBlock rows_;
  std::span<const float> targets_;
  MlpOptions options_;
  std::size_t hidden_ = 0, padded_ = 0, weights_ = 0;
  std::vector<float> parameters_, gradient_, first_, second_, units_, back_;
  int steps_ = 0;
};

class MlpGame final : public shapley::Game {
 public:
  explicit MlpGame(MlpTables tables) : t_(std::move(tables)) {}

  int dimension() const override { return static_cast<int>(t_.features); }

  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::size_t words = shapley::CoalitionWords(dimension());
    std::vector<double> units(t_.units);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::uint64_t* in = coalitions.data() + k * words;
      double sum = 0;
      for (std::size_t b = 0; b < t_.rows; ++b) {
        std::copy_n(t_.start.data() + b * t_.units, t_.units, units.data());
        for (std::size_t j = 0; j < t_.features; ++j) {
          if (((in[j / 64] >> (j % 64)) & 1) == 0) continue;
          AddScaled(t_.difference[b * t_.features + j], t_.weight.data() + j * t_.units,
                    units.data(), t_.units);
        }
        sum += DotPositive(t_.out.data(), units.data(), t_.units);
      }
      values[k] = t_.out_bias + sum / static_cast<double>(t_.rows);
    }
  }

  void walk(std::span<const std::int32_t> order, std::span<double> values) const override {
    std::vector<double> units(t_.start);
    std::vector<double> output(t_.rows);
    const auto value = [&] {
      const double sum = std::accumulate(output.begin(), output.end(), 0.0);
      return t_.out_bias + sum / static_cast<double>(t_.rows);
    };
    for (std::size_t b = 0; b < t_.rows; ++b) {
      output[b] = DotPositive(t_.out.data(), units.data() + b * t_.units, t_.units);
    }
    values[0] = value();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto j = static_cast<std::size_t>(order[k]);
      const Joining join = {t_.difference.data() + j,
                            t_.features,
                            t_.weight.data() + j * t_.units,
                            t_.out.data(),
                            t_.units,
                            t_.rows};
      Join(join, units.data(), output.data());
      values[k + 1] = value();
    }
  }

 private:
  MlpTables t_;
};

}  // namespace

double Mlp::Predict(std::span<const float> row) const {
  if (row.size() != features) {
    throw std::invalid_argument("the network takes " + std::to_string(features) +
                                " features, the row has " + std::to_string(row.size()));
  }
  double sum = static_cast<double>(out_bias);
  for (std::size_t h = 0; h < hidden; ++h) {
    double unit = static_cast<double>(bias[h]);
    for (std::size_t j = 0; j < features; ++j) {
      unit += static_cast<double>(row[j]) * static_cast<double>(weight[j * hidden + h]);
    }
    sum += static_cast<double>(out[h]) * std::max(0.0, unit);
  }
  return sum;
}

Mlp TrainMlp(const RowBlock& rows, std::span<const float> targets, const MlpOptions& options) {
  if (options.hidden < 1 || options.epochs < 1 || options.batch < 1) {
    throw std::invalid_argument("a perceptron needs units, epochs and a batch of at least one");
  }
  return PerceptronTrainer(rows, targets, options).Train();
}

MlpTables::MlpTables(const Mlp& model, std::span<const float> row, const RowBlock& background)
    : features(model.features),
      units((model.hidden + 7) / 8 * 8),
      rows(background.rows),
      weight(features * units, 0.0),
      out(units, 0.0),
      out_bias(static_cast<double>(model.out_bias)),
      start(rows * units, 0.0) {
  if (rows == 0) throw std::invalid_argument("a game needs background rows");
  if (row.size() != features || background.columns != features) {
    throw std::invalid_argument("the network has " + std::to_string(features) +
                                " features, the row " + std::to_string(row.size()) +
                                ", the background " + std::to_string(background.columns));
  }
  std::copy(model.out.begin(), model.out.end(), out.begin());
  for (std::size_t j = 0; j < features; ++j) {
    std::copy_n(model.weight.data() + j * model.hidden, model.hidden, weight.data() + j * units);
  }
  for (std::size_t b = 0; b < rows; ++b) {
    double* inputs = start.data() + b * units;
    std::copy(model.bias.begin(), model.bias.end(), inputs);
    for (std::size_t j = 0; j < features; ++j) {
      const double from = background.row(b)[j];
      AddScaled(from, weight.data() + j * units, inputs, units);
      difference.push_back(static_cast<double>(row[j]) - from);
    }
  }
}

std::unique_ptr<shapley::Game> MakeMlpGame(const Mlp& model, std::span<const float> row,
                                           const RowBlock& background) {
  return std::make_unique<MlpGame>(MlpTables(model, row, background));
}

#if !defined(RETABLE_HAS_CUDA)
std::unique_ptr<shapley::Game> MakeDeviceMlpGame(const MlpTables&) {
  throw std::invalid_argument("this build has no CUDA");
}
#endif

}  // namespace retable::experiments
