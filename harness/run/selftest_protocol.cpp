// A protocol that misbehaves on purpose, so that every way a cell can end is tested end to end. It
// is known to the program only when RETABLE_SELFTEST is set.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

#include "base/cuda/out_of_memory.hpp"
#include "harness/protocol.hpp"

namespace retable::harness {
namespace {

// Touches memory until the watch stops it.
void UseMemory() {
  std::vector<std::vector<char>> hoard;
  for (int i = 0; i < 4096; ++i) {
    hoard.emplace_back(std::size_t{16} << 20);
    std::memset(hoard.back().data(), 1, hoard.back().size());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// As a contender in another language may: the process itself stays small.
void UseMemoryOfChild() {
  const pid_t child = fork();
  if (child == 0) {
    UseMemory();
    _exit(0);
  }
  int ignored = 0;
  waitpid(child, &ignored, 0);
}

// How many executions there were before this one: the size of the file RETABLE_SELFTEST_COUNT.
std::uint64_t ExecutionsBefore() {
  const char* path = std::getenv("RETABLE_SELFTEST_COUNT");
  const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file < 0 || write(file, ".", 1) != 1) throw std::runtime_error("RETABLE_SELFTEST_COUNT");
  const off_t size = lseek(file, 0, SEEK_CUR);
  close(file);
  return static_cast<std::uint64_t>(size - 1);
}

// Times of a simulated clock, so that comparisons are tested without a steady machine: every
// execution has a pace of its own (0.2 %), every sample some more noise (0.5 %); the same again
// when a test is run again. RETABLE_SELFTEST_SLOWDOWN plants a slowdown, RETABLE_SELFTEST_WRONG a
// wrong answer of one contender.
Outcome Simulated(double k) {
  std::mt19937_64 random(ExecutionsBefore());
  std::normal_distribution<double> between(0, 0.002), within(0, 0.005 * k);
  const char* slowdown = std::getenv("RETABLE_SELFTEST_SLOWDOWN");
  const double pace = (slowdown ? std::atof(slowdown) : 1.0) * std::exp(between(random));
  Metric time{"time", "s", {}, {}, {}};
  for (int i = 0; i < 15; ++i) time.samples.push_back(1e-3 * pace * std::exp(within(random)));
  Outcome outcome;
  outcome.metrics.push_back(std::move(time));
  const char* wrong = std::getenv("RETABLE_SELFTEST_WRONG");
  const bool right = wrong == nullptr || std::atof(wrong) != k;
  outcome.verification = {true, right, "difference", right ? 0.0 : 1.0, 0.5, "nothing"};
  outcome.costs = {{"copy", 1e6, false}};
  return outcome;
}

class SelftestProtocol final : public Protocol {
 public:
  std::string name() const override { return "selftest/behaviour"; }
  std::string summary() const override { return "every way a cell can end"; }
  Names metrics() const override { return {"product", "time"}; }

  Algorithms algorithms() const override {
    std::vector<AlgorithmInfo> all;
    for (const char* name :
         {"good", "slow", "throws", "hangs", "crashes", "nan", "wrong", "hog", "brood", "refused",
          "silent", "exits", "leaves", "garbles", "simulated", "untold"}) {
      all.push_back({name, {"cpu"}, {{"k", std::int64_t{1}, "a parameter"}}, "selftest", ""});
    }
    return all;
  }

  Specs axes() const override { return {{"size", std::int64_t{1}, "an axis"}}; }
  Specs settings() const override {
    return {{"milliseconds", std::int64_t{5}, "how long a good cell takes"}};
  }

  Datasets resolve(const std::string& dataset) const override {
    if (dataset == "here") return {{.name = "here", .sha256 = "00", .present = true}};
    if (dataset == "gone") return {{.name = "gone", .reason = "the data set is not at hand"}};
    throw UnknownName("unknown data set \"" + dataset + "\"", dataset, {"here", "gone"});
  }

  Outcome measure(const CellConfig& cell) override {
    const auto pause = std::get<std::int64_t>(cell.settings.at("milliseconds"));
    const std::string& kind = cell.algorithm;
    if (kind == "throws") throw std::runtime_error("thrown on purpose");
    if (kind == "hangs") {
      std::fputs("asleep\n", stderr);
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (kind == "crashes") abort();
    if (kind == "hog") UseMemory();
    if (kind == "brood") UseMemoryOfChild();
    if (kind == "refused") throw OutOfDeviceMemory("40 MiB more are needed");
    if (kind == "exits") _exit(7);
    if (kind == "leaves") _exit(0);
    if (kind == "garbles") throw std::runtime_error("caf\xE9 is no UTF-8");
    if (kind == "simulated") {
      return Simulated(static_cast<double>(std::get<std::int64_t>(cell.parameters.at("k"))));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kind == "slow" ? 20 * pause : pause));
    Outcome outcome;
    const double n = static_cast<double>(std::get<std::int64_t>(cell.axes.at("size")));
    const double k = static_cast<double>(std::get<std::int64_t>(cell.parameters.at("k")));
    const double value = kind == "nan" ? std::numeric_limits<double>::quiet_NaN() : n * k;
    outcome.verification = {true,         kind != "wrong",
                            "difference", kind == "wrong" ? 1.0 : value - value,
                            0.5,          "n times k"};
    if (kind != "silent")
      outcome.metrics.push_back({"product", "1", {value, value, value}, {}, {}});
    if (kind == "untold") outcome.metrics.push_back({"surprise", "1", {value}, {}, {}});
    if (kind == "silent") outcome.metrics.push_back({"product", "1", {}, {}, {}});
    outcome.facts["pid"] = static_cast<std::int64_t>(getpid());
    return outcome;
  }
};

const bool registered = [] {
  if (std::getenv("RETABLE_SELFTEST")) Protocols().push_back(std::make_unique<SelftestProtocol>());
  return true;
}();

}  // namespace
}  // namespace retable::harness
