//! @file
//! The power matrix: the fewest orders from which each test of the battery rejects each shuffler.
//!
//! Orders come from successive seeds; at 64, 128, 256, ... orders up to the limit every test gives
//! a p-value. A test rejects when p < alpha / (tests x looks), so that a sound shuffler is rejected
//! by any test at any look with a probability of about alpha; of few items more often, since their
//! first looks have fewer orders than Battery::LeastSamples asks for. 0 stands for "not rejected up
//! to the limit".

#include <cmath>
#include <map>

#include "algorithms/shuffle/quality/faulty_shufflers.hpp"
#include "algorithms/shuffle/quality/statistics.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shuffle/data/sequence.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

class ShufflePower final : public harness::Protocol {
 public:
  std::string name() const override { return "shuffle/power"; }
  std::string summary() const override { return "orders each test needs to reject each shuffler"; }
  Names metrics() const override {
    return {"any",         "orders",       "pairs",   "parity",       "lehmer",
            "ascents",     "inversions",   "cycles",  "fixed points", "mmd mallows",
            "mmd hamming", "mmd spearman", "mmd sign"};
  }
  Algorithms algorithms() const override {
    std::vector<harness::AlgorithmInfo> all;
    for (const auto& source : shuffle::OrderSources()) {
      all.push_back({source.name,
                     {"cpu"},
                     {},
                     source.fault.empty() ? "no fault known" : source.fault,
                     "battery"});
    }
    return all;
  }
  Specs axes() const override { return {{"items", std::int64_t{64}, "of an order"}}; }
  Specs settings() const override {
    return {{"limit", std::int64_t{65536}, "most orders drawn"},
            {"alpha", 1e-4, "chance to reject a sound shuffler in a whole cell"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveSequence(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto n = static_cast<std::uint32_t>(IntegerIn(cell.axes, "items", 2, 65536));
    const auto limit = static_cast<std::uint64_t>(IntegerIn(cell.settings, "limit", kFirst, kMost));
    const double alpha = RealOf(cell.settings, "alpha");
    const double looks = std::floor(std::log2(static_cast<double>(limit) / kFirst)) + 1;
    std::map<std::string, double> rejected;
    harness::Outcome outcome;
    for (const auto& source : shuffle::OrderSources()) {
      if (source.name != cell.algorithm) continue;
      shuffle::Battery battery(n);
      std::uint64_t drawn = 0;
      for (std::uint64_t look = kFirst; look <= limit; look *= 2) {
        for (; drawn < look; ++drawn) {
          battery.Add(source.draw(n, static_cast<std::uint64_t>(cell.seed) * 1000003 + drawn));
        }
        const auto results = battery.Results();
        for (const auto& result : results) {
          double& first = rejected[result.test];
          if (first == 0 && result.p < alpha / (13 * looks)) first = static_cast<double>(look);
        }
      }
      outcome.facts["fault"] = source.fault.empty() ? std::string("none known") : source.fault;
    }
    double fewest = 0;
    for (const auto& [test, orders] : rejected) {
      outcome.metrics.push_back({test, "orders", {orders}});
      if (orders > 0 && (fewest == 0 || orders < fewest)) fewest = orders;
    }
    outcome.metrics.push_back({"any", "orders", {fewest}});
    outcome.verification = {true, true,         "tests run", static_cast<double>(rejected.size()),
                            0,    "exact nulls"};
    return outcome;
  }

 private:
  static constexpr std::int64_t kFirst = 64, kMost = std::int64_t{1} << 40;  // orders
};

RETABLE_PROTOCOL(ShufflePower);

}  // namespace
}  // namespace retable::experiments
