#include "retable/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"
#include "base/csv/number.hpp"
#include "base/cuda/on_device.hpp"
#include "base/parallel.hpp"

namespace retable {

namespace {

using quantiles::ChebyshevSketch;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<ChebyshevSketch> MakeSketch(const QuantileSketchOptions& options) {
  auto made = Registry<quantiles::QuantileSketch>::Instance().Make(
      "Retable", DeviceByName(options.device),
      {{"l", static_cast<std::int64_t>(options.order)}, {"log", options.log}});
  // Both backends are Chebyshev sketches: they merge with each other and have one serialised form.
  auto* sketch = dynamic_cast<ChebyshevSketch*>(made.get());
  if (sketch == nullptr) throw std::logic_error("the sketch \"Retable\" is no Chebyshev sketch");
  made.release();
  return std::unique_ptr<ChebyshevSketch>(sketch);
}

void CheckAscending(std::span<const double> values, const char* what, double least, double most) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= least && values[i] <= most)) {
      throw std::invalid_argument(
          std::string(what) + " " + (std::isnan(values[i]) ? "nan" : FormatNumber(values[i])) +
          " is not in [" + FormatNumber(least) + ", " + FormatNumber(most) + "]");
    }
    if (i > 0 && values[i] < values[i - 1]) {
      throw std::invalid_argument(std::string(what) + " values are not ascending");
    }
  }
}

template <class Real>
void UpdateOnDevice(ChebyshevSketch& sketch, const Real* values, std::size_t n, void* stream) {
  const OnDevice current;
  quantiles::DeviceUpdate* const update = sketch.device_update();
  if (update == nullptr) {
    throw std::invalid_argument(
        "the sketch sums on the processor: make it with device \"cuda\" for values in device "
        "memory");
  }
  update->update_device(values, n, stream);
}

// For ascending xs within the bounds the largest phi, to 2^-40, whose quantile is at most x.
std::vector<double> Invert(const quantiles::ChebyshevFit& fit, const quantiles::FitInput& input,
                           std::span<const double> xs) {
  // Moments tell where an atom is to the square root of their precision, and x may be its value.
  const bool atoms = fit.status().basis == "atoms";
  const double near = atoms ? std::sqrt(input.noise) * input.sums.map.half : 0;
  std::vector<double> low(xs.size(), 0.0), phis(xs.size());
  double step = 0.5;
  for (int bit = 0; bit < 40; ++bit, step /= 2) {
    // Ascending as the xs are: each search takes the same steps, to the same side or a larger x
    // further.
    for (std::size_t i = 0; i < xs.size(); ++i) phis[i] = low[i] + step;
    const std::vector<double> values = fit.Quantiles(phis);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (values[i] <= xs[i] + near) low[i] = phis[i];
    }
  }
  return low;
}

}  // namespace

struct QuantileSketch::State {
  QuantileSketchOptions options;
  std::unique_ptr<ChebyshevSketch> sketch;
};

QuantileSketch::QuantileSketch(std::unique_ptr<State> state) : state_(std::move(state)) {}
QuantileSketch::QuantileSketch(const QuantileSketchOptions& options)
    : state_(std::make_unique<State>(State{options, MakeSketch(options)})) {}
QuantileSketch::QuantileSketch(const QuantileSketch& other)
    : QuantileSketch(other.state_->options) {
  state_->sketch->merge(*other.state_->sketch);
}
QuantileSketch::~QuantileSketch() = default;
QuantileSketch::QuantileSketch(QuantileSketch&&) noexcept = default;
QuantileSketch& QuantileSketch::operator=(QuantileSketch other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void QuantileSketch::update(std::span<const float> values) {
  state_->sketch->update(values);
}

void QuantileSketch::update(std::span<const double> values) {
  state_->sketch->update(values);
}

void QuantileSketch::update_on_device(const float* values, std::size_t n, void* stream) {
  UpdateOnDevice(*state_->sketch, values, n, stream);
}

void QuantileSketch::update_on_device(const double* values, std::size_t n, void* stream) {
  UpdateOnDevice(*state_->sketch, values, n, stream);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  if (&other == this) return merge(QuantileSketch(other));
  const auto& mine = options();
  const auto& theirs = other.options();
  if (mine.order != theirs.order || mine.log != theirs.log) {
    throw std::invalid_argument("a sketch of order " + std::to_string(theirs.order) +
                                (theirs.log ? " with" : " without") +
                                " log moments does not merge into one of order " +
                                std::to_string(mine.order) + (mine.log ? " with" : " without"));
  }
  state_->sketch->merge(*other.state_->sketch);
}

std::size_t QuantileSketch::count() const {
  return state_->sketch->count();
}

double QuantileSketch::min() const {
  if (count() == 0) throw std::logic_error("the smallest value of an empty stream");
  if (state_->sketch->infinities().low > 0) return -kInfinity;
  return state_->sketch->sums().sum[0] > 0 ? state_->sketch->sums().min : kInfinity;
}

double QuantileSketch::max() const {
  if (count() == 0) throw std::logic_error("the largest value of an empty stream");
  if (state_->sketch->infinities().high > 0) return kInfinity;
  return state_->sketch->sums().sum[0] > 0 ? state_->sketch->sums().max : -kInfinity;
}

std::vector<double> QuantileSketch::quantiles(std::span<const double> phis) const {
  CheckAscending(phis, "phi", 0, 1);
  return state_->sketch->quantiles(phis);
}

std::vector<double> QuantileSketch::rank_bounds(std::span<const double> phis) const {
  CheckAscending(phis, "phi", 0, 1);
  return state_->sketch->rank_bounds(phis);
}

std::vector<double> QuantileSketch::cdf(std::span<const double> xs) const {
  CheckAscending(xs, "x", -kInfinity, kInfinity);
  if (count() == 0) throw std::logic_error("the distribution of an empty stream");
  const quantiles::Infinities infinite = state_->sketch->infinities();
  const auto all = static_cast<double>(count());
  const auto low = static_cast<double>(infinite.low);
  const double finite = all - static_cast<double>(infinite.count());
  std::vector<double> fractions(xs.size(), 0.0);
  if (finite > 0) {
    const quantiles::ChebyshevSums& sums = state_->sketch->sums();
    std::vector<double> ends, inner, asked;
    for (const double x : xs) {
      ends.push_back(state_->sketch->UpTo(x));
      if (!(ends.back() >= sums.min && ends.back() < sums.max)) continue;
      inner.push_back(ends.back());
      asked.push_back(x);
    }
    std::vector<double> found;
    if (!inner.empty()) {
      const quantiles::FitInput input = state_->sketch->Input();
      const quantiles::ChebyshevFit fit(input);
      found = Invert(fit, input, inner);
      state_->sketch->CheckRanks(fit, inner, found, [&](std::size_t i) {
        return "the fraction of values up to " + FormatNumber(asked[i]);
      });
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (ends[i] >= sums.max)
        fractions[i] = 1;
      else if (ends[i] >= sums.min)
        fractions[i] = found[next++];
    }
  }
  for (std::size_t i = 0; i < xs.size(); ++i) {
    fractions[i] = xs[i] == kInfinity ? 1 : (low + finite * fractions[i]) / all;
  }
  return fractions;
}

std::vector<std::byte> QuantileSketch::to_bytes() const {
  return state_->sketch->Serialize();
}

QuantileSketch QuantileSketch::from_bytes(std::span<const std::byte> bytes) {
  auto sketch = ChebyshevSketch::Deserialize(bytes);
  QuantileSketchOptions options;
  options.order = sketch->order();
  options.log = sketch->log();
  return QuantileSketch(std::make_unique<State>(State{options, std::move(sketch)}));
}

const QuantileSketchOptions& QuantileSketch::options() const {
  return state_->options;
}

namespace {

template <class Real>
std::vector<QuantileSketch> Columns(const Real* x, std::size_t rows, std::size_t columns,
                                    std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                                    const QuantileSketchOptions& options) {
  if (x == nullptr && rows > 0 && columns > 0) throw std::invalid_argument("the columns are null");
  std::vector<QuantileSketch> sketches;
  sketches.reserve(columns);
  for (std::size_t c = 0; c < columns; ++c) sketches.emplace_back(options);
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // values copied at a time: half a megabyte
  ParallelFor(columns, [&](std::size_t c) {
    const Real* column = x + static_cast<std::ptrdiff_t>(c) * column_stride;
    if (row_stride == 1) return sketches[c].update(std::span<const Real>(column, rows));
    std::vector<Real> block;
    for (std::size_t begin = 0; begin < rows; begin += kBlock) {
      const std::size_t end = std::min(rows, begin + kBlock);
      block.resize(end - begin);
      for (std::size_t r = begin; r < end; ++r) {
        block[r - begin] = column[static_cast<std::ptrdiff_t>(r) * row_stride];
      }
      sketches[c].update(std::span<const Real>(block));
    }
  });
  return sketches;
}

}  // namespace

std::vector<QuantileSketch> SketchColumns(const float* x, std::size_t rows, std::size_t columns,
                                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                                          const QuantileSketchOptions& options) {
  return Columns(x, rows, columns, row_stride, column_stride, options);
}

std::vector<QuantileSketch> SketchColumns(const double* x, std::size_t rows, std::size_t columns,
                                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                                          const QuantileSketchOptions& options) {
  return Columns(x, rows, columns, row_stride, column_stride, options);
}

}  // namespace retable
