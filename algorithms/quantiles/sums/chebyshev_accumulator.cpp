#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/sums/order_dispatch.hpp"
#include "algorithms/quantiles/sums/simd.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

//! Largest errors of a mean of T_k, k <= 15: of a tile (512 additions a lane of terms of up to 2,
//! whose arguments are rounded: k^2 2^-52), of a move, of an addition.
constexpr double kTileError = 4e-13;
constexpr double kMoveError = 2e-13;
constexpr double kAdditionError = 2.3e-16;

//! Of eight lanes.
struct Bounds {
  double min[8], max[8], missing[8];
};

template <int W, class Real>
RETABLE_ALWAYS_INLINE void FindBounds(const Real* x, std::size_t eights, Bounds& bounds) {
  using V = Doubles<W>;
  V low = kInfinity, high = -kInfinity, missing;
  for (std::size_t i = 0; i < eights; ++i) {
    const V v = V::Load(x + 8 * i);
    low = Select(v < low, v, low);
    high = Select(v > high, v, high);
    missing += Select(v == v, V(0), V(1));
  }
  low.Store(bounds.min);
  high.Store(bounds.max);
  missing.Store(bounds.missing);
}

//! Sums of one tile without missing values, eight lanes each.
struct TileSums {
  double sum[kMaxOrder + 1][8], at_min[8], at_max[8];
};

template <int W, int L, class Real>
RETABLE_ALWAYS_INLINE void SumTile(const Real* x, std::size_t eights, double min, double max,
                                   double centre, double scale, TileSums& out) {
  // The lanes of one vector after the other, whose sums then fit into registers.
  using V = Doubles<W, W>;
  for (int lane = 0; lane < 8; lane += W) {
    V sum[L + 1], at_min, at_max;
    for (std::size_t i = 0; i < eights; ++i) {
      const V v = V::Load(x + 8 * i + lane);
      // Prefetches the next tile; a prefetch past the end does no harm.
      if (lane == 0) __builtin_prefetch(x + 8 * i + kCpuTile, 0, 2);
      at_min += Select(v == min, V(1), V(0));
      at_max += Select(v == max, V(1), V(0));
      AddChebyshevTerms<L, double>((v - centre) * scale, sum);
    }
    for (int k = 1; k <= L; ++k) sum[k].Store(out.sum[k] + lane);
    at_min.Store(out.at_min + lane);
    at_max.Store(out.at_max + lane);
  }
}

//! Whether every value times `power` is a whole number, up to the rounding of its type (`slack`).
template <int W, class Real>
RETABLE_ALWAYS_INLINE bool OnLattice(const Real* x, std::size_t eights, double power,
                                     double slack) {
  using V = Doubles<W>;
  V worst;
  for (std::size_t i = 0; i < eights; ++i) {
    V excess;
    LatticeExcess(V::Load(x + 8 * i), power, slack, excess);
    worst = Select(excess > worst, excess, worst);
  }
  for (int lane = 0; lane < 8; ++lane) {
    if (!(worst[lane] <= 0)) return false;
  }
  return true;
}

//! Copies a tile without NaN, padded with its minimum to a multiple of eight. {values, padding}.
template <class Real>
std::pair<std::size_t, std::size_t> CopyClean(const Real* values, std::size_t n, double min,
                                              std::array<Real, kCpuTile + 8>& clean) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {  // without a branch, which would be guessed wrong
    clean[kept] = values[i];
    kept += values[i] == values[i] ? 1 : 0;
  }
  const std::size_t padding = (8 - kept % 8) % 8;
  std::fill_n(clean.begin() + static_cast<std::ptrdiff_t>(kept), padding, static_cast<Real>(min));
  return {kept, padding};
}

}  // namespace

ChebyshevAccumulator::ChebyshevAccumulator(int order, bool find_lattice)
    : order_(CheckOrder(order)), digits_(find_lattice ? 0 : kNoLattice) {}

void ChebyshevAccumulator::Update(std::span<const float> values) {
  Feed(values);
}
void ChebyshevAccumulator::Update(std::span<const double> values) {
  Feed(values);
}

void ChebyshevAccumulator::Merge(const ChebyshevSums& sums, int digits,
                                 const Precision& precision) {
  ChebyshevSums theirs = sums;
  if (theirs.sum[0] == 0) return;
  const bool empty = sums_.sum[0] == 0;
  const ChebyshevMap before = sums_.map;
  sums_.Merge(theirs, order_);
  const bool moved = !(before == sums_.map && sums.map == sums_.map);
  const double added = empty ? 0 : moved ? kMoveError : kAdditionError;
  precision_.error = std::max(precision_.error, precision.error) + added;
  precision_.rounding = std::max(precision_.rounding, precision.rounding);
  digits_ = std::max(digits_, digits);
}

void ChebyshevAccumulator::Merge(const ChebyshevAccumulator& other) {
  infinities_.Merge(other.infinities_);
  Merge(other.sums_, other.digits_, other.precision_);
}

template <class Real>
void ChebyshevAccumulator::Feed(std::span<const Real> values) {
  while (!values.empty()) {
    const std::size_t n = std::min(kCpuTile, values.size());
    AddTile(values.data(), n);
    values = values.subspan(n);
  }
}

template <class Real>
void ChebyshevAccumulator::AddTile(const Real* values, std::size_t n) {
  Bounds lanes;
  std::size_t eights = n / 8;
  ByWidestVectors([&]<int W>() RETABLE_INLINED { FindBounds<W>(values, eights, lanes); });
  double min = kInfinity;
  double max = -kInfinity;
  double missing = 0;
  for (int lane = 0; lane < 8; ++lane) {
    min = std::min(min, lanes.min[lane]);
    max = std::max(max, lanes.max[lane]);
    missing += lanes.missing[lane];
  }
  for (std::size_t i = 8 * eights; i < n; ++i) {
    const double x = static_cast<double>(values[i]);
    min = x < min ? x : min;
    max = x > max ? x : max;
    missing += x == x ? 0 : 1;
  }
  if (std::isinf(min) || std::isinf(max)) {
    if (missing < static_cast<double>(n)) AddFinite(values, n);
    return;
  }
  // A tail of fewer than eight values, or NaN: a padded copy. The padding's terms are subtracted
  // below.
  std::array<Real, kCpuTile + 8> clean;
  std::size_t padding = 0;
  if (missing > 0 || n % 8 != 0) {
    std::tie(n, padding) = CopyClean(values, n, min, clean);
    if (n == 0) return;
    values = clean.data();
    eights = (n + padding) / 8;
  }
  ChebyshevSums tile;
  tile.min = min;
  tile.max = max;
  tile.map = ChebyshevMap::Of(min, max);
  double scale = tile.map.half > 0 ? 2 / tile.map.half : 0;
  if (!std::isfinite(scale)) {
    // The inverse of a range below 1e-308 overflows: every value counts as the centre.
    scale = 0;
    tile.map.half = 0;
  }
  TileSums sums;
  DispatchOrder(order_, [&](auto order) {
    ByWidestVectors([&]<int W>() RETABLE_INLINED {
      SumTile<W, order()>(values, eights, min, max, tile.map.centre, scale, sums);
    });
  });
  for (int lane = 0; lane < 8; ++lane) {
    for (int k = 1; k <= order_; ++k) tile.sum[k] += sums.sum[k][lane];
    tile.at_min += sums.at_min[lane];
    tile.at_max += sums.at_max[lane];
  }
  tile.sum[0] = static_cast<double>(n);
  if (padding > 0) {
    double term[kMaxOrder + 1] = {0};
    DispatchOrder(order_, [&](auto order) {
      AddChebyshevTerms<order(), double>((min - tile.map.centre) * scale, term);
    });
    const double copies = static_cast<double>(padding);
    for (int k = 1; k <= order_; ++k) tile.sum[k] -= copies * term[k];
    tile.at_min -= copies;
    if (min == max) tile.at_max -= copies;
  }
  RecoverSums(tile.sum, order_);

  const auto magnitude = [](double low, double high) {
    return std::max(std::abs(low), std::abs(high));
  };
  FindDigits(values, eights, std::max(magnitude(min, max), magnitude(sums_.min, sums_.max)));
  Merge(tile, digits_, {kTileError, kRounding<Real>});
}

template <class Real>
void ChebyshevAccumulator::AddFinite(const Real* values, std::size_t n) {
  std::array<Real, kCpuTile> finite;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!infinities_.Take(static_cast<double>(values[i]))) finite[kept++] = values[i];
  }
  if (kept > 0) AddTile(finite.data(), kept);
}

template <class Real>
void ChebyshevAccumulator::FindDigits(const Real* values, std::size_t eights, double magnitude) {
  constexpr double kSlack = kRounding<Real>;
  const auto on_lattice = [&](double power) {
    return ByWidestVectors(
        [&]<int W>() RETABLE_INLINED { return OnLattice<W>(values, eights, power, kSlack); });
  };
  while (digits_ <= kMaxDigits &&
         !(LatticeIsFiner(magnitude, digits_, kSlack) && on_lattice(PowerOfTen(digits_)))) {
    ++digits_;
  }
  if (digits_ > kMaxDigits) digits_ = kNoLattice;
}

}  // namespace retable::quantiles
