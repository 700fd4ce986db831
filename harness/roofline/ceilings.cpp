#include "harness/roofline/ceilings.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/bit_count.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/roofline/fma_kernels.hpp"
#include "harness/timing/timing.hpp"

namespace retable::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Work for thread t of n.
using Work = std::function<void(int t)>;

// The shortest time, over runs for about `seconds`, in which all threads together finish `work`.
// Threads are started once; every run begins and ends at a barrier.
double BestTime(int threads, double seconds, const Work& work) {
  std::barrier meet(threads);
  std::atomic<bool> more{true};
  double best = 1e300;
  const auto run = [&](int t) {
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
    int runs = 0;
    while (more) {
      meet.arrive_and_wait();
      const Clock::time_point begin = Clock::now();
      work(t);
      meet.arrive_and_wait();
      if (t == 0) {
        const std::chrono::duration<double> took = Clock::now() - begin;
        if (++runs > 1) best = std::min(best, took.count());  // the first run is warm-up
        more = runs < 3 || Clock::now() < end;
      }
      meet.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  return best;
}

std::size_t ArrayBytes(const CeilingOptions& options) {
  if (options.array_bytes > 0) return options.array_bytes;
  const HostInfo machine = ReadHostInfo();
  std::int64_t largest = 0;
  for (const CacheFacts& cache : machine.caches) largest = std::max(largest, cache.bytes);
  std::int64_t bytes = std::clamp<std::int64_t>(4 * largest, 64 << 20, 1 << 30);
  if (machine.available_bytes > 0) bytes = std::min(bytes, machine.available_bytes / 8);
  return static_cast<std::size_t>(bytes);
}

// Span t of n items: [begin, end).
struct Span {
  std::size_t begin, end;
};
Span SpanOf(std::size_t items, int t, int threads) {
  const auto i = static_cast<std::size_t>(t), n = static_cast<std::size_t>(threads);
  return {items * i / n, items * (i + 1) / n};
}

// Eight sums: one would wait for itself.
std::uint64_t SumOf(const std::uint64_t* x, std::size_t n) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= n; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += x[i + j];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

// Independent reads at the places of a linear congruence of full period (items is a power of two).
std::uint64_t GatherOf(const std::uint64_t* x, std::size_t items, std::uint64_t start,
                       std::size_t reads) {
  std::uint64_t sum = 0, place = start;
  for (std::size_t i = 0; i < reads; ++i) {
    place = place * 6364136223846793005u + 1442695040888963407u;
    sum += x[(place >> 20) & (items - 1)];
  }
  return sum;
}

class CpuCeilings {
 public:
  CpuCeilings(const CeilingOptions& options, int threads)
      : seconds_(options.seconds), threads_(threads), items_(1) {
    while (items_ * 2 * sizeof(std::uint64_t) <= ArrayBytes(options)) items_ *= 2;
    from_.resize(items_);
    to_.resize(items_);
    Memory(options);
    Arithmetic();
  }

  std::vector<Ceiling> ceilings;

 private:
  void Add(const char* name, double value, const char* unit, const std::string& note) {
    ceilings.push_back(
        {"cpu, " + std::to_string(threads_) + (threads_ == 1 ? " thread" : " threads"), name, value,
         unit, note});
  }

  void Memory(const CeilingOptions&) {
    const auto bytes = static_cast<double>(items_ * sizeof(std::uint64_t));
    const std::string note =
        "arrays of " + std::to_string(items_ * sizeof(std::uint64_t) >> 20) + " MiB";
    const double copy = BestTime(threads_, seconds_, [&](int t) {
      const Span part = SpanOf(items_, t, threads_);
      std::memcpy(&to_[part.begin], &from_[part.begin], (part.end - part.begin) * 8);
      KeepAlive(to_.data());
    });
    Add("copy", 2 * bytes / copy * 1e-9, "GB/s", note);
    const double read = BestTime(threads_, seconds_, [&](int t) {
      const Span part = SpanOf(items_, t, threads_);
      const std::uint64_t sum = SumOf(&from_[part.begin], part.end - part.begin);
      KeepAlive(&sum);
    });
    Add("read", bytes / read * 1e-9, "GB/s", note);
    constexpr std::size_t kReads = 1 << 20;
    const double gather = BestTime(threads_, seconds_, [&](int t) {
      const auto start = static_cast<std::uint64_t>(t) * 977 + 1;
      const std::uint64_t sum = GatherOf(from_.data(), items_, start, kReads);
      KeepAlive(&sum);
    });
    Add("gather", static_cast<double>(kReads) * threads_ / gather * 1e-9, "G/s", note);
  }

  void Arithmetic() {
    constexpr std::int64_t kSteps = 1 << 18;
    const FmaKernels& kernels = BestFmaKernels();
    const auto rate = [&](std::int64_t (*kernel)(std::int64_t)) {
      std::atomic<std::int64_t> operations{0};
      const double time = BestTime(threads_, seconds_, [&](int t) {
        const std::int64_t done = kernel(kSteps);
        if (t == 0) operations = done;
      });
      return static_cast<double>(operations.load()) * threads_ / time * 1e-9;
    };
    Add("FMA fp64", rate(kernels.fp64), "GFLOP/s", kernels.name);
    Add("FMA fp32", rate(kernels.fp32), "GFLOP/s", kernels.name);

    constexpr std::size_t kWords = 1024, kPasses = 256;  // two arrays of 8 KiB
    const BitCounter& bits = BestBitCounter();
    const double time = BestTime(threads_, seconds_, [&](int) {
      std::int64_t ones = 0;
      for (std::size_t i = 0; i < kPasses; ++i) {
        KeepAlive(from_.data());
        ones += bits.count(from_.data(), to_.data(), kWords);
      }
      KeepAlive(&ones);
    });
    Add("bit counts", static_cast<double>(kWords * kPasses) * threads_ / time * 1e-9, "G/s",
        bits.name);
  }

  double seconds_;
  int threads_;
  std::size_t items_;  // of each array; a power of two
  std::vector<std::uint64_t> from_, to_;
};

}  // namespace

std::vector<Ceiling> MeasureCpuCeilings(const CeilingOptions& options) {
  std::vector<Ceiling> ceilings = CpuCeilings(options, 1).ceilings;
  const int all = AllowedProcessors();
  if (all > 1) {
    const std::vector<Ceiling> more = CpuCeilings(options, all).ceilings;
    ceilings.insert(ceilings.end(), more.begin(), more.end());
  }
  return ceilings;
}

#if !defined(RETABLE_HAS_CUDA)
std::vector<Ceiling> MeasureCudaCeilings(const CeilingOptions&) {
  return {};
}
#endif

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ceiling, device, name, value, unit, note)

std::string CeilingsJson(const std::vector<Ceiling>& ceilings) {
  return nlohmann::json(ceilings).dump(1);
}

std::vector<Ceiling> CeilingsFromJson(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  try {
    if (json.is_array()) return json.get<std::vector<Ceiling>>();
  } catch (const nlohmann::json::exception&) {
  }
  return {};
}

}  // namespace retable::harness
