#include "baselines/quantiles/kll_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "algorithms/common/philox.hpp"

namespace retable::quantiles {
namespace {

//! Capacities from the top level down to the last of at least 2, for a top capacity k.
std::vector<std::size_t> Capacities(double k, double shrink) {
  std::vector<std::size_t> out;
  for (double c = k; c >= 2; c *= shrink) out.push_back(static_cast<std::size_t>(c));
  return out;
}

std::size_t Total(const std::vector<std::size_t>& capacities) {
  return std::accumulate(capacities.begin(), capacities.end(), std::size_t{0});
}

//! The capacities for the largest top level with which all levels and the sampler's value fit into
//! m values.
std::vector<std::size_t> FitCapacities(std::size_t m, double shrink) {
  double low = 3;
  double high = static_cast<double>(m) + 1;
  for (int i = 0; i < 40; ++i) {
    const double k = 0.5 * (low + high);
    (Total(Capacities(k, shrink)) + 1 <= m ? low : high) = k;
  }
  return Capacities(low, shrink);
}

//! Counter-based coins.
class Coins {
 public:
  explicit Coins(std::uint64_t seed) : philox_(Philox4x32::FromSeed(seed)) {}
  std::uint64_t Next() { return philox_.Block(next_++).half(0); }

 private:
  Philox4x32 philox_;
  std::uint64_t next_ = 0;
};

class KllSketch final : public QuantileSketch, public DistributionEstimate {
 public:
  KllSketch(std::size_t m, std::uint64_t seed, KllRule rule)
      : m_(m),
        seed_(seed),
        rule_(rule),
        capacities_(FitCapacities(m, rule.shrink)),
        coins_(seed),
        levels_(1) {
    slots_ = Total(capacities_);
    StartSample();
  }

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }

  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const KllSketch*>(&other);
    if (same == nullptr || same->m_ != m_ || same->rule_ != rule_) {
      throw std::invalid_argument("merge of KLL with another method, m or rule");
    }
    const KllSketch theirs = *same;
    count_ += theirs.count_;
    while (base_ < theirs.base_) RaiseBase();
    if (theirs.SampleIsLive()) AddWeighted(theirs.sample_, std::uint64_t{1} << theirs.base_);
    for (std::size_t i = 0; i < theirs.levels_.size(); ++i) {
      const std::size_t height = theirs.base_ + i;
      for (const double x : theirs.levels_[i]) AddAt(x, height);
    }
  }

  std::size_t count() const override { return count_; }
  std::size_t bytes() const override { return m_ * sizeof(double); }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<KllSketch>(m_, seed_, rule_);
  }

  std::vector<double> cdf(std::span<const double> xs) const override {
    if (count_ == 0) throw std::logic_error("ranks of an empty stream");
    const std::vector<std::pair<double, double>> items = Weighted();
    std::vector<double> out;
    out.reserve(xs.size());
    for (const double x : xs) {
      const auto after =
          std::upper_bound(items.begin(), items.end(), x,
                           [](double value, const auto& item) { return value < item.first; });
      out.push_back(after == items.begin() ? 0 : std::prev(after)->second / items.back().second);
    }
    return out;
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    if (count_ == 0) throw std::logic_error("quantiles of an empty stream");
    const std::vector<std::pair<double, double>> items = Weighted();
    const double total = items.back().second;
    std::vector<double> out;
    out.reserve(phis.size());
    for (const double phi : phis) {
      const double rank = std::floor(total * phi);
      const auto it = std::upper_bound(items.begin(), items.end() - 1, rank,
                                       [](double r, const auto& item) { return r < item.second; });
      out.push_back(it->first);
    }
    return out;
  }

 private:
  template <class Real>
  void Feed(std::span<const Real> values) {
    for (const Real value : values) {
      if (std::isnan(value)) continue;
      ++count_;
      if (sample_weight_ == chosen_) sample_ = static_cast<double>(value);
      if (++sample_weight_ == (std::uint64_t{1} << base_)) PassSample();
    }
  }

  //! Starts a block of 2^base slots and draws the slot whose value is passed on.
  void StartSample() {
    sample_weight_ = 0;
    chosen_ = base_ == 0 ? 0 : coins_.Next() >> (64 - base_);
  }
  void PassSample() {
    const double x = sample_;
    StartSample();
    AddAt(x, base_);
  }
  //! Whether the block has reached its chosen slot. An unfinished block counts with its whole
  //! weight or not at all, which is unbiased.
  bool SampleIsLive() const { return chosen_ < sample_weight_; }

  //! Adds a value of weight up to 2^base to the sampler: it takes that many slots.
  void AddWeighted(double x, std::uint64_t weight) {
    const std::uint64_t block = std::uint64_t{1} << base_;
    const std::uint64_t take = std::min(weight, block - sample_weight_);
    if (chosen_ >= sample_weight_ && chosen_ < sample_weight_ + take) sample_ = x;
    sample_weight_ += take;
    if (sample_weight_ == block) PassSample();
    if (weight > take) AddWeighted(x, weight - take);
  }

  void AddAt(double x, std::size_t height) {
    while (height >= base_ && levels_.size() <= height - base_) Grow();
    if (height < base_) {
      AddWeighted(x, std::uint64_t{1} << height);
      return;
    }
    levels_[height - base_].push_back(x);
    if (rule_.eager) {
      while (Compress()) {
      }
    } else {
      while (Held() >= slots_) Compress();
    }
  }

  std::size_t Held() const {
    std::size_t n = 0;
    for (const auto& level : levels_) n += level.size();
    return n;
  }

  //! The capacity of a level, counted from the top one.
  std::size_t Capacity(std::size_t level) const { return capacities_[levels_.size() - 1 - level]; }

  //! Adds a level on top; if no capacity remains for the lowest one, the sampler replaces it.
  void Grow() {
    if (levels_.size() == capacities_.size()) RaiseBase();
    levels_.emplace_back();
  }

  //! Merges the lowest compactor into the sampler. A coin decides whether the chosen slot of the
  //! doubled block is in its first or second half.
  void RaiseBase() {
    const std::vector<double> lowest = std::move(levels_.front());
    levels_.erase(levels_.begin());
    if (levels_.empty()) levels_.emplace_back();
    const std::uint64_t weight = std::uint64_t{1} << base_;
    if ((coins_.Next() & 1) != 0) chosen_ += weight;
    ++base_;
    for (const double x : lowest) AddWeighted(x, weight);
  }

  //! Compacts the lowest level that is full; whether there was one.
  bool Compress() {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (levels_[level].size() < Capacity(level)) continue;
      std::vector<double> full = std::move(levels_[level]);
      levels_[level].clear();
      std::sort(full.begin(), full.end());
      if (full.size() % 2 == 1) {
        // With an odd count the first or the last value stays, at random.
        const bool first = (coins_.Next() & 1) != 0;
        levels_[level].push_back(first ? full.front() : full.back());
        full.erase(first ? full.begin() : full.end() - 1);
      }
      const std::size_t height = base_ + level + 1;
      if (level + 1 == levels_.size()) Grow();
      auto& target = levels_[height - base_];
      for (std::size_t i = coins_.Next() & 1; i < full.size(); i += 2) target.push_back(full[i]);
      return true;
    }
    return false;
  }

  //! Values in ascending order, each with the cumulative weight up to and including it.
  std::vector<std::pair<double, double>> Weighted() const {
    std::vector<std::pair<double, double>> items;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      for (const double x : levels_[i]) {
        items.emplace_back(x, std::ldexp(1.0, static_cast<int>(base_ + i)));
      }
    }
    if (SampleIsLive() || items.empty()) {
      items.emplace_back(sample_, std::ldexp(1.0, static_cast<int>(base_)));
    }
    std::sort(items.begin(), items.end());
    for (std::size_t i = 1; i < items.size(); ++i) items[i].second += items[i - 1].second;
    return items;
  }

  std::size_t m_;
  std::uint64_t seed_;
  KllRule rule_;
  std::vector<std::size_t> capacities_;  //!< Capacities in descending order of levels.
  std::size_t slots_ = 0;                //!< sum of the capacities
  Coins coins_;
  std::vector<std::vector<double>> levels_;  //!< lowest first, at height base_
  std::size_t base_ = 0;                     //!< height of the lowest compactor, and the sampler's
  double sample_ = 0;
  std::uint64_t sample_weight_ = 0;  //!< slots of the current block filled
  std::uint64_t chosen_ = 0;         //!< the block's slot whose value is passed on
  std::size_t count_ = 0;
};

const ParameterInfo kM{"m", std::int64_t{50}, "largest number of values the summary holds, >= 6"};
const ParameterInfo kSeed{"seed", std::int64_t{1}, "seed of the coins"};

std::unique_ptr<QuantileSketch> Make(const Parameters& p, KllRule rule) {
  return MakeKllSketch(IntegerParameter(p, "m", 50),
                       static_cast<std::uint64_t>(IntegerParameter(p, "seed", 1)), rule);
}

RETABLE_REGISTER(QuantileSketch, kll,
                 {.name = "KLL",
                  .summary = "compactors of shrinking capacity over a sampler",
                  .citation = "Karnin, Lang, Liberty 2016, first algorithm",
                  .parameters = {kM, kSeed},
                  .make = [](const Parameters& p) { return Make(p, kLazyKll); }});
RETABLE_REGISTER(QuantileSketch, kll_paper,
                 {.name = "KLL (paper)",
                  .summary = "the same as published: a compactor compacts as soon as it is full",
                  .citation = "Karnin, Lang, Liberty 2016, first algorithm",
                  .parameters = {kM,
                                 kSeed,
                                 {"shrink", kPaperKll.shrink,
                                  "capacity of a compactor over that of the next, 0.5 to 1"}},
                  .make = [](const Parameters& p) {
                    return Make(p, {RealParameter(p, "shrink", kPaperKll.shrink), true});
                  }});

}  // namespace

std::unique_ptr<QuantileSketch> MakeKllSketch(std::int64_t m, std::uint64_t seed, KllRule rule) {
  if (m < 6) throw std::invalid_argument("KLL's m must be at least 6, not " + std::to_string(m));
  if (!(rule.shrink > 0.5 && rule.shrink < 1)) {
    throw std::invalid_argument("KLL's shrink must be between 0.5 and 1, not " +
                                std::to_string(rule.shrink));
  }
  return std::make_unique<KllSketch>(static_cast<std::size_t>(m), seed, rule);
}

}  // namespace retable::quantiles
