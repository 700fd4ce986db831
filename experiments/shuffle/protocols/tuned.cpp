//! @file
//! What `retable tune shuffle` measures: GPU shuffles of 8-byte items around the sizes at which
//! their kernels change.

#include <algorithm>
#include <memory>

#include "algorithms/shuffle/shuffler.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "experiments/shuffle/protocols/device_timing.hpp"
#include "harness/stats/statistics.hpp"
#include "harness/tune/sweep.hpp"

namespace retable::experiments {
namespace {

// Nanoseconds an item, added over sizes from the least value tried to the largest.
harness::TuneTask TaskOf(const TunedConstant& constant, const char* method) {
  const auto shuffler = std::shared_ptr<shuffle::Shuffler>(
      Registry<shuffle::Shuffler>::Instance().Make(method, Device::kCuda, {}));
  const auto [least, most] = std::minmax_element(constant.tried.begin(), constant.tried.end());
  const auto items = std::make_shared<std::vector<std::byte>>(8 * (*most + 1));
  return {constant, [=, first = *least] {
            double cost = 0;
            for (std::uint64_t n = first; 8 * n <= items->size(); n *= 2) {
              const auto timed = TimeShuffleOnDevice(
                  *shuffler, std::span(*items).first(8 * (n + 1)), 8, 1, 0.01, 3);
              cost += harness::Quantile(timed.seconds, 0.5) / static_cast<double>(n) * 1e9;
            }
            return cost;
          }};
}

const harness::TuneRegistration registered({"shuffle", [] {
                                              return std::vector<harness::TuneTask>{
                                                  TaskOf(shuffle::kFeistelManyItems, "Rectangle"),
                                                  TaskOf(shuffle::kReferenceManyItems, "Gather")};
                                            }});

}  // namespace
}  // namespace retable::experiments
