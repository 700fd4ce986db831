#include "algorithms/quantiles/quantile_sketch.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace retable::quantiles {
namespace {

//! The ranks that infinite values hold at the ends of a stream.
class EndRanks {
 public:
  explicit EndRanks(const QuantileSketch& sketch)
      : infinite_(sketch.infinities()), count_(static_cast<double>(sketch.count())) {}

  bool none() const { return infinite_.count() == 0; }
  //! The share of the finite values.
  double finite_share() const { return finite() / count_; }
  //! The answer if it is infinite, else 0.
  double At(double phi) const {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    const double rank = std::floor(count_ * phi);
    if (rank < static_cast<double>(infinite_.low)) return -kInfinite;
    if (infinite_.high > 0 && rank >= count_ - static_cast<double>(infinite_.high)) {
      return kInfinite;
    }
    return finite() > 0 ? 0 : -kInfinite;
  }
  //! The finite phis, among the finite values.
  std::vector<double> Inner(std::span<const double> phis) const {
    std::vector<double> inner;
    for (const double phi : phis) {
      const double rank = count_ * phi - static_cast<double>(infinite_.low);
      if (At(phi) == 0) inner.push_back(std::clamp(rank / finite(), 0.0, 1.0));
    }
    return inner;
  }

 private:
  double finite() const { return count_ - static_cast<double>(infinite_.count()); }

  Infinities infinite_;
  double count_;
};

// finite_quantiles() of a sketch in a file of the user's may give more or fewer than were asked
// for.
std::vector<double> OneForEach(std::span<const double> phis, std::vector<double> found) {
  if (found.size() == phis.size()) return found;
  throw std::logic_error("finite_quantiles() gave " + std::to_string(found.size()) +
                         " answers for " + std::to_string(phis.size()) + " phis");
}

}  // namespace

std::vector<double> QuantileSketch::quantiles(std::span<const double> phis) const {
  const EndRanks ends(*this);
  if (ends.none()) return OneForEach(phis, finite_quantiles(phis));
  const std::vector<double> inner = ends.Inner(phis);
  const std::vector<double> found =
      inner.empty() ? inner : OneForEach(inner, finite_quantiles(inner));
  std::vector<double> out;
  auto next = found.begin();
  for (const double phi : phis) out.push_back(ends.At(phi) != 0 ? ends.At(phi) : *next++);
  return out;
}

std::vector<double> QuantileSketch::rank_bounds(std::span<const double> phis) const {
  const EndRanks ends(*this);
  if (ends.none()) return finite_rank_bounds(phis);
  const std::vector<double> inner = ends.Inner(phis);
  const std::vector<double> found = inner.empty() ? inner : finite_rank_bounds(inner);
  if (found.size() < inner.size()) return {};
  std::vector<double> out;
  auto next = found.begin();
  for (const double phi : phis) {
    out.push_back(ends.At(phi) != 0 ? 0 : *next++ * ends.finite_share());
  }
  return out;
}

}  // namespace retable::quantiles
