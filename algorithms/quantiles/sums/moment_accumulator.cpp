#include "algorithms/quantiles/sums/moment_accumulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algorithms/common/require.hpp"

namespace retable::quantiles {
namespace {

//! The same sums of another variable: log x.
class LogAccumulator final : public MomentAccumulator {
 public:
  explicit LogAccumulator(std::unique_ptr<MomentAccumulator> inner) : inner_(std::move(inner)) {}

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }

  void merge(const MomentAccumulator& other) override {
    const auto* same = dynamic_cast<const LogAccumulator*>(&other);
    Require(same != nullptr, "merge of log moments with other moments");
    inner_->merge(*same->inner_);
    infinities_.Merge(same->infinities_);
    refused_ += same->refused_;
    data_min_ = std::min(data_min_, same->data_min_);
    data_max_ = std::max(data_max_, same->data_max_);
  }
  std::size_t count() const override { return inner_->count() + refused_; }
  double min() const override {
    return refused_ > 0 ? -std::numeric_limits<double>::infinity() : inner_->min();
  }
  double max() const override { return inner_->max(); }
  double data_min() const override { return data_min_; }
  double data_max() const override { return data_max_; }
  ScaledMoments scaled() const override { return inner_->scaled(); }
  std::size_t bytes() const override { return inner_->bytes(); }
  std::unique_ptr<MomentAccumulator> empty_clone() const override {
    return std::make_unique<LogAccumulator>(inner_->empty_clone());
  }

 private:
  template <class Real>
  void Feed(std::span<const Real> values) {
    constexpr std::size_t kBlock = 512;
    std::array<double, kBlock> logs;
    while (!values.empty()) {
      std::size_t n = 0;
      const std::size_t take = std::min(kBlock, values.size());
      for (std::size_t i = 0; i < take; ++i) {
        const double x = static_cast<double>(values[i]);
        if (infinities_.Take(x)) continue;
        if (x <= 0) {
          ++refused_;
        } else {
          logs[n++] = std::log(x);
        }
        data_min_ = x < data_min_ ? x : data_min_;
        data_max_ = x > data_max_ ? x : data_max_;
      }
      inner_->update(std::span<const double>(logs.data(), n));
      values = values.subspan(take);
    }
  }

  std::unique_ptr<MomentAccumulator> inner_;
  std::size_t refused_ = 0;  //!< values <= 0, which have no logarithm
  double data_min_ = std::numeric_limits<double>::infinity();
  double data_max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<MomentAccumulator> MakeLogAccumulator(std::unique_ptr<MomentAccumulator> inner) {
  return std::make_unique<LogAccumulator>(std::move(inner));
}

int CheckOrder(long long order) {
  Require(order >= 1 && order <= kMaxOrder, "the order (l) must be 1 to 15, not ", order);
  return static_cast<int>(order);
}

}  // namespace retable::quantiles
