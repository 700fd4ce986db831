#include "experiments/extratrees/data/supervised.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "datasets/registry/catalog.hpp"

namespace retable::experiments::forests {
namespace {

std::vector<std::size_t> Shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  for (std::size_t i = n; i > 1; --i) {
    const double u = UniformDouble(philox.Block(n - i, 1).half(0));
    std::swap(order[i - 1], order[static_cast<std::size_t>(u * static_cast<double>(i))]);
  }
  return order;
}

void KeepTraining(Supervised& data, std::size_t max_train) {
  if (max_train == 0 || max_train >= data.train_rows) return;
  const auto from = static_cast<std::ptrdiff_t>(max_train);
  const auto to = static_cast<std::ptrdiff_t>(data.train_rows);
  const auto width = static_cast<std::ptrdiff_t>(data.columns);
  data.values.erase(data.values.begin() + from * width, data.values.begin() + to * width);
  data.labels.erase(data.labels.begin() + from, data.labels.begin() + to);
  data.train_rows = max_train;
}

constexpr std::size_t kPublishedRows = 70000, kPublishedTrainRows = 60000;

}  // namespace

std::size_t TrainRows(const std::string& name, std::size_t rows) {
  if (rows == kPublishedRows) return kPublishedTrainRows;
  return name == "iris" ? 100 : rows * 2 / 3;
}

Supervised LoadSupervised(const std::string& name, std::uint64_t seed, std::size_t max_train) {
  const datasets::Frame frame = datasets::Catalog().Load(name);
  if (!frame.target || frame.target->kind != datasets::ColumnKind::kNominal) {
    throw std::invalid_argument(name + " has no nominal target: choose a classification data set");
  }
  Supervised data;
  data.name = frame.name;
  data.columns = frame.columns.size();
  const auto rows = static_cast<std::size_t>(frame.rows);
  const auto& classes = frame.target->values;
  std::map<float, std::uint32_t> codes;  // of those that occur
  for (std::size_t i = 0; i < rows; ++i) {
    if (std::isnan(classes[i])) {
      throw std::invalid_argument(name + ": row " + std::to_string(i + 1) + " has no class");
    }
    codes.emplace(classes[i], 0);
  }
  for (auto& [value, code] : codes) code = data.classes++;
  const std::vector<float> values = frame.RowMajor();
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  if (rows != kPublishedRows) order = Shuffled(rows, seed);
  data.train_rows = TrainRows(data.name, rows);
  data.values.reserve(values.size());
  data.labels.reserve(rows);
  for (const std::size_t i : order) {
    const float* row = values.data() + i * data.columns;
    data.values.insert(data.values.end(), row, row + data.columns);
    data.labels.push_back(codes.at(classes[i]));
  }
  KeepTraining(data, max_train);
  return data;
}

}  // namespace retable::experiments::forests
