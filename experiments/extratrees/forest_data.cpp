#include "experiments/extratrees/forest_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "datasets/catalog.hpp"

namespace retable::experiments::forests {
namespace {

// A stream of uniform numbers in [0, 1).
class Uniform {
 public:
  Uniform(std::uint64_t seed, std::uint64_t stream)
      : philox_(Philox4x32::FromSeed(seed)), stream_(stream) {}
  double operator()() { return UniformDouble(philox_.Block(index_++, stream_).half(0)); }

 private:
  Philox4x32 philox_;
  std::uint64_t stream_;
  std::uint64_t index_ = 0;
};

std::vector<std::size_t> Shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  Uniform uniform(seed, 1);
  for (std::size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(uniform() * static_cast<double>(i))]);
  }
  return order;
}

constexpr std::size_t kSide = 28;

// One image: a Bezier curve through jittered control points, drawn with a soft pen.
void DrawStroke(std::uint32_t label, Uniform& uniform, float* pixels) {
  Uniform shape(0x5eed, 100 + label);  // the class's own curve
  double x[4];
  double y[4];
  for (int k = 0; k < 4; ++k) {
    x[k] = 6 + 16 * shape() + 5 * (uniform() - 0.5);
    y[k] = 6 + 16 * shape() + 5 * (uniform() - 0.5);
  }
  const double pen = 1.1 + 0.7 * uniform();
  for (int step = 0; step <= 40; ++step) {
    const double t = step / 40.0;
    const double s = 1 - t;
    const double b[4] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
    const double cx = b[0] * x[0] + b[1] * x[1] + b[2] * x[2] + b[3] * x[3];
    const double cy = b[0] * y[0] + b[1] * y[1] + b[2] * y[2] + b[3] * y[3];
    for (int j = -3; j <= 3; ++j) {
      for (int i = -3; i <= 3; ++i) {
        const int px = static_cast<int>(cx) + i;
        const int py = static_cast<int>(cy) + j;
        if (px < 2 || py < 2 || px > 25 || py > 25) continue;
        const double dx = px + 0.5 - cx;
        const double dy = py + 0.5 - cy;
        const double ink = 255 * std::max(0.0, 1.4 - std::sqrt(dx * dx + dy * dy) / pen);
        float& pixel = pixels[static_cast<std::size_t>(py) * kSide + static_cast<std::size_t>(px)];
        pixel = std::max(pixel, static_cast<float>(std::floor(std::min(ink, 255.0))));
      }
    }
  }
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

}  // namespace

Supervised LoadSupervised(const std::string& name, std::uint64_t seed, std::size_t max_train) {
  const datasets::Frame frame = datasets::Catalog().Load(name);
  if (!frame.target || frame.target->kind != datasets::ColumnKind::kNominal) {
    throw std::invalid_argument(name + " has no nominal target: choose a classification data set");
  }
  Supervised data;
  data.name = frame.name;
  data.columns = frame.columns.size();
  const auto rows = static_cast<std::size_t>(frame.rows);
  const std::vector<double> targets(frame.target->values.begin(), frame.target->values.end());
  const extratrees::ClassLabels labels = extratrees::EncodeLabels(targets);
  data.classes = static_cast<std::uint32_t>(labels.values.size());
  const std::vector<float> values = frame.RowMajor();
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  const bool published_split = rows == 70000;
  if (!published_split) order = Shuffled(rows, seed);
  data.train_rows = published_split ? 60000 : data.name == "iris" ? 100 : rows * 2 / 3;
  data.values.reserve(values.size());
  data.labels.reserve(rows);
  for (const std::size_t i : order) {
    const float* row = values.data() + i * data.columns;
    data.values.insert(data.values.end(), row, row + data.columns);
    data.labels.push_back(labels.codes[i]);
  }
  KeepTraining(data, max_train);
  return data;
}

Supervised SyntheticStrokes(std::size_t train_rows, std::size_t test_rows, std::uint64_t seed) {
  Supervised data;
  data.name = "synthetic strokes";
  data.columns = kSide * kSide;
  data.classes = 10;
  data.train_rows = train_rows;
  data.values.assign((train_rows + test_rows) * data.columns, 0.0f);
  data.labels.resize(train_rows + test_rows);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    Uniform uniform(seed, 1000 + i);
    data.labels[i] = static_cast<std::uint32_t>(uniform() * 10);
    DrawStroke(data.labels[i], uniform, data.values.data() + i * data.columns);
  }
  return data;
}

}  // namespace retable::experiments::forests
