#include "harness/stats/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace retable::harness {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kLarge = 5000;
constexpr double kTail = 0.025;
constexpr double kNormalQuantile = 1.959963984540054;  // of the standard normal at 97.5 %
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Draw number `counter` of stream `seed`: SplitMix64's output function on a Weyl sequence (Steele,
// Lea and Flood 2014). No state, so a resample does not depend on those before it.
std::uint64_t Draw(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed * 0xD1342543DE82EF95u + (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Uniform on 0 .. n-1 from the upper 32 bits; the bias is below n / 2^32.
std::size_t DrawIndex(std::uint64_t seed, std::uint64_t counter, std::size_t n) {
  return static_cast<std::size_t>(((Draw(seed, counter) >> 32) * n) >> 32);
}

std::vector<double> SortedNumbers(std::span<const double> samples) {
  std::vector<double> numbers;
  numbers.reserve(samples.size());
  for (const double sample : samples) {
    if (!std::isnan(sample)) numbers.push_back(sample);
  }
  std::ranges::sort(numbers);
  return numbers;
}

double Between(double low, double high, double fraction) {
  if (low == high || fraction == 0) return low;
  return (1 - fraction) * low + fraction * high;  // no overflow, unlike low + f * (high - low)
}

// Neumaier's compensated sum.
double Sum(std::span<const double> values) {
  double sum = 0, lost = 0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return std::isfinite(lost) ? sum + lost : sum;
}

double Mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double sum = Sum(values);
  const bool finite = std::isfinite(values.front()) && std::isfinite(values.back());
  if (std::isfinite(sum) || !finite) return sum / n;
  double mean = 0;  // the sum overflowed though no value is infinite
  for (const double value : values) mean += value / n;
  return mean;
}

double StandardDeviation(std::span<const double> values, double mean) {
  double scale = 0;  // against overflow of the squares
  for (const double value : values) scale = std::max(scale, std::abs(value - mean));
  if (scale == 0) return 0;
  if (!std::isfinite(scale)) return kNaN;
  double squares = 0;
  for (const double value : values) {
    const double apart = (value - mean) / scale;
    squares += apart * apart;  // std::pow rounds otherwise in a build without optimisation
  }
  return scale * std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The two middle values of a resample, by their places among the sorted ones.
struct MiddlePlaces {
  std::uint32_t lower, upper;
};

// By counting how often each value was drawn: O(n).
MiddlePlaces DrawMiddle(std::size_t n, std::uint64_t seed, std::uint64_t resample,
                        std::vector<std::uint32_t>& counts) {
  counts.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) ++counts[DrawIndex(seed, resample * n + i, n)];
  const std::size_t lower = (n - 1) / 2, upper = n / 2;
  std::uint32_t seen = 0, at = 0;
  while (seen + counts[at] <= lower) seen += counts[at++];
  const std::uint32_t low = at;
  while (seen + counts[at] <= upper) seen += counts[at++];
  return {low, at};
}

// Those of all resamples of n values. They depend on n and the seed alone, and a report asks for
// the same ones thousands of times.
const std::vector<MiddlePlaces>& Middles(std::size_t n, std::uint64_t seed) {
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, std::uint64_t>, std::vector<MiddlePlaces>> known;
  const std::lock_guard lock(mutex);
  std::vector<MiddlePlaces>& middles = known[{n, seed}];
  std::vector<std::uint32_t> counts;
  while (middles.size() < kResamples) {
    middles.push_back(DrawMiddle(n, seed, middles.size(), counts));
  }
  return middles;
}

double Median(std::span<const double> sorted, MiddlePlaces middle) {
  return Between(sorted[middle.lower], sorted[middle.upper], 0.5);
}

double ResampledMean(std::span<const double> sorted, std::uint64_t seed, std::uint64_t resample) {
  const std::size_t n = sorted.size();
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mean += sorted[DrawIndex(seed, resample * n + i, n)] / static_cast<double>(n);
  }
  return mean;
}

Interval Percentile(double estimate, std::vector<double> resampled) {
  std::ranges::sort(resampled);
  return {estimate, SortedQuantile(resampled, kTail), SortedQuantile(resampled, 1 - kTail),
          IntervalMethod::kBootstrap};
}

// The cases in which nothing can be resampled.
bool Degenerate(std::span<const double> sorted) {
  return sorted.size() < 2;
}

Interval DegenerateInterval(std::span<const double> sorted) {
  if (sorted.empty()) return {kNaN, kNaN, kNaN, IntervalMethod::kNone};
  return {sorted[0], sorted[0], sorted[0], IntervalMethod::kPoint};
}

Interval OrderStatisticInterval(std::span<const double> sorted, double error) {
  using boost::math::binomial_distribution;
  const std::size_t n = sorted.size();
  const double median = SortedQuantile(sorted, 0.5), tail = error / 2;
  if (n == 0 || std::ldexp(1.0, -static_cast<int>(std::min<std::size_t>(n, 1000))) > tail) {
    return {median, kNaN, kNaN, IntervalMethod::kNone};
  }
  const binomial_distribution<double> below(static_cast<double>(n), 0.5);
  auto k = static_cast<std::int64_t>(boost::math::quantile(below, tail));
  while (k > 0 && boost::math::cdf(below, static_cast<double>(k)) > tail) --k;
  const auto first = static_cast<std::size_t>(k);
  return {median, sorted[first], sorted[n - 1 - first], IntervalMethod::kOrderStatistic};
}

Interval SortedMedianInterval(std::span<const double> sorted, std::uint64_t seed) {
  if (Degenerate(sorted)) return DegenerateInterval(sorted);
  if (sorted.size() > kLarge) return OrderStatisticInterval(sorted, 2 * kTail);
  std::vector<double> medians;
  for (const MiddlePlaces middle : Middles(sorted.size(), seed)) {
    medians.push_back(Median(sorted, middle));
  }
  return Percentile(SortedQuantile(sorted, 0.5), std::move(medians));
}

}  // namespace

double SortedQuantile(std::span<const double> ascending, double fraction) {
  if (ascending.empty()) return kNaN;
  const double position =
      std::clamp(fraction, 0.0, 1.0) * static_cast<double>(ascending.size() - 1);
  const auto index = static_cast<std::size_t>(position);
  if (index + 1 >= ascending.size()) return ascending.back();
  return Between(ascending[index], ascending[index + 1], position - static_cast<double>(index));
}

double Quantile(std::span<const double> samples, double fraction) {
  return SortedQuantile(SortedNumbers(samples), fraction);
}

Interval MedianInterval(std::span<const double> samples, std::uint64_t seed) {
  return SortedMedianInterval(SortedNumbers(samples), seed);
}

Interval MedianBounds(std::span<const double> samples, double error) {
  return OrderStatisticInterval(SortedNumbers(samples), error);
}

Interval MeanInterval(std::span<const double> samples, std::uint64_t seed) {
  const std::vector<double> sorted = SortedNumbers(samples);
  if (Degenerate(sorted)) return DegenerateInterval(sorted);
  const double mean = Mean(sorted);
  if (!std::isfinite(mean)) return {mean, mean, mean, IntervalMethod::kNone};
  if (sorted.size() > kLarge) {
    const double half = kNormalQuantile * StandardDeviation(sorted, mean) /
                        std::sqrt(static_cast<double>(sorted.size()));
    return {mean, mean - half, mean + half, IntervalMethod::kNormal};
  }
  std::vector<double> means(kResamples);
  for (std::size_t r = 0; r < kResamples; ++r) means[r] = ResampledMean(sorted, seed, r);
  return Percentile(mean, std::move(means));
}

Summary Summarise(std::span<const double> samples, std::uint64_t seed) {
  const std::vector<double> sorted = SortedNumbers(samples);
  Summary summary{};
  summary.n = static_cast<std::int64_t>(sorted.size());
  summary.failures = static_cast<std::int64_t>(samples.size() - sorted.size());
  const Interval median = SortedMedianInterval(sorted, seed);
  summary.median = median.estimate;
  summary.ci_low = median.low;
  summary.ci_high = median.high;
  summary.mean = sorted.empty() ? kNaN : Mean(sorted);
  summary.std = sorted.size() < 2 ? kNaN : StandardDeviation(sorted, summary.mean);
  summary.min = sorted.empty() ? kNaN : sorted.front();
  summary.max = sorted.empty() ? kNaN : sorted.back();
  return summary;
}

Interval PairedRatio(std::span<const PairedBlock> blocks, std::uint64_t seed) {
  std::vector<double> ratios;
  for (const PairedBlock& block : blocks) {
    if (block.b != 0) ratios.push_back(block.a / block.b);  // NaNs fall out below
  }
  return MedianInterval(ratios, seed);
}

Interval RatioOfMedians(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  const std::vector<double> top = SortedNumbers(a), bottom = SortedNumbers(b);
  const double ratio = SortedQuantile(top, 0.5) / SortedQuantile(bottom, 0.5);
  if (top.empty() || bottom.empty()) return {kNaN, kNaN, kNaN, IntervalMethod::kNone};
  if (Degenerate(top) && Degenerate(bottom)) return {ratio, ratio, ratio, IntervalMethod::kPoint};
  if (top.size() > kLarge || bottom.size() > kLarge) {
    // Each side's 95 % interval at the other's worst end: at least 95 % for the ratio of positives,
    // since both ends would have to fail against it; by this n both are narrow.
    const Interval above = SortedMedianInterval(top, seed);
    const Interval below = SortedMedianInterval(bottom, seed + 1);
    return {ratio, above.low / below.high, above.high / below.low, IntervalMethod::kOrderStatistic};
  }
  const auto& above = Middles(top.size(), seed);
  const auto& below = Middles(bottom.size(), ~seed);  // another stream
  std::vector<double> ratios;
  for (std::size_t r = 0; r < kResamples; ++r) {
    ratios.push_back(Median(top, above[r]) / Median(bottom, below[r]));
  }
  return Percentile(ratio, std::move(ratios));
}

double Drift(std::span<const double> samples) {
  if (samples.size() < 9) return 0;
  const std::size_t third = samples.size() / 3;
  return Quantile(samples.last(third), 0.5) / Quantile(samples.first(third), 0.5) - 1;
}

}  // namespace retable::harness
