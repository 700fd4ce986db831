#include "algorithms/shuffle/quality/statistics.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace retable::shuffle {
namespace {

double PairsOf(std::uint64_t n) {
  return static_cast<double>(n) * static_cast<double>(n - 1) / 2;
}

// E exp(-rate * inversions) = prod_j (1 - q^j) / (j (1 - q)), q = exp(-rate).
double InversionTransform(std::uint64_t n, double rate) {
  double log_product = 0;
  for (std::uint64_t j = 1; j <= n; ++j) {
    const double ratio = std::expm1(-rate * static_cast<double>(j)) / std::expm1(-rate);
    log_product += std::log(ratio / static_cast<double>(j));
  }
  return std::exp(log_product);
}

// E t^(fixed points) = sum_{k <= n} (t - 1)^k / k!.
double FixedPointTransform(std::uint64_t n, double t) {
  double sum = 1, term = 1;
  for (std::uint64_t k = 1; k <= n && k < 60; ++k) sum += term *= (t - 1) / static_cast<double>(k);
  return sum;
}

// E exp(-power lambda (n - fixed points) / n): a moment of the Hamming kernel.
double HammingMoment(std::uint64_t n, double lambda, int power) {
  const double rate = power * lambda;
  return std::exp(-rate) * FixedPointTransform(n, std::exp(rate / static_cast<double>(n)));
}

}  // namespace

std::uint64_t PermutationRank(std::span<const std::uint32_t> order) {
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::uint64_t smaller = 0;
    for (std::size_t j = i + 1; j < order.size(); ++j) smaller += order[j] < order[i];
    rank = rank * (order.size() - i) + smaller;
  }
  return rank;
}

std::vector<std::uint32_t> LehmerCode(std::span<const std::uint32_t> order) {
  const std::size_t n = order.size();
  std::vector<std::uint32_t> tree(n + 1, 0), code(n);
  for (std::size_t i = n; i-- > 0;) {  // a Fenwick tree of the later values
    std::uint32_t smaller = 0;
    for (std::size_t v = order[i]; v > 0; v &= v - 1) smaller += tree[v];
    code[i] = smaller;
    for (std::size_t v = order[i] + std::size_t{1}; v <= n; v += v & (0 - v)) ++tree[v];
  }
  return code;
}

std::uint64_t Inversions(std::span<const std::uint32_t> order) {
  const std::vector<std::uint32_t> code = LehmerCode(order);
  return std::accumulate(code.begin(), code.end(), std::uint64_t{0});
}

std::uint64_t Discordant(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::vector<std::uint32_t> relabelled(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) relabelled[a[i]] = b[i];
  return Inversions(relabelled);
}

std::uint64_t Cycles(std::span<const std::uint32_t> order) {
  std::vector<bool> seen(order.size(), false);
  std::uint64_t cycles = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (seen[i]) continue;
    ++cycles;
    for (std::size_t j = i; !seen[j]; j = order[j]) seen[j] = true;
  }
  return cycles;
}

std::uint64_t FixedPoints(std::span<const std::uint32_t> order) {
  std::uint64_t fixed = 0;
  for (std::size_t i = 0; i < order.size(); ++i) fixed += order[i] == i;
  return fixed;
}

std::uint64_t Ascents(std::span<const std::uint32_t> order) {
  std::uint64_t ascents = 0;
  for (std::size_t i = 1; i < order.size(); ++i) ascents += order[i - 1] < order[i];
  return ascents;
}

bool IsOdd(std::span<const std::uint32_t> order) {
  return (order.size() - Cycles(order)) % 2 == 1;
}

double ChiSquared(std::span<const std::uint64_t> counts) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    sum += difference * difference / expected;
  }
  return sum;
}

double ChiSquaredTail(double statistic, double degrees) {
  return boost::math::cdf(complement(boost::math::chi_squared(degrees), statistic));
}

double ChiSquaredThreshold(double alpha, double degrees) {
  return boost::math::quantile(complement(boost::math::chi_squared(degrees), alpha));
}

double NormalTwoSided(double z) {
  return std::erfc(std::fabs(z) / std::sqrt(2.0));
}

double MallowsMean(std::uint64_t n, double lambda) {
  return n < 2 ? 1 : InversionTransform(n, lambda / PairsOf(n));
}

double MallowsVariance(std::uint64_t n, double lambda) {
  const double mean = MallowsMean(n, lambda);
  return MallowsMean(n, 2 * lambda) - mean * mean;
}

double MallowsKernel(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                     double lambda) {
  return std::exp(-lambda * static_cast<double>(Discordant(a, b)) / PairsOf(a.size()));
}

double MmdSquared(std::span<const double> kernel_values, double mean) {
  if (kernel_values.empty()) throw std::invalid_argument("MMD needs at least one pair of orders");
  return std::accumulate(kernel_values.begin(), kernel_values.end(), 0.0) /
             static_cast<double>(kernel_values.size()) -
         mean;
}

double HoeffdingThreshold(std::uint64_t orders, double alpha) {
  return std::sqrt(std::log(2 / alpha) / static_cast<double>(orders));
}

double NormalThreshold(std::uint64_t orders, double variance, double alpha) {
  const double of_mean = 2 * variance / static_cast<double>(orders);
  return std::sqrt(2 * of_mean) * boost::math::erf_inv(1 - alpha);
}

TestResult Battery::Sum::Result(const std::string& name) const {
  const double n = static_cast<double>(count);
  const double z = (total - n * mean) / std::sqrt(n * variance);
  return {name, z, NormalTwoSided(z)};
}

Battery::Battery(std::uint32_t n, double lambda) : n_(n), lambda_(lambda) {
  if (n < 2 || n > 65536)
    throw std::invalid_argument("the battery takes orders of 2 to 65536 items");
  const double size = n;
  ascents_ = {(size - 1) / 2, (size + 1) / 12};
  inversions_ = {size * (size - 1) / 4, size * (size - 1) * (2 * size + 5) / 72};
  fixed_ = {1, 1};
  double harmonic = 0, squares = 0;
  for (std::uint32_t k = 1; k <= n; ++k) {
    harmonic += 1.0 / k;
    squares += 1.0 / (static_cast<double>(k) * k);
  }
  cycles_ = {harmonic, harmonic - squares};
  mallows_ = {MallowsMean(n, lambda), MallowsVariance(n, lambda)};
  const double one = HammingMoment(n, lambda, 1);
  hamming_ = {one, HammingMoment(n, lambda, 2) - one * one};
  spearman_ = {0, 1 / (size - 1)};
  sign_ = {0, 1};
  if (n <= 8) {
    std::uint64_t factorial = 1;
    for (std::uint32_t k = 2; k <= n; ++k) factorial *= k;
    orders_.assign(factorial, 0);
  }
  if (n <= 1024) pairs_.assign(std::size_t{n} * (n - 1), 0);
  if (n <= 1024) {
    lehmer_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) lehmer_[i].assign(n - i, 0);
  }
}

void Battery::Add(std::span<const std::uint32_t> order) {
  if (order.size() != n_) throw std::invalid_argument("an order of another length");
  ++samples_;
  const std::uint64_t cycles = Cycles(order);
  const bool odd = (n_ - cycles) % 2 == 1;
  odd_ += odd;
  ascents_.Add(static_cast<double>(Ascents(order)));
  inversions_.Add(static_cast<double>(Inversions(order)));
  fixed_.Add(static_cast<double>(FixedPoints(order)));
  cycles_.Add(static_cast<double>(cycles));
  if (!orders_.empty()) ++orders_[PermutationRank(order)];
  if (!pairs_.empty())
    ++pairs_[std::size_t{order[0]} * (n_ - 1) + order[1] - (order[1] > order[0])];
  if (!lehmer_.empty()) {
    const auto code = LehmerCode(order);
    for (std::uint32_t i = 0; i + 1 < n_; ++i) ++lehmer_[i][code[i]];
  }
  if (!have_last_) {
    last_.assign(order.begin(), order.end());
    have_last_ = true;
    return;
  }
  // The second of a pair: kernels between it and the one before.
  have_last_ = false;
  mallows_.Add(MallowsKernel(last_, order, lambda_));
  std::uint64_t equal = 0;
  double product = 0;
  const double middle = (n_ - 1) / 2.0;
  for (std::uint32_t i = 0; i < n_; ++i) {
    equal += last_[i] == order[i];
    product += (last_[i] - middle) * (order[i] - middle);
  }
  hamming_.Add(std::exp(-lambda_ * static_cast<double>(n_ - equal) / n_));
  spearman_.Add(product / (static_cast<double>(n_) * (static_cast<double>(n_) * n_ - 1) / 12));
  sign_.Add(IsOdd(last_) == odd ? 1 : -1);
}

void Battery::Merge(const Battery& other) {
  if (other.n_ != n_) throw std::invalid_argument("a battery of orders of another length");
  samples_ += other.samples_;
  odd_ += other.odd_;
  for (Sum Battery::*const sum :
       {&Battery::ascents_, &Battery::inversions_, &Battery::fixed_, &Battery::cycles_,
        &Battery::mallows_, &Battery::hamming_, &Battery::spearman_, &Battery::sign_}) {
    (this->*sum).total += (other.*sum).total;
    (this->*sum).count += (other.*sum).count;
  }
  const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  add(orders_, other.orders_);
  add(pairs_, other.pairs_);
  for (std::size_t i = 0; i < lehmer_.size(); ++i) add(lehmer_[i], other.lehmer_[i]);
}

void OrderBits::Append(std::uint32_t bits, int count) {
  pending_ |= static_cast<std::uint64_t>(bits) << pending_bits_;
  pending_bits_ += count;
  for (; pending_bits_ >= 8; pending_bits_ -= 8, pending_ >>= 8) {
    bytes_.push_back(static_cast<std::uint8_t>(pending_));
  }
}

void OrderBits::Add(std::span<const std::uint32_t> order) {
  const std::vector<std::uint32_t> code = LehmerCode(order);
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    auto range = static_cast<std::uint32_t>(code.size() - i);
    std::uint32_t digit = code[i];
    while (range > 1) {
      const int count = std::bit_width(range) - 1;
      const std::uint32_t part = 1u << count;
      if (digit < part) {
        Append(digit, count);
        break;
      }
      digit -= part;
      range -= part;
    }
  }
}

std::vector<std::uint8_t> OrderBits::Take() {
  return std::exchange(bytes_, {});
}

std::vector<TestResult> Battery::Results() const {
  std::vector<TestResult> results;
  if (samples_ == 0) return results;
  const double count = static_cast<double>(samples_);
  const double parity = (static_cast<double>(odd_) - count / 2) / std::sqrt(count / 4);
  results.push_back({"parity", parity, NormalTwoSided(parity)});
  const auto chi = [&](const std::string& name, const std::vector<std::uint64_t>& counts) {
    if (counts.size() < 2 || samples_ < 5 * counts.size()) return;
    const double statistic = ChiSquared(counts);
    results.push_back(
        {name, statistic, ChiSquaredTail(statistic, static_cast<double>(counts.size() - 1))});
  };
  chi("orders", orders_);
  chi("pairs", pairs_);
  double lehmer = 0, degrees = 0;
  for (const auto& digit : lehmer_) {
    if (digit.size() < 2 || samples_ < 5 * digit.size()) continue;
    lehmer += ChiSquared(digit);
    degrees += static_cast<double>(digit.size() - 1);
  }
  if (degrees > 0) results.push_back({"lehmer", lehmer, ChiSquaredTail(lehmer, degrees)});
  results.push_back(ascents_.Result("ascents"));
  results.push_back(inversions_.Result("inversions"));
  results.push_back(fixed_.Result("fixed points"));
  if (cycles_.variance > 0) results.push_back(cycles_.Result("cycles"));
  if (mallows_.count > 0) {
    results.push_back(mallows_.Result("mmd mallows"));
    results.push_back(hamming_.Result("mmd hamming"));
    results.push_back(spearman_.Result("mmd spearman"));
    results.push_back(sign_.Result("mmd sign"));
  }
  return results;
}

std::uint64_t Battery::LeastSamples(double alpha) const {
  // Of all sums that of the Hamming kernel is skewed the most. Beyond z standard deviations lies
  // cosh(skewness z^3 / (6 sqrt(pairs))) times what does of a normal value; a factor of 13 in one
  // of twelve tests doubles all rejections.
  constexpr double kTests = 12;
  constexpr std::uint64_t kFew = 100;  // of fewer no sum is normal
  const double mean = hamming_.mean, variance = hamming_.variance;
  const double third = HammingMoment(n_, lambda_, 3) - 3 * mean * variance - mean * mean * mean;
  const double z = std::sqrt(2.0) * boost::math::erfc_inv(alpha / kTests);
  const double root = third / std::pow(variance, 1.5) * z * z * z / 6 / std::acosh(kTests + 1);
  return std::max(kFew, 2 * static_cast<std::uint64_t>(std::ceil(root * root)));
}

double BonferroniP(const std::vector<TestResult>& results) {
  double smallest = 1;
  for (const auto& result : results) smallest = std::min(smallest, result.p);
  return std::min(1.0, smallest * static_cast<double>(results.size()));
}

}  // namespace retable::shuffle
