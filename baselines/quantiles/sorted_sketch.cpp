//! @file
//! Exact quantiles, the reference of all other methods: keeps every value and sorts on demand. O(n)
//! memory, O(n log n) a query.

#include <algorithm>
#include <cmath>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {
namespace {

class SortedSketch final : public QuantileSketch {
 public:
  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }
  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const SortedSketch*>(&other);
    if (same == nullptr) throw std::invalid_argument("merge of Sorted with another method");
    const std::vector<double> theirs = same->values_;
    values_.insert(values_.end(), theirs.begin(), theirs.end());
  }
  std::size_t count() const override { return values_.size(); }
  std::size_t bytes() const override { return values_.size() * sizeof(double); }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<SortedSketch>();
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    if (values_.empty()) throw std::logic_error("quantiles of an empty stream");
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> out;
    out.reserve(phis.size());
    for (const double phi : phis) out.push_back(EmpiricalQuantile(sorted, phi));
    return out;
  }

  std::vector<double> finite_rank_bounds(std::span<const double> phis) const override {
    if (values_.empty()) throw std::logic_error("quantiles of an empty stream");
    return std::vector<double>(phis.size(), 0.0);
  }

 private:
  template <class Real>
  void Feed(std::span<const Real> values) {
    for (const Real x : values) {
      if (!std::isnan(x)) values_.push_back(static_cast<double>(x));
    }
  }
  std::vector<double> values_;
};

RETABLE_REGISTER(QuantileSketch, sorted,
                 {.name = "Sorted",
                  .summary = "the exact quantiles, by keeping and sorting every value",
                  .citation = "Mitchell, Frank, Holmes 2021, section 2",
                  .make = [](const Parameters&) { return std::make_unique<SortedSketch>(); }});

}  // namespace
}  // namespace retable::quantiles
