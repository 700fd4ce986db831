#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {
namespace {

constexpr std::size_t kBytes = 84;
constexpr std::size_t kLogBytes = 133;
constexpr int kMomentBits = 26;
constexpr double kMomentUnit = (1 << (kMomentBits - 1)) - 1;
constexpr double kQuantisedNoise = 1e-7;

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

//! CRC-16/CCITT-FALSE.
std::uint16_t Checksum(std::span<const std::byte> bytes) {
  unsigned crc = 0xffff;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<unsigned>(b) << 8;
    for (int i = 0; i < 8; ++i) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return static_cast<std::uint16_t>(crc & 0xffff);
}

void PutMoments(BitWriter& out, ChebyshevSums sums, int order) {
  if (sums.sum[0] > 0 && std::isfinite(sums.min) && std::isfinite(sums.max)) {
    sums.MoveTo(ChebyshevMap::Of(sums.min, sums.max), order);
  } else {
    sums = {};
  }
  for (int k = 1; k <= kMaxOrder; ++k) {
    const double mu = k <= order && sums.sum[0] > 0 ? sums.sum[k] / sums.sum[0] : 0;
    const auto q = static_cast<std::int64_t>(std::llround(std::clamp(mu, -1.0, 1.0) * kMomentUnit));
    out.Put(static_cast<std::uint64_t>(q), kMomentBits);
  }
  out.PadToByte();
}

void TakeMoments(BitReader& in, ChebyshevSums& sums, int order) {
  sums.map = ChebyshevMap::Of(sums.min, sums.max);
  for (int k = 1; k <= kMaxOrder; ++k) {
    const auto q = static_cast<double>(in.TakeSigned(kMomentBits));
    if (std::abs(q) > kMomentUnit) throw std::invalid_argument("sketch: a moment exceeds 1");
    if (k > order && q != 0) throw std::invalid_argument("sketch: a moment beyond the order");
    sums.sum[k] = q / kMomentUnit * sums.sum[0];
  }
  in.SkipToByte();
}

void Require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(std::string("sketch: ") + what);
}

}  // namespace

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
  if (same == nullptr || same->sums_.order() != sums_.order() || same->log_ != log_) {
    throw std::invalid_argument("merge of Retable with another method or order");
  }
  noise_ = std::max(noise_, same->noise_);
  sums_.Merge(same->sums_.sums(), same->sums_.digits());
  if (log_) log_sums_.Merge(same->log_sums_.sums(), kNoLattice);
}

std::size_t ChebyshevSketch::count() const {
  return static_cast<std::size_t>(sums_.sums().sum[0]);
}

std::size_t ChebyshevSketch::bytes() const {
  return log_ ? kLogBytes : kBytes;
}

std::unique_ptr<QuantileSketch> ChebyshevSketch::empty_clone() const {
  return std::make_unique<ChebyshevSketch>(sums_.order(), log_);
}

bool ChebyshevSketch::HasLogs() const {
  return log_ && sums_.sums().min > 0 && log_sums_.sums().sum[0] == sums_.sums().sum[0];
}

void ChebyshevSketch::Absorb(const ColumnSums& sums, double noise) {
  noise_ = std::max(noise_, noise);
  sums_.Merge(sums.sums, sums.digits);
  if (log_) log_sums_.Merge(sums.log_sums, kNoLattice);
}

FitInput ChebyshevSketch::Input() const {
  const ChebyshevSums& sums = sums_.sums();
  if (sums.sum[0] == 0) throw std::logic_error("quantiles of an empty stream");
  if (!std::isfinite(sums.min) || !std::isfinite(sums.max)) {
    throw SketchFailure("the stream holds an infinite value");
  }
  FitInput input{sums, {}, sums_.order(), sums_.digits(), noise_};
  if (HasLogs()) input.log_sums = log_sums_.sums();
  return input;
}

std::vector<double> ChebyshevSketch::quantiles(std::span<const double> phis) const {
  return ChebyshevFit(Input()).Quantiles(phis);
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
  if (!(sums.sum[0] < 0x1p44) || !(std::max(sums.at_min, sums.at_max) < 0x1p40)) {
    throw std::length_error("sketch: too many values for its serialised form");
  }
  BitWriter out;
  out.Put(log_ ? 2 : 1, 4);
  out.Put(static_cast<std::uint64_t>(sums_.digits()), 4);
  out.Put(static_cast<std::uint64_t>(sums.sum[0]), 44);
  out.Put(static_cast<std::uint64_t>(sums_.order()), 4);
  out.Put(std::bit_cast<std::uint64_t>(sums.min), 64);
  out.Put(std::bit_cast<std::uint64_t>(sums.max), 64);
  out.Put(static_cast<std::uint64_t>(sums.at_min), 40);
  out.Put(static_cast<std::uint64_t>(sums.at_max), 40);
  PutMoments(out, sums, sums_.order());
  if (log_) PutMoments(out, HasLogs() ? log_sums_.sums() : ChebyshevSums{}, sums_.order());
  out.Put(Checksum(out.bytes()), 16);
  return std::move(out.bytes());
}

std::unique_ptr<ChebyshevSketch> ChebyshevSketch::Deserialize(std::span<const std::byte> bytes) {
  Require(bytes.size() == kBytes || bytes.size() == kLogBytes, "neither 84 nor 133 bytes");
  BitReader in(bytes);
  const std::uint64_t version = in.Take(4);
  Require(version == (bytes.size() == kBytes ? 1 : 2), "unknown version");
  const int digits = static_cast<int>(in.Take(4));
  Require(digits <= kMaxDigits || digits == kNoLattice, "impossible number of digits");
  ChebyshevSums sums;
  sums.sum[0] = static_cast<double>(in.Take(44));
  const int order = static_cast<int>(in.Take(4));
  Require(order >= 1, "order 0");
  sums.min = std::bit_cast<double>(in.Take(64));
  sums.max = std::bit_cast<double>(in.Take(64));
  Require(sums.min <= sums.max, "minimum above maximum");
  sums.at_min = static_cast<double>(in.Take(40));
  sums.at_max = static_cast<double>(in.Take(40));
  if (sums.sum[0] > 0) {
    Require(sums.at_min >= 1 && sums.at_max >= 1, "nothing on an end");
    const double ends = sums.min == sums.max ? sums.at_min : sums.at_min + sums.at_max;
    Require(ends <= sums.sum[0], "more values on the ends than in all");
  } else {
    Require(sums.at_min == 0 && sums.at_max == 0, "values on the ends of nothing");
  }
  auto sketch = std::make_unique<ChebyshevSketch>(order, version == 2);
  TakeMoments(in, sums, order);
  ChebyshevSums logs = sums;
  if (version == 2) {
    logs.min = sums.min > 0 ? std::log(sums.min) : 0;
    logs.max = sums.min > 0 ? std::log(sums.max) : 0;
    TakeMoments(in, logs, order);
  }
  Require(in.Take(16) == Checksum(bytes.first(bytes.size() - 2)), "checksum differs");
  sketch->sums_.Merge(sums, digits);
  if (version == 2 && sums.min > 0) sketch->log_sums_.Merge(logs, kNoLattice);
  sketch->noise_ = kQuantisedNoise;
  return sketch;
}

namespace {

RETABLE_REGISTER(QuantileSketch, retable,
                 {.name = "Retable",
                  .device = Device::kCpu,
                  .summary = "Chebyshev sums on growing intervals, counts at the ends, atoms",
                  .citation = "this project",
                  .parameters = {{"l", std::int64_t{15}, "highest order of the moments, 1 to 15"},
                                 {"log", false, "keep moments of log x too"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<ChebyshevSketch>(
                        CheckOrder(IntegerParameter(p, "l", 15)), SwitchParameter(p, "log", false));
                  }});

}  // namespace

}  // namespace retable::quantiles
