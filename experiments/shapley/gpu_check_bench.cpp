// shapley_gpu_check: the CUDA samplers and image networks against their CPU twins, bit for bit, on
// fresh random input; the discrepancy on the device; then the time of each at the sizes of table 4,
// and of the image games.
//
//     shapley_gpu_check [--seed N] [--skip-checks] [--skip-speed] [--small] [--only-images]
//                       [--out DIR: the times as CSV]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "algorithms/shapley/discrepancy.hpp"
#include "experiments/shapley/gpu_check.hpp"

namespace {

int failures = 0;

}  // namespace

void retable::experiments::Report(const std::string& what, bool ok) {
  failures += ok ? 0 : 1;
  std::printf("%-4s %s\n", ok ? "ok" : "FAIL", what.c_str());
  std::fflush(stdout);
}

namespace {

using namespace retable;
using namespace retable::shapley;
using experiments::Best;
using experiments::Report;

std::unique_ptr<PermutationSampler> Make(const std::string& name, Device device,
                                         const Parameters& parameters = {}) {
  return Registry<PermutationSampler>::Instance().Make(name, device, parameters);
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void CheckTwin(const std::string& name, const std::string& kernel, std::uint64_t seed, bool small) {
  const Parameters usual = {{"kernel", kernel}};
  struct Size {
    std::size_t n;
    int d;
    std::int64_t candidates;
  };
  std::vector<Size> sizes = {{1, 1, 25},  {2, 2, 25},  {5, 1, 3},    {17, 3, 25},
                             {33, 12, 1}, {64, 65, 7}, {40, 129, 40}};
  if (!small) sizes.insert(sizes.end(), {{300, 10, 25}, {257, 30, 33}, {200, 200, 25}});
  for (const Size& size : sizes) {
    Parameters parameters = usual;
    parameters["candidates"] = size.candidates;
    const auto want = Make(name, Device::kCpu, parameters)->sample(size.n, size.d, seed);
    const auto sampler = Make(name, Device::kCuda, parameters);
    const auto got = sampler->sample(size.n, size.d, seed);
    const bool same = got.orders == want.orders && SameBits(got.weights, want.weights);
    Report(name + " " + kernel + " n=" + std::to_string(size.n) + " d=" + std::to_string(size.d) +
               " candidates=" + std::to_string(size.candidates),
           same && sampler->sample(size.n, size.d, seed).orders == want.orders);
  }
}

void CheckDiscrepancy(KernelKind kind, std::uint64_t seed) {
  for (const int d : {1, 2, 3, 64, 130}) {
    PermutationSample sample = Make("MC", Device::kCpu)->sample(77, d, seed);
    const PermutationKernel kernel(kind, 4, d);
    const double scale = std::sqrt(kernel.Self());
    for (const bool weighted : {false, true}) {
      if (weighted) sample.weights = OptimalWeights(sample, kernel);
      const double want = Discrepancy(sample, kernel), got = DeviceDiscrepancy(sample, kernel);
      // A discrepancy is the root of a difference of numbers of size K(s, s).
      const bool close = std::abs(got * got - want * want) < 1e-12 * scale * scale ||
                         std::abs(got - want) < 1e-12 * scale;
      Report("discrepancy d=" + std::to_string(d) + (weighted ? " weighted" : ""), close);
    }
  }
}

void CheckSamplers(std::uint64_t seed, bool small) {
  for (const char* name : {"Herding", "SBQ"}) {
    for (const char* kernel : {"Mallows", "Kendall", "Spearman"}) {
      CheckTwin(name, kernel, seed, small);
    }
  }
  for (const auto kind : {KernelKind::kMallows, KernelKind::kKendall, KernelKind::kSpearman}) {
    CheckDiscrepancy(kind, seed);
  }
}

void TimeSamplers(std::ostream& csv) {
  for (const int d : {10, 50, 200}) {
    for (const std::size_t n : {std::size_t{100}, std::size_t{1000}}) {
      for (const char* name : {"Herding", "SBQ"}) {
        const auto cpu = Make(name, Device::kCpu);
        const auto device = Make(name, Device::kCuda);
        PermutationSample want, got;
        const double slow = Best(1, [&] { want = cpu->sample(n, d, 7); });
        const double first = Best(1, [&] { got = device->sample(n, d, 7); });
        const double fast = Best(5, [&] { got = device->sample(n, d, 7); });
        const bool same = want.orders == got.orders && SameBits(want.weights, got.weights);
        failures += same ? 0 : 1;
        std::printf("%-10s d=%-4d n=%-6zu           %12.6f %12.6f %8.1f  %s (first call %.6f)\n",
                    name, d, n, slow, fast, slow / fast, same ? "yes" : "NO", first);
        std::fflush(stdout);
        csv << name << ',' << d << ',' << n << ',' << slow << ',' << fast << '\n';
      }
      const PermutationKernel kernel(KernelKind::kMallows, 4, d);
      const auto sample = Make("MC", Device::kCpu)->sample(n, d, 3);
      const double slow = Best(1, [&] { Discrepancy(sample, kernel); });
      const double fast = Best(5, [&] { DeviceDiscrepancy(sample, kernel); });
      std::printf("%-10s d=%-4d n=%-6zu           %12.6f %12.6f %8.1f\n", "discrep.", d, n, slow,
                  fast, slow / fast);
      csv << "discrepancy," << d << ',' << n << ',' << slow << ',' << fast << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::uint64_t seed = std::random_device{}();
  bool checks = true, speed = true, small = false, samplers = true;
  std::string out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seed" && i + 1 < argc) {
      seed = std::stoull(argv[++i]);
    } else if (argument == "--skip-checks") {
      checks = false;
    } else if (argument == "--skip-speed") {
      speed = false;
    } else if (argument == "--out" && i + 1 < argc) {
      out = argv[++i];
    } else if (argument == "--only-images") {
      samplers = false;
    } else if (argument == "--small") {
      small = true;
    } else {
      throw std::invalid_argument("unknown argument " + argument);
    }
  }
  if (Registry<PermutationSampler>::Instance().Find("Herding", Device::kCuda) == nullptr) {
    std::cerr << "this build has no CUDA methods\n";
    return 1;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  if (checks && samplers) CheckSamplers(seed, small);
  if (checks) experiments::CheckImages(seed, small);
  std::ostringstream csv;
  csv << "what,d,n,cpu_seconds,cuda_seconds\n";
  if (speed) {
    std::printf("\n%-34s %12s %12s %8s  same\n", "seconds, best of calls", "CPU, 1 core", "CUDA",
                "ratio");
    if (samplers) TimeSamplers(csv);
    experiments::TimeImages(csv);
  }
  if (!out.empty()) {
    std::filesystem::create_directories(out);
    std::ofstream(out + "/shapley_gpu_check.csv") << csv.str();
  }
  std::printf("\n%d failure(s)\n", failures);
  return failures == 0 ? 0 : 3;
} catch (const std::exception& error) {
  std::cerr << "shapley_gpu_check: " << error.what() << '\n';
  return 1;
}
