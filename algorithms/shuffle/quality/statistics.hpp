#pragma once
//! @file
//! Tests of whether permutations are uniform, each with its exact null mean and variance or
//! distribution.
//!
//! Problem: n! orders cannot be counted for n > 10 or so; a test looks at one aspect of an order
//! whose distribution under uniformity is known exactly. No single one sees everything: the paper's
//! two (all n! cells at n = 5, and the Mallows kernel) do not see that a cipher yields even
//! permutations only. So a battery:
//! - parity: odd permutations, half of them
//! - orders: all n! orders, n <= 8, chi-squared
//! - pairs: the places of items 0 and 1, n (n - 1) cells, chi-squared
//! - lehmer: digit i of the Lehmer code is uniform on {0..n-1-i}, all independent, chi-squared
//! - ascents: mean (n - 1) / 2, variance (n + 1) / 12
//! - inversions: mean n (n - 1) / 4, variance n (n - 1) (2 n + 5) / 72
//! - fixed points: mean 1, variance 1 (n >= 2)
//! - cycles: mean H_n, variance H_n - H_n^(2)
//! - mmd: pairs of orders under a kernel, Mallows (the paper's), Hamming, Spearman, sign
//! p-values are those of the upper tail for chi-squared, two-sided for the others; a battery's
//! verdict is Bonferroni-corrected. Cost: O(n log n) an order. Sources: Mitchell et al. 2022,
//! section 5 (MMD, equations 4 to 7); Knuth, TAOCP 3, 5.1 (inversions, ascents), TAOCP 1, 1.2.10
//! (cycles).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retable::shuffle {

using Permutation = std::vector<std::uint32_t>;

//! Lexicographic rank of a permutation of at most 12. O(n^2).
std::uint64_t PermutationRank(std::span<const std::uint32_t> order);
//! Lehmer code: digit i counts the later values smaller than order[i]. O(n log n).
std::vector<std::uint32_t> LehmerCode(std::span<const std::uint32_t> order);
//! Pairs i < j with order[i] > order[j]. O(n log n).
std::uint64_t Inversions(std::span<const std::uint32_t> order);
//! Pairs which a and b order differently (Kendall's distance). O(n log n).
std::uint64_t Discordant(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);
std::uint64_t Cycles(std::span<const std::uint32_t> order);
std::uint64_t FixedPoints(std::span<const std::uint32_t> order);
std::uint64_t Ascents(std::span<const std::uint32_t> order);
//! Whether the permutation is odd: n - cycles is.
bool IsOdd(std::span<const std::uint32_t> order);

//! Chi-squared against equal probabilities.
double ChiSquared(std::span<const std::uint64_t> counts);
//! P(X >= statistic) of a chi-squared distribution.
double ChiSquaredTail(double statistic, double degrees);
//! The value exceeded with probability alpha.
double ChiSquaredThreshold(double alpha, double degrees);
//! Two-sided p-value of a standard normal value.
double NormalTwoSided(double z);

//! The Mallows kernel exp(-lambda discordant / (n choose 2)): its mean and variance under
//! uniformity (the product formula of the paper).
double MallowsMean(std::uint64_t n, double lambda);
double MallowsVariance(std::uint64_t n, double lambda);
double MallowsKernel(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                     double lambda);

//! Equation 5 from kernel values of independent pairs: mean minus its expectation.
double MmdSquared(std::span<const double> kernel_values, double mean);
//! Equation 6: distribution-free threshold for `orders` permutations (twice the pairs).
double HoeffdingThreshold(std::uint64_t orders, double alpha);
//! Equation 7: normal threshold for `orders` permutations.
double NormalThreshold(std::uint64_t orders, double variance, double alpha);

//! Random bits of orders: each Lehmer digit is uniform on {0..r-1} and gives log2 of the largest
//! power of two p <= r if it is below p, else what its rest in {0..r-p-1} gives: exact, and
//! independent of all else (after Elias 1972). So any battery for bit streams tests permutations.
class OrderBits {
 public:
  //! Appends the bits of an order, lowest first in each byte. O(n log n).
  void Add(std::span<const std::uint32_t> order);
  //! Whole bytes so far; they are taken out.
  std::vector<std::uint8_t> Take();

 private:
  void Append(std::uint32_t bits, int count);

  std::vector<std::uint8_t> bytes_;
  std::uint64_t pending_ = 0;
  int pending_bits_ = 0;
};

struct TestResult {
  std::string test;
  double statistic = 0;  //!< a standard normal value, or chi-squared
  double p = 1;
};

//! Collects orders of n and tests them.
class Battery {
 public:
  //! @throws std::invalid_argument for n < 2 or n > 65536.
  explicit Battery(std::uint32_t n, double lambda = 5);
  void Add(std::span<const std::uint32_t> order);
  //! Takes over the counts of another battery of the same n. @throws std::invalid_argument else.
  void Merge(const Battery& other);
  std::uint64_t samples() const { return samples_; }
  //! All tests that apply to n and for which there are enough samples (chi-squared: five a cell).
  std::vector<TestResult> Results() const;
  //! The fewest orders of which sound shufflers are rejected at a corrected level of `alpha` with
  //! a probability of at most about twice that: sums of fewer have longer tails than a normal
  //! value. Precondition: 0 < alpha <= 1.
  std::uint64_t LeastSamples(double alpha) const;

 private:
  struct Sum {
    double mean = 0, variance = 1;  // of one value under the null
    double total = 0;
    std::uint64_t count = 0;
    void Add(double value) {
      total += value;
      ++count;
    }
    TestResult Result(const std::string& name) const;
  };

  std::uint32_t n_;
  double lambda_;
  std::uint64_t samples_ = 0, odd_ = 0;
  Sum ascents_, inversions_, fixed_, cycles_, mallows_, hamming_, spearman_, sign_;
  std::vector<std::uint64_t> orders_, pairs_;
  std::vector<std::vector<std::uint64_t>> lehmer_;
  Permutation last_;
  bool have_last_ = false;
};

//! The smallest p times the number of tests, at most 1.
double BonferroniP(const std::vector<TestResult>& results);

}  // namespace retable::shuffle
