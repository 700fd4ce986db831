#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/crc.hpp>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "base/csv/number.hpp"

namespace retable::quantiles {
namespace {

constexpr std::size_t kBytes = 84;
constexpr std::size_t kLogBytes = 49;    //!< more with log moments
constexpr std::size_t kExtraBytes = 14;  //!< more with infinite values or imprecise moments
constexpr int kMomentBits = 26;
constexpr double kMomentUnit = (1 << (kMomentBits - 1)) - 1;
constexpr double kQuantisedNoise = 1e-7;
//! Errors of moments that the two forms without one stand for, and of the versions before.
constexpr double kRoundedOnce = 2e-8;
constexpr double kRoundedOften = 1e-7;
constexpr double kOldError = 1e-6;
//! Moments that are rounded already move by less.
constexpr double kUnmoved = 1e-12;
constexpr double kDeviceError = 1e-11;
constexpr double kLeastHalfRange = 1e-305;

//! Appends numbers bit by bit, least significant first.
class BitWriter {
 public:
  void Put(std::uint64_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++used_) {
      if (used_ % 8 == 0) bytes_.push_back(std::byte{0});
      if ((value >> i) & 1) bytes_.back() |= std::byte{1} << (used_ % 8);
    }
  }
  void PadToByte() { used_ = bytes_.size() * 8; }
  //! Whole bytes; the last bit put must end a byte.
  void Append(const std::vector<std::byte>& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    PadToByte();
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

//! Reads what BitWriter wrote. The caller has checked the length.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t Take(int bits) {
    std::uint64_t value = 0;
    for (int i = 0; i < bits; ++i, ++used_) {
      const bool bit = (bytes_[used_ / 8] >> (used_ % 8) & std::byte{1}) != std::byte{0};
      value |= std::uint64_t{bit} << i;
    }
    return value;
  }
  std::int64_t TakeSigned(int bits) {
    const std::uint64_t value = Take(bits);
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    return static_cast<std::int64_t>(value ^ sign) - static_cast<std::int64_t>(sign);
  }
  void SkipToByte() { used_ = (used_ + 7) / 8 * 8; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t used_ = 0;
};

//! Moments, and two bits that say more. @return the largest error of rounding
double PutMoments(BitWriter& out, ChebyshevSums sums, int order) {
  if (sums.sum[0] > 0) sums.MoveTo(ChebyshevMap::Of(sums.min, sums.max), order);
  double rounding = 0;
  for (int k = 1; k <= kMaxOrder; ++k) {
    const double mu = k <= order && sums.sum[0] > 0 ? sums.sum[k] / sums.sum[0] : 0;
    const auto q = static_cast<std::int64_t>(std::llround(std::clamp(mu, -1.0, 1.0) * kMomentUnit));
    rounding = std::max(rounding, std::abs(static_cast<double>(q) / kMomentUnit - mu));
    out.Put(static_cast<std::uint64_t>(q), kMomentBits);
  }
  return rounding;
}

void TakeMoments(BitReader& in, ChebyshevSums& sums, int order) {
  sums.map = ChebyshevMap::Of(sums.min, sums.max);
  for (int k = 1; k <= kMaxOrder; ++k) {
    const auto q = static_cast<double>(in.TakeSigned(kMomentBits));
    Require(std::abs(q) <= kMomentUnit, "sketch: a moment exceeds 1");
    Require(k <= order || q == 0, "sketch: a moment beyond the order");
    sums.sum[k] = q / kMomentUnit * sums.sum[0];
  }
}

float RoundedUp(double x) {
  const auto y = static_cast<float>(x);
  return static_cast<double>(y) < x ? std::nextafter(y, 2.0f) : y;
}

}  // namespace

std::uint16_t SketchChecksum(std::span<const std::byte> bytes) {
  boost::crc_optimal<16, 0x1021, 0xffff, 0, false, false> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return static_cast<std::uint16_t>(crc.checksum());
}

ChebyshevSketch::ChebyshevSketch(int order, bool log)
    : sums_(order), log_(log), log_sums_(order, false) {}

void ChebyshevSketch::update(std::span<const float> values) {
  Feed(values);
}
void ChebyshevSketch::update(std::span<const double> values) {
  Feed(values);
}

template <class Real>
void ChebyshevSketch::Feed(std::span<const Real> values) {
  RequireRoom(values.size());
  sums_.Update(values);
  if (!log_ || sums_.sums().min <= 0) return;
  constexpr std::size_t kBlock = 4096;
  std::array<double, kBlock> logs;
  while (!values.empty()) {
    const std::size_t n = std::min(kBlock, values.size());
    for (std::size_t i = 0; i < n; ++i) logs[i] = std::log(static_cast<double>(values[i]));
    log_sums_.Update(std::span<const double>(logs.data(), n));
    values = values.subspan(n);
  }
}

void ChebyshevSketch::merge(const QuantileSketch& other) {
  const auto* same = dynamic_cast<const ChebyshevSketch*>(&other);
  Require(same != nullptr && same->sums_.order() == sums_.order() && same->log_ == log_,
          "merge of Retable with another method or order");
  RequireRoom(same->count());
  noise_ = std::max(noise_, same->noise_);
  sums_.Merge(same->sums_);
  if (log_) log_sums_.Merge(same->log_sums_);
}

void ChebyshevSketch::RequireRoom(std::size_t more) const {
  constexpr std::size_t kMost = std::size_t{1} << 53;
  if (more > kMost - count()) throw std::length_error("a sketch counts up to 2^53 values");
}

std::size_t ChebyshevSketch::count() const {
  return static_cast<std::size_t>(sums_.sums().sum[0]) + infinities().count();
}

std::size_t ChebyshevSketch::bytes() const {
  return Serialize().size();
}

std::unique_ptr<QuantileSketch> ChebyshevSketch::empty_clone() const {
  return std::make_unique<ChebyshevSketch>(sums_.order(), log_);
}

bool ChebyshevSketch::HasLogs() const {
  return log_ && sums_.sums().min > 0 && log_sums_.sums().sum[0] == sums_.sums().sum[0];
}

void ChebyshevSketch::Absorb(const ColumnSums& sums, double noise, double rounding) {
  noise_ = std::max(noise_, noise);
  const Precision precision{std::max(2 * noise, kDeviceError), rounding};
  sums_.Merge(sums.sums, sums.digits, precision);
  if (log_) log_sums_.Merge(sums.log_sums, kNoLattice, precision);
}

FitInput ChebyshevSketch::Input() const {
  const ChebyshevSums& sums = sums_.sums();
  if (sums.sum[0] == 0) throw std::logic_error("quantiles of an empty stream");
  if (sums.min < sums.max && sums.map.half < kLeastHalfRange) {
    throw SketchFailure("the range of the stream is too narrow for moments: below 2e-305");
  }
  const Precision& precision = sums_.precision();
  const double error =
      kMoveGrowth * std::max(precision.error, HasLogs() ? log_sums_.precision().error : 0);
  FitInput input{sums, {}, sums_.order(), sums_.digits(), noise_, error, precision.rounding};
  if (HasLogs()) input.log_sums = log_sums_.sums();
  return input;
}

double ChebyshevSketch::UpTo(double x) const {
  const int digits = sums_.digits();
  const double rounding = sums_.precision().rounding;
  if (digits > kMaxDigits || !LatticeIsFiner(std::abs(x), digits, rounding) ||
      !IsOnLattice(x, digits, rounding)) {
    return x;
  }
  const double decimal = std::round(x * PowerOfTen(digits)) / PowerOfTen(digits);
  return decimal + std::abs(decimal) * rounding;
}

std::vector<double> ChebyshevSketch::finite_quantiles(std::span<const double> phis) const {
  const ChebyshevFit fit(Input());
  std::vector<double> values = fit.Quantiles(phis);
  CheckRanks(fit, values, phis,
             [&](std::size_t i) { return "the " + FormatNumber(phis[i]) + "-quantile"; });
  return values;
}

void ChebyshevSketch::CheckRanks(const ChebyshevFit& fit, std::span<const double> values,
                                 std::span<const double> phis,
                                 const std::function<std::string(std::size_t)>& what) const {
  // Ranks ascend with the answers: those of some answers bound those between, loosely.
  const std::size_t stride = phis.size() / 32 + 1;
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += stride) some.push_back(values[i]);
  const std::vector<RankBounds> known = fit.Ranks(some);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i / stride;
    const double below = at + 1 < known.size() ? known[at + 1].below : 1;
    const RankBounds loose{known[at].through, i % stride == 0 ? known[at].below : below};
    if (loose.Error(phis[i]) <= kUselessRankBound) continue;
    const double bound = fit.Ranks({&values[i], 1}).front().Error(phis[i]);
    if (!(bound > kUselessRankBound)) continue;
    throw SketchFailure("the moments do not determine " + what(i) + ": the rank may be off by " +
                        std::to_string(bound) + ", more than " + std::to_string(kUselessRankBound) +
                        (log_ || sums_.sums().min <= 0
                             ? ""
                             : "; a sketch with moments of log x (log = true) may determine them"));
  }
}

std::vector<double> ChebyshevSketch::density(std::span<const double> xs) const {
  const ChebyshevFit fit(Input());
  if (fit.status().basis != "identity" && fit.status().basis != "log") {
    throw SketchFailure("a stream of few distinct values has no density");
  }
  std::vector<double> out;
  for (const double x : xs) out.push_back(fit.Density(x));
  return out;
}

SketchAnswer ChebyshevSketch::Ask(std::span<const double> phis) const {
  const ChebyshevFit fit(Input());
  SketchAnswer answer{fit.Quantiles(phis), {}, fit.status()};
  const std::vector<RankBounds> ranks = fit.Ranks(answer.values);
  for (std::size_t i = 0; i < phis.size(); ++i) {
    answer.rank_bound.push_back(ranks[i].Error(phis[i]));
  }
  return answer;
}

std::vector<std::byte> ChebyshevSketch::Serialize() const {
  const ChebyshevSums& sums = sums_.sums();
  const Infinities& infinite = infinities();
  if (!(sums.sum[0] < 0x1p44) || !(std::max(sums.at_min, sums.at_max) < 0x1p40) ||
      !(static_cast<double>(std::max(infinite.low, infinite.high)) < 0x1p40)) {
    throw std::length_error("sketch: too many values for its serialised form");
  }
  BitWriter out;
  out.Put(log_ ? 4 : 3, 4);
  out.Put(static_cast<std::uint64_t>(sums_.digits()), 4);
  out.Put(static_cast<std::uint64_t>(sums.sum[0]), 44);
  out.Put(static_cast<std::uint64_t>(sums_.order()), 4);
  out.Put(std::bit_cast<std::uint64_t>(sums.min), 64);
  out.Put(std::bit_cast<std::uint64_t>(sums.max), 64);
  out.Put(static_cast<std::uint64_t>(sums.at_min), 40);
  out.Put(static_cast<std::uint64_t>(sums.at_max), 40);
  // The logarithms' moments are rounded first: the bits that follow x's say how precise all are.
  BitWriter log_out;
  double moved = 0;
  double error = sums_.precision().error;
  if (HasLogs()) {
    moved = PutMoments(log_out, log_sums_.sums(), sums_.order());
    error = std::max(error, log_sums_.precision().error);
  } else {
    PutMoments(log_out, {}, sums_.order());
  }
  moved = std::max(moved, PutMoments(out, sums, sums_.order()));
  if (moved > kUnmoved) error += moved;
  out.Put(sums_.precision().rounding > kRounding<double> ? 1 : 0, 1);
  out.Put(error > kRoundedOnce ? 1 : 0, 1);
  log_out.PadToByte();
  if (log_) out.Append(log_out.bytes());
  if (infinite.count() > 0 || error > kRoundedOften) {
    out.Put(infinite.low, 40);
    out.Put(infinite.high, 40);
    out.Put(std::bit_cast<std::uint32_t>(RoundedUp(error)), 32);
  }
  out.Put(SketchChecksum(out.bytes()), 16);
  return std::move(out.bytes());
}

namespace {

//! The header's numbers, checked.
ChebyshevSums TakeEnds(BitReader& in, int& order) {
  ChebyshevSums sums;
  sums.sum[0] = static_cast<double>(in.Take(44));
  order = static_cast<int>(in.Take(4));
  Require(order >= 1, "sketch: order 0");
  sums.min = std::bit_cast<double>(in.Take(64));
  sums.max = std::bit_cast<double>(in.Take(64));
  Require(sums.min <= sums.max, "sketch: minimum above maximum");
  sums.at_min = static_cast<double>(in.Take(40));
  sums.at_max = static_cast<double>(in.Take(40));
  if (sums.sum[0] > 0) {
    Require(std::isfinite(sums.min) && std::isfinite(sums.max), "sketch: an infinite bound");
    Require(sums.at_min >= 1 && sums.at_max >= 1, "sketch: nothing on an end");
    const double ends = sums.min == sums.max ? sums.at_min : sums.at_min + sums.at_max;
    Require(ends <= sums.sum[0], "sketch: more values on the ends than in all");
  } else {
    Require(sums.at_min == 0 && sums.at_max == 0, "sketch: values on the ends of nothing");
  }
  return sums;
}

}  // namespace

std::unique_ptr<ChebyshevSketch> ChebyshevSketch::Deserialize(std::span<const std::byte> bytes) {
  Require(!bytes.empty(), "sketch: no bytes");
  BitReader in(bytes);
  const std::uint64_t version = in.Take(4);
  Require(version >= 1 && version <= 4, "sketch: unknown version ", version,
          "; this program reads 1 to 4");
  const bool old = version <= 2;
  const bool log = version % 2 == 0;
  const std::size_t plain = log ? kBytes + kLogBytes : kBytes;
  const bool extra = !old && bytes.size() == plain + kExtraBytes;
  Require(extra || bytes.size() == plain, "sketch: ", bytes.size(), " bytes, where version ",
          version, " has ", plain);
  // Behind a checksum of two equal bytes zeros have a right checksum again.
  const auto behind = bytes.subspan(plain);
  Require(!extra || std::any_of(behind.begin(), behind.end(),
                                [](std::byte b) { return b != std::byte{0}; }),
          "zeros behind a sketch");
  const int digits = static_cast<int>(in.Take(4));
  Require(digits <= kMaxDigits || digits == kNoLattice, "sketch: impossible number of digits");
  int order = 0;
  const ChebyshevSums ends = TakeEnds(in, order);
  ChebyshevSums sums = ends;
  TakeMoments(in, sums, order);
  const bool single = in.Take(1) != 0 || old;
  const bool often = in.Take(1) != 0;
  Precision precision{often ? kRoundedOften : kRoundedOnce,
                      single ? kRounding<float> : kRounding<double>};
  if (old) precision.error = kOldError;
  auto sketch = std::make_unique<ChebyshevSketch>(order, log);
  ChebyshevSums logs = ends;
  if (log) {
    logs.min = sums.min > 0 ? std::log(sums.min) : 0;
    logs.max = sums.min > 0 ? std::log(sums.max) : 0;
    TakeMoments(in, logs, order);
    in.SkipToByte();
  }
  if (extra) {
    Infinities infinite;
    infinite.low = in.Take(40);
    infinite.high = in.Take(40);
    const auto error = std::bit_cast<float>(static_cast<std::uint32_t>(in.Take(32)));
    Require(error >= 0 && std::isfinite(error), "sketch: an impossible error of moments");
    precision.error = static_cast<double>(error);
    sketch->sums_.Count(infinite);
  }
  Require(in.Take(16) == SketchChecksum(bytes.first(bytes.size() - 2)), "sketch: checksum differs");
  sketch->sums_.Merge(sums, digits, precision);
  if (log && sums.min > 0) sketch->log_sums_.Merge(logs, kNoLattice, precision);
  sketch->noise_ = std::max(kQuantisedNoise, extra ? precision.error : 0);
  return sketch;
}

namespace {

RETABLE_REGISTER(QuantileSketch, retable, (ChebyshevMethod<ChebyshevSketch>(Device::kCpu)));

}  // namespace

}  // namespace retable::quantiles
