//! @file
//! A perceptron's game on a CUDA device. Eight lanes take a background row along a walk, or under a
//! coalition: each holds every eighth unit's input in registers, as the CPU's eight running sums
//! take them. Outputs are then added over background rows in their order, a thread to a value.
//! Products are rounded before they are added, as on the CPU.

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>

#include "algorithms/shapley/lane_dot.hpp"
#include "base/cuda/memory.hpp"
#include "experiments/shapley/games/perceptrons/mlp.hpp"

namespace retable::experiments {
namespace {

constexpr int kLanes = 8;        // the CPU's running sums
constexpr int kMostOfLane = 16;  // a lane's inputs: bound by registers
constexpr int kMlpThreads = 128;

struct MlpView {
  const double *weight, *out, *start, *difference;
  std::size_t features, units, rows;
};

// One lane's part of a background row.
struct RowLane {
  double input[kMostOfLane];
  double weight_out[kMostOfLane];
  int count, lane;
  unsigned group;  // the lanes of this row

  __device__ RowLane(const MlpView& view, std::size_t row)
      : count(static_cast<int>(view.units / kLanes)),
        lane(static_cast<int>(threadIdx.x % kLanes)),
        group(0xFFu << (threadIdx.x % 32 / kLanes * kLanes)) {
#pragma unroll
    for (int k = 0; k < kMostOfLane; ++k) {
      const bool held = k < count;
      const std::size_t unit = static_cast<std::size_t>(k * kLanes + lane);
      input[k] = held ? view.start[row * view.units + unit] : 0;
      weight_out[k] = held ? view.out[unit] : 0;
    }
  }

  __device__ void Add(double difference, const double* weight) {
#pragma unroll
    for (int k = 0; k < kMostOfLane; ++k) {
      if (k < count) {
        input[k] = shapley::AddProduct(input[k], difference, weight[k * kLanes + lane]);
      }
    }
  }

  // In all lanes of the row: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
  __device__ double Output() const {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kMostOfLane; ++k) {
      if (k < count) {
        sum = shapley::AddProduct(sum, weight_out[k], input[k] > 0 ? input[k] : 0.0);
      }
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      sum += __shfl_xor_sync(group, sum, width, kLanes);
    }
    return sum;
  }
};

// output[row][walk][k]
__global__ void OutputsOfWalks(MlpView view, const std::int32_t* orders, std::size_t walks,
                               double* output) {
  const std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  if (at >= walks * view.rows) return;
  const std::size_t walk = at / view.rows, row = at % view.rows;
  const std::int32_t* order = orders + walk * view.features;
  double* to = output + (row * walks + walk) * (view.features + 1);
  RowLane lane(view, row);
  double now = lane.Output();
  if (lane.lane == 0) to[0] = now;
  for (std::size_t k = 0; k < view.features; ++k) {
    const auto j = static_cast<std::size_t>(order[k]);
    const double difference = view.difference[row * view.features + j];
    if (difference != 0) {
      lane.Add(difference, view.weight + j * view.units);
      now = lane.Output();
    }
    if (lane.lane == 0) to[k + 1] = now;
  }
}

// output[row][coalition]
__global__ void OutputsOfCoalitions(MlpView view, const std::uint64_t* coalitions,
                                    std::size_t count, double* output) {
  const std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  if (at >= count * view.rows) return;
  const std::size_t coalition = at / view.rows, row = at % view.rows;
  const std::uint64_t* in = coalitions + coalition * ((view.features + 63) / 64);
  RowLane lane(view, row);
  for (std::size_t j = 0; j < view.features; ++j) {
    if (((in[j / 64] >> (j % 64)) & 1) == 0) continue;
    lane.Add(view.difference[row * view.features + j], view.weight + j * view.units);
  }
  const double whole = lane.Output();
  if (lane.lane == 0) output[row * count + coalition] = whole;
}

__global__ void MeansOfRows(const double* output, std::size_t count, std::size_t rows,
                            double out_bias, double* values) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= count) return;
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) sum += output[row * count + k];
  values[k] = out_bias + sum / static_cast<double>(rows);
}

unsigned BlocksOf(std::size_t threads) {
  return static_cast<unsigned>((threads + kMlpThreads - 1) / kMlpThreads);
}

class DeviceMlpGame final : public shapley::Game {
 public:
  explicit DeviceMlpGame(const MlpTables& tables) : out_bias_(tables.out_bias) {
    if (tables.units > kLanes * kMostOfLane) {
      throw std::invalid_argument("on a CUDA device a perceptron has at most 128 units, not " +
                                  std::to_string(tables.units));
    }
    view_ = {weight_.Upload(tables.weight),
             out_.Upload(tables.out),
             start_.Upload(tables.start),
             difference_.Upload(tables.difference),
             tables.features,
             tables.units,
             tables.rows};
  }

  int dimension() const override { return static_cast<int>(view_.features); }

  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::lock_guard lock(mutex_);
    const std::size_t words = shapley::CoalitionWords(dimension());
    InBatches(values.size(), 1, [&](std::size_t first, std::size_t count, double* output) {
      const auto* in = coalitions_.Upload(coalitions.subspan(first * words, count * words));
      OutputsOfCoalitions<<<BlocksOf(count * view_.rows * kLanes), kMlpThreads>>>(view_, in, count,
                                                                                  output);
      Means(values.subspan(first, count), output);
    });
  }

  void walk(std::span<const std::int32_t> order, std::span<double> values) const override {
    walks(order, values);
  }

  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override {
    const std::lock_guard lock(mutex_);
    const std::size_t d = view_.features, steps = d + 1;
    InBatches(orders.size() / d, steps, [&](std::size_t first, std::size_t count, double* output) {
      const auto* in = orders_.Upload(orders.subspan(first * d, count * d));
      OutputsOfWalks<<<BlocksOf(count * view_.rows * kLanes), kMlpThreads>>>(view_, in, count,
                                                                             output);
      Means(values.subspan(first * steps, count * steps), output);
    });
  }

 private:
  // use(first, count, room for rows x count x each doubles) until there are none left.
  template <class Use>
  void InBatches(std::size_t all, std::size_t each, const Use& use) const {
    constexpr std::size_t kMostOutputs = std::size_t{1} << 25;  // 256 MiB
    const std::size_t batch = std::max<std::size_t>(1, kMostOutputs / (view_.rows * each));
    for (std::size_t first = 0; first < all; first += batch) {
      const std::size_t count = std::min(batch, all - first);
      use(first, count, output_.Reserve(view_.rows * count * each));
    }
  }

  void Means(std::span<double> values, const double* output) const {
    MeansOfRows<<<BlocksOf(values.size()), kMlpThreads>>>(
        output, values.size(), view_.rows, out_bias_, values_.Reserve(values.size()));
    RETABLE_CUDA_CHECK(cudaGetLastError());
    values_.Download(values);
  }

  MlpView view_{};
  double out_bias_;
  DeviceArray<double> weight_, out_, start_, difference_;
  mutable std::mutex mutex_;
  mutable DeviceArray<double> output_, values_;
  mutable DeviceArray<std::int32_t> orders_;
  mutable DeviceArray<std::uint64_t> coalitions_;
};

}  // namespace

std::unique_ptr<shapley::Game> MakeDeviceMlpGame(const MlpTables& tables) {
  return std::make_unique<DeviceMlpGame>(tables);
}

}  // namespace retable::experiments
