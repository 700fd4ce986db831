#include "algorithms/shapley/kernels/permutation_kernel.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "algorithms/common/require.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"

namespace retable::shapley {
namespace {

// The Mallows kernel has a table of 16 bytes for each number of discordant pairs: 4 GB at most.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 28;

}  // namespace

double MallowsMean(int d, double lambda) {
  if (d < 2 || lambda == 0) return 1;
  const double t = lambda / static_cast<double>(PairCount(d));
  double mean = 1;
  for (int j = 2; j <= d; ++j) mean *= std::expm1(-t * j) / (j * std::expm1(-t));
  return mean;
}

KernelKind KernelByName(const std::string& name) {
  if (name == "Mallows") return KernelKind::kMallows;
  if (name == "Kendall") return KernelKind::kKendall;
  if (name == "Spearman") return KernelKind::kSpearman;
  throw std::invalid_argument("no kernel \"" + name +
                              "\": Mallows, Kendall and Spearman are known");
}

PermutationKernel::PermutationKernel(KernelKind kind, double lambda, int d)
    : kind_(kind), d_(d), pairs_(PairCount(d)), words_(PairWords(d)), self_(1), mean_(1) {
  Require(d >= 1, "a kernel over permutations of less than one player");
  const double players = d;
  if (kind == KernelKind::kMallows) {
    Require(lambda >= 0 && std::isfinite(lambda),
            "lambda of the Mallows kernel must be finite and not negative");
    Require(pairs_ <= kMostPairs, "the Mallows kernel takes at most 23170 players, not ", d,
            ": its table grows with their square");
    mean_ = MallowsMean(d, lambda);
    for (std::int64_t n = 0; n <= pairs_; ++n) {
      value_.push_back(MallowsValue(n, pairs_, lambda));
      fixed_.push_back(std::llround(std::ldexp(value_.back(), 40)));
    }
  } else if (kind == KernelKind::kKendall) {
    mean_ = pairs_ == 0 ? 1 : 0;
  } else {
    words_ = (static_cast<std::size_t>(d) + 1) / 2;  // ranks of 32 bits
    self_ = players * (players + 1) * (2 * players + 1) / 6;
    mean_ = players * (players + 1) * (players + 1) / 4;
  }
}

void PermutationKernel::Encode(std::span<const std::int32_t> order,
                               std::span<std::uint64_t> code) const {
  if (kind_ != KernelKind::kSpearman) return EncodePairs(order, code);
  std::vector<std::uint32_t> ranks(words_ * 2, 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    ranks[static_cast<std::size_t>(order[k])] = static_cast<std::uint32_t>(k + 1);
  }
  std::memcpy(code.data(), ranks.data(), words_ * sizeof(std::uint64_t));
}

std::vector<std::uint64_t> PermutationKernel::EncodeAll(const PermutationSample& sample) const {
  std::vector<std::uint64_t> codes(sample.count() * words_);
  for (std::size_t i = 0; i < sample.count(); ++i) {
    Encode(sample.order(i), std::span(codes).subspan(i * words_, words_));
  }
  return codes;
}

std::int64_t PermutationKernel::Fixed(const std::uint64_t* a, const std::uint64_t* b) const {
  if (kind_ == KernelKind::kSpearman) {
    std::int64_t sum = 0;
    for (std::size_t w = 0; w < words_; ++w) sum += SpearmanPart(a[w], b[w]);
    return sum;
  }
  const std::int64_t discordant = Discordant(a, b, words_);
  return kind_ == KernelKind::kMallows ? fixed_[static_cast<std::size_t>(discordant)]
                                       : KendallFixed(discordant, pairs_);
}

double PermutationKernel::Value(const std::uint64_t* a, const std::uint64_t* b) const {
  if (kind_ == KernelKind::kMallows) {
    return value_[static_cast<std::size_t>(Discordant(a, b, words_))];
  }
  const auto fixed = static_cast<double>(Fixed(a, b));
  if (kind_ == KernelKind::kSpearman) return fixed;
  return pairs_ == 0 ? 1 : fixed / static_cast<double>(pairs_);
}

KernelTables PermutationKernel::Tables() const {
  KernelTables tables{d_, words_, kind_ == KernelKind::kSpearman, self_, fixed_, value_};
  if (kind_ == KernelKind::kKendall) {
    for (std::int64_t n = 0; n <= pairs_; ++n) {
      tables.fixed.push_back(KendallFixed(n, pairs_));
      tables.value.push_back(
          pairs_ == 0 ? 1 : static_cast<double>(tables.fixed.back()) / static_cast<double>(pairs_));
    }
  }
  return tables;
}

}  // namespace retable::shapley
