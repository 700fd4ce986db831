//! @file
//! Items a second of a shuffle by n (tables 1 to 3, figures 10 to 15).
//!
//! n = 2^w + extra. CPU: the whole call, from host memory to host memory, output not first touched.
//! CUDA: the work between two events on one stream with input, output and workspace in device
//! memory; no transfer, no allocation. Before anything is timed the output is checked: every item
//! once (the gather, which is a bound and no shuffle: every item from the input); CUDA methods
//! that promise it must equal the CPU bit for bit up to 2^22. On the CPU the last timed call's
//! output is checked too (of another program, that of one more call); up to 2^22 items it must
//! equal the first call's, where the method says that it is deterministic.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/parallel.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shuffle/data/sequence.hpp"
#include "experiments/shuffle/peers/external_shuffler.hpp"
#include "experiments/shuffle/protocols/fairness.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "base/cuda/memory.hpp"
#include "harness/timing/cuda_timing.hpp"
#endif

namespace retable::experiments {
namespace {

using shuffle::Shuffler;

std::uint64_t SizeOf(const harness::CellConfig& cell) {
  constexpr auto kMost = static_cast<std::int64_t>(shuffle::kMaxItems);
  return (std::uint64_t{1} << IntegerIn(cell.axes, "w", 0, 36)) +
         static_cast<std::uint64_t>(IntegerIn(cell.axes, "extra", 0, kMost));
}

std::size_t ItemBytes(const harness::CellConfig& cell) {
  const auto bytes = static_cast<std::size_t>(IntegerIn(cell.axes, "item_bytes", 4, 16));
  shuffle::WithItemType(bytes, [](auto) {});  // throws for those between
  return bytes;
}

// Memory first touched by all threads: clearing it by one takes longer than to shuffle it.
class HostItems {
 public:
  HostItems(std::uint64_t n, std::size_t item_bytes)
      : bytes_(n * item_bytes), data_(std::make_unique_for_overwrite<std::byte[]>(bytes_)) {
    ForParts(n, [&](std::uint64_t begin, std::uint64_t end) {
      std::fill(data_.get() + begin * item_bytes, data_.get() + end * item_bytes, std::byte{});
    });
  }
  std::span<std::byte> all() const { return {data_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

// The device's work for one shuffle, in device memory.
harness::TimingResult TimeOnDevice([[maybe_unused]] Shuffler& shuffler,
                                   [[maybe_unused]] std::span<const std::byte> in,
                                   [[maybe_unused]] std::size_t item_bytes,
                                   [[maybe_unused]] const harness::CellConfig& cell) {
#if defined(RETABLE_HAS_CUDA)
  auto& cuda = dynamic_cast<shuffle::CudaShuffler&>(shuffler);
  const DeviceArray<std::byte> source(in), target(in.size());
  const std::uint64_t n = in.size() / item_bytes;
  cuda.prepare(n, item_bytes);
  harness::CudaTimingOptions options;
  options.min_samples = static_cast<int>(cell.repeats);
  options.budget = RealOf(cell.settings, "budget");
  return harness::TimeOnGpu(
      [&](CUstream_st* stream) {
        cuda.enqueue(source.data(), target.data(), n, item_bytes,
                     static_cast<std::uint64_t>(cell.seed), stream);
      },
      options);
#else
  throw std::runtime_error("compiled without CUDA");
#endif
}

class ShuffleThroughput final : public harness::Protocol {
 public:
  std::string name() const override { return "shuffle/throughput"; }
  std::string summary() const override { return "items a second of a shuffle by n"; }
  Names metrics() const override { return {"time", "rate", "fairness"}; }
  Algorithms algorithms() const override { return ListMethods<Shuffler>(); }
  Specs axes() const override {
    return {{"w", std::int64_t{8}, "n = 2^w + extra"},
            {"extra", std::int64_t{1}, "1 is the bijective shuffle's worst case, 0 its best"},
            {"item_bytes", std::int64_t{8}, "bytes an item: 4, 8 or 16"}};
  }
  Specs settings() const override {
    return {{"budget", 2.0, "seconds for warm-up and samples of a cell"},
            {"threads", std::int64_t{0}, "threads of a CPU method; 0: all"},
            {"orders", std::int64_t{0}, "orders drawn for the battery of tests; 0: no tests"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveSequence(dataset); }

  Reason unsupported(const Cell& cell) const override { return WhyNotExternal(cell); }

  Outcome measure(const Cell& cell) override {
    const std::uint64_t n = SizeOf(cell);
    const std::size_t item_bytes = ItemBytes(cell);
    const auto seed = static_cast<std::uint64_t>(cell.seed);
    const auto shuffler = MakeMethod<Shuffler>(cell);
    const HostItems source(n, item_bytes), target(n, item_bytes);
    NumberItems(source.all(), n, item_bytes);
    const std::span<const std::byte> in = source.all();
    const std::span<std::byte> out = target.all();
    harness::Outcome outcome;
    const int threads = IntParameter(cell.settings, "threads", 0);
    double first_seconds = 0;
    WithThreads(threads, [&] {
      first_seconds = harness::TimeOnce([&] { shuffler->shuffle(in, out, item_bytes, seed); });
    });
    outcome.verification = Verify(cell, *shuffler, in, out, n, item_bytes);
    if (!outcome.verification.ok) return outcome;

    harness::TimingResult timing;
    if (cell.device == "cuda") {
      timing = TimeOnDevice(*shuffler, in, item_bytes, cell);
    } else {
      auto* external = dynamic_cast<ExternalShuffler*>(shuffler.get());
      if (external != nullptr) {
        external->Load(in, item_bytes, seed);
        first_seconds = harness::TimeOnce([&] { external->program().Run(); });
      }
      // What the timed calls write is checked too, so nothing of the first may be left to be taken
      // for theirs; one seed gives one order where the method says so.
      std::vector<std::byte> first;
      if (shuffler->deterministic() && n <= kMostCompared) first.assign(out.begin(), out.end());
      std::ranges::fill(out, std::byte{});
      WithThreads(threads, [&] {
        timing = harness::TimeAfterFirstCall(
            [&] {
              external != nullptr ? external->program().Run()
                                  : shuffler->shuffle(in, out, item_bytes, seed);
            },
            first_seconds, RepeatsOf(cell));
      });
      if (external != nullptr) {
        timing.included = DescribeResident(external->program());
        shuffler->shuffle(in, out, item_bytes, seed);
      }
      outcome.verification = Verify(cell, *shuffler, in, out, n, item_bytes);
      if (outcome.verification.ok && !first.empty() && !std::ranges::equal(first, out)) {
        outcome.verification =
            AtMost("orders that differ for one seed", 1, 0, "deterministic() of the method");
      }
      if (!outcome.verification.ok) return outcome;
    }
    harness::AddTiming(outcome, timing);
    harness::AddRate(outcome, timing, static_cast<double>(n), "million items/s", 1e6);
    outcome.costs = CostsOf(shuffler->work(n, item_bytes), timing.cores_used);
    if (IntegerOf(cell.settings, "orders") > 0) AddFairness(cell, *shuffler, outcome);
    outcome.facts["n"] = static_cast<std::int64_t>(n);
    outcome.facts["item_bytes"] = static_cast<std::int64_t>(item_bytes);
    outcome.facts["deterministic"] = shuffler->deterministic();
    return outcome;
  }

 private:
  static constexpr std::uint64_t kMostCompared = (std::uint64_t{1} << 22) + 1;

  // The CPU backend that a CUDA method promises to equal bit for bit, or null.
  static std::unique_ptr<Shuffler> CpuBackend(const harness::CellConfig& cell,
                                              const Shuffler& shuffler) {
    if (cell.device != "cuda" || !shuffler.deterministic() ||
        Registry<Shuffler>::Instance().Find(cell.algorithm, Device::kCpu) == nullptr) {
      return nullptr;
    }
    harness::CellConfig on_cpu = cell;
    on_cpu.device = "cpu";
    return MakeMethod<Shuffler>(on_cpu);
  }

  // A CUDA method that equals its CPU backend bit for bit has the same quality.
  static void AddFairness(const harness::CellConfig& cell, Shuffler& shuffler,
                          harness::Outcome& outcome) {
    const auto backend = CpuBackend(cell, shuffler);
    const auto orders = static_cast<std::uint64_t>(IntegerOf(cell.settings, "orders"));
    const Fairness fairness = JudgeOrders(backend != nullptr ? *backend : shuffler, orders,
                                          static_cast<std::uint64_t>(cell.seed));
    outcome.metrics.push_back({"fairness", "", {fairness.p}});
    outcome.facts["rejected by"] = fairness.p < 1e-4 ? fairness.lowest : std::string("no test");
    outcome.facts["orders drawn by"] =
        std::string(backend != nullptr ? "the CPU backend" : "itself");
  }

  static harness::Verification Verify(const harness::CellConfig& cell, const Shuffler& shuffler,
                                      std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::uint64_t n, std::size_t item_bytes) {
    const bool bound = cell.algorithm == "Gather";
    const auto wrong = static_cast<double>(WrongItems(out, n, item_bytes, bound));
    harness::Verification verification = AtMost("items lost or repeated", wrong, 0, "input");
    const auto backend = CpuBackend(cell, shuffler);
    if (!verification.ok || backend == nullptr || n > kMostCompared) return verification;
    std::vector<std::byte> expected(in.size());
    backend->shuffle(in, expected, item_bytes, static_cast<std::uint64_t>(cell.seed));
    verification.ok = std::ranges::equal(expected, out);
    verification.reference = "CPU backend, bit for bit";
    verification.value = verification.ok ? 0 : 1;
    verification.metric = "differs from the CPU backend";
    return verification;
  }
};

RETABLE_PROTOCOL(ShuffleThroughput);

}  // namespace
}  // namespace retable::experiments
