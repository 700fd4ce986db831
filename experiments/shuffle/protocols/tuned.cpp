//! @file
//! What `retable tune shuffle` measures: GPU shuffles of 8-byte items around the sizes at which
//! their kernels change.

#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/shuffle/tuning.hpp"
#include "harness/stats/statistics.hpp"
#include "harness/tune/sweep.hpp"

#ifdef RETABLE_HAS_CUDA
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"
#endif

namespace retable::experiments {
namespace {

#ifdef RETABLE_HAS_CUDA
// Nanoseconds an item, added over sizes from the least value tried to the largest.
harness::TuneTask TaskOf(const TunedConstant& constant, const char* method) {
  const auto shuffler = std::shared_ptr<shuffle::Shuffler>(
      Registry<shuffle::Shuffler>::Instance().Make(method, Device::kCuda, {}));
  const std::vector<std::uint64_t> values = ValuesOf(constant);
  const auto [least, most] = std::ranges::minmax_element(values);
  const auto memory = std::make_shared<DeviceArray<std::uint64_t>>();
  return {constant, [=, first = *least, room = *most + 2] {
            auto& cuda = dynamic_cast<shuffle::CudaShuffler&>(*shuffler);
            const std::uint64_t* const source = memory->Reserve(2 * room);
            const CudaStream stream;
            const CudaEvent begin, end;
            double cost = 0;
            for (std::uint64_t n = first + 1; n <= room; n = 2 * n - 1) {
              cuda.prepare(n, 8);
              std::vector<double> seconds;
              for (int run = 0; run < 6; ++run) {  // the first is not counted
                begin.Record(stream.get());
                cuda.enqueue(source, memory->data() + room, n, 8, 1, stream.get());
                end.Record(stream.get());
                if (run > 0) seconds.push_back(end.SecondsSince(begin));
              }
              cost += harness::Quantile(seconds, 0.5) / static_cast<double>(n) * 1e9;
            }
            return cost;
          }};
}
#endif

std::vector<harness::TuneTask> Tasks() {
#ifdef RETABLE_HAS_CUDA
  return {TaskOf(shuffle::kFeistelManyItems, "Rectangle"),
          TaskOf(shuffle::kReferenceManyItems, "Gather")};
#else
  return {};
#endif
}

const harness::TuneRegistration registered({"shuffle", Tasks});

}  // namespace
}  // namespace retable::experiments
