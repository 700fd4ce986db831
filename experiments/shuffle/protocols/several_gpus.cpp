//! @file
//! Items a second of one shuffle over the memory of several GPUs.
//!
//! n = 2^w items of 8 bytes. Timed by the steady clock until every GPU is done: with memory =
//! "device" the shuffle of slices that lie on the GPUs, with "host" also the ways from page-locked
//! host memory and back, all GPUs at once. Before anything is timed the parts are checked: every
//! item once.

#include <optional>

#include "experiments/common/adapters.hpp"
#include "experiments/shuffle/data/sequence.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/shuffle/multi_gpu/several_gpus.hpp"
#include "base/cuda/streams.hpp"
#endif

namespace retable::experiments {
namespace {

#if defined(RETABLE_HAS_CUDA)
// A GPU's slice of the items and its part of their order.
struct Share {
  explicit Share(int id) : device(SelectDevice(id)) {}
  int device;
  CudaStream stream;
  DeviceArray<std::uint64_t> in, out;
};

class SlicedItems {
 public:
  SlicedItems(std::uint64_t n, int gpus, std::uint64_t seed)
      : n_(n), seed_(seed), gpus_(Devices(gpus)), sizes_(static_cast<std::size_t>(gpus)) {
    gpus_.Prepare(n, sizeof(std::uint64_t));
    for (int g = 0; g < gpus; ++g) {
      shares_.push_back(std::make_unique<Share>(g));
      shares_.back()->in.Reserve(gpus_.slice(n, 0));
      shares_.back()->out.Reserve(gpus_.capacity(n));
      from_.push_back(shares_.back()->in.data());
      to_.push_back(shares_.back()->out.data());
    }
    NumberItems(std::as_writable_bytes(std::span(host_.Reserve(n), n)), n, sizeof(std::uint64_t));
    order_.Reserve(n);
  }

  void Upload() {
    std::uint64_t begin = 0;
    for (std::size_t g = 0; g < shares_.size(); begin += gpus_.slice(n_, g++)) {
      Copy(*shares_[g], from_[g], host_.data() + begin, gpus_.slice(n_, g));
    }
    Wait();
  }
  void Shuffle() { sizes_ = gpus_.Shuffle<std::uint64_t>(from_, to_, n_, seed_); }
  std::span<const std::uint64_t> Download() {
    std::uint64_t begin = 0;
    for (std::size_t g = 0; g < shares_.size(); begin += sizes_[g++]) {
      Copy(*shares_[g], order_.data() + begin, to_[g], sizes_[g]);
    }
    Wait();
    return {order_.data(), begin};
  }

 private:
  static std::vector<int> Devices(int gpus) {
    std::vector<int> devices(static_cast<std::size_t>(gpus));
    for (int g = 0; g < gpus; ++g) devices[static_cast<std::size_t>(g)] = g;
    return devices;
  }
  static void Copy(const Share& share, const std::uint64_t* to, const std::uint64_t* from,
                   std::uint64_t count) {
    SelectDevice(share.device);
    CheckCuda(cudaMemcpyAsync(const_cast<std::uint64_t*>(to), from, count * sizeof(std::uint64_t),
                              cudaMemcpyDefault, share.stream.get()),
              "cudaMemcpyAsync of a slice");
  }
  void Wait() const {
    for (const auto& share : shares_) share->stream.Wait();
  }

  std::uint64_t n_, seed_;
  shuffle::SeveralGpus gpus_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::vector<const std::uint64_t*> from_;
  std::vector<std::uint64_t*> to_;
  PinnedArray<std::uint64_t> host_, order_;
};
#endif

class ShuffleOverGpus final : public harness::Protocol {
 public:
  std::string name() const override { return "shuffle/several_gpus"; }
  std::string summary() const override {
    return "items a second of one shuffle over the memory of several GPUs";
  }
  Names metrics() const override { return {"time", "rate"}; }
  Algorithms algorithms() const override {
    return {{"Partition",
             {"cuda"},
             {{"memory", std::string("device"), "where items lie: device or host"}},
             "slices split by random digits, parts exchanged, each part shuffled",
             "ours, after Rao 1961 and Sandelius 1962"}};
  }
  Specs axes() const override {
    return {{"gpus", std::int64_t{1}, "GPUs that share the items"},
            {"w", std::int64_t{20}, "n = 2^w items of 8 bytes in all"}};
  }
  Specs settings() const override {
    return {{"budget", 4.0, "seconds for warm-up and samples of a cell"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveSequence(dataset); }
  Reason unsupported(const Cell& cell) const override { return WhyNotSoManyGpus(cell); }

  Outcome measure([[maybe_unused]] const Cell& cell) override {
#if defined(RETABLE_HAS_CUDA)
    const std::uint64_t n = std::uint64_t{1} << IntegerIn(cell.axes, "w", 0, 36);
    const std::string memory = TextOf(cell.parameters, "memory");
    if (memory != "device" && memory != "host") {
      throw std::invalid_argument("memory must be device or host, not " + memory);
    }
    SlicedItems items(n, static_cast<int>(IntegerIn(cell.axes, "gpus", 1, 64)),
                      static_cast<std::uint64_t>(cell.seed));
    items.Upload();
    items.Shuffle();
    harness::Outcome outcome;
    const auto order = items.Download();
    const auto wrong =
        static_cast<double>(WrongItems(std::as_bytes(order), order.size(), 8, false)) +
        static_cast<double>(n - order.size());
    outcome.verification = AtMost("items lost or repeated", wrong, 0, "input");
    if (!outcome.verification.ok) return outcome;
    const harness::TimingResult timing = harness::TimeRepeated(
        [&] {
          if (memory == "host") items.Upload();
          items.Shuffle();
          if (memory == "host") items.Download();
        },
        RepeatsOf(cell));
    harness::AddTiming(outcome, timing);
    harness::AddRate(outcome, timing, static_cast<double>(n), "million items/s", 1e6);
    return outcome;
#else
    throw std::runtime_error("this build has no CUDA");
#endif
  }
};

RETABLE_PROTOCOL(ShuffleOverGpus);

}  // namespace
}  // namespace retable::experiments
