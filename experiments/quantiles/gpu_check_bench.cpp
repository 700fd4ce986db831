//! @file
//! Verifies every CUDA method of the family against its CPU twin on fresh random input, then times
//! it against a plain read of the same memory.
//!
//!     quantiles_gpu_check [--out DIR] [--seed N] [--max-size N] [--verify-only] [--devices-only]
//!     [--sanitize]
//!
//! Writes verify.csv, timing.csv, columns.csv, devices.csv into DIR; exit status 3 when a result is
//! wrong.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "algorithms/quantiles/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/chebyshev_cuda.hpp"
#include "algorithms/quantiles/device_update.hpp"
#include "algorithms/quantiles/moments_cuda.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "experiments/quantiles/gpu_check_kernels.hpp"
#include "experiments/quantiles/gpu_check_tools.hpp"

namespace retable::quantiles {
namespace {

struct Options {
  std::string out = ".";
  std::uint64_t seed = 0;
  std::size_t max_size = 1000000000;
  bool verify_only = false;
  bool devices_only = false;
  bool sanitize = false;
};

const std::vector<std::pair<Shape, const char*>> kShapes{{Shape::kNormal, "normal"},
                                                         {Shape::kOffsetNormal, "normal+1e3"},
                                                         {Shape::kLognormal, "lognormal"},
                                                         {Shape::kPixel, "pixel"},
                                                         {Shape::kTimestamp, "timestamp"}};

template <class Real>
constexpr const char* kTypeName = sizeof(Real) == 4 ? "float32" : "float64";

//! Largest difference of two moment vectors, scaled as NaN = wrong.
double Difference(const ScaledMoments& a, const ScaledMoments& b) {
  double worst = a.count == b.count && a.min == b.min && a.max == b.max
                     ? 0
                     : std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k <= static_cast<std::size_t>(a.order); ++k) {
    const double error = std::abs(a.moment[k] - b.moment[k]);
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

template <class Real>
void VerifyInput(Verifier& verifier, const Real* device, std::size_t n, const char* shape) {
  const std::vector<Real> host = Download(device, n);
  for (const int order : {5, 10, 15}) {
    for (const bool central : {true, false}) {
      const auto twin = central ? MakeCentralAccumulator(order) : MakeNaiveAccumulator(order);
      const auto sums =
          central ? MakeCentralAccumulatorCuda(order) : MakeNaiveAccumulatorCuda(order);
      twin->update(std::span<const Real>(host));
      dynamic_cast<DeviceUpdate&>(*sums).update_device(device, n, nullptr);
      if (twin->min() == twin->max()) continue;
      // Raw sums of data far off zero are noise on either device: order 5 at most, and loosely.
      const bool offset = shape == std::string("normal+1e3") || shape == std::string("timestamp");
      if (!central && offset) continue;
      const double allowed = central ? 1e-6 : 1e-5;
      verifier.Record(central ? "central" : "naive", order, kTypeName<Real>, shape, n,
                      Difference(sums->scaled(), twin->scaled()), allowed);
    }
    ChebyshevAccumulator twin(order, false);
    twin.Update(std::span<const Real>(host));
    ChebyshevCuda sums(order);
    verifier.Record("Chebyshev", order, kTypeName<Real>, shape, n,
                    Difference(sums.Sum(device, n, nullptr), twin.sums(), order),
                    sizeof(Real) == 4 ? 1e-8 : 1e-13);
  }
}

template <class Real>
void VerifyAll(Verifier& verifier, std::size_t max_size, std::uint64_t seed) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{1000}, std::size_t{4096},
                              std::size_t{100003}, std::size_t{4000037}, std::size_t{5000011}}) {
    if (n > max_size) continue;
    DeviceArray<Real> data(n + 1);
    for (const auto& [shape, name] : kShapes) {
      FillDevice(data.data(), n + 1, shape, seed + n);
      VerifyInput(verifier, data.data() + (n % 2), n, name);  // odd sizes start off alignment
    }
    // Missing values and a constant.
    FillDevice(data.data(), n + 1, Shape::kNormal, seed);
    std::vector<Real> host = Download(data.data(), n);
    for (std::size_t i = 0; i < n; i += 37) host[i] = std::numeric_limits<Real>::quiet_NaN();
    if (n > 100) {
      CheckCuda(cudaMemcpy(data.data(), host.data(), n * sizeof(Real), cudaMemcpyHostToDevice),
                "copy");
      VerifyInput(verifier, data.data(), n, "with NaN");
    }
  }
}

template <class Real>
void TimeAll(Table& table, std::size_t max_size, std::uint64_t seed) {
  DeviceArray<Real> data(max_size);
  DeviceArray<double> scratch(4096);
  const auto time = [&](const std::string& method, int order, const char* shape, std::size_t n,
                        double read_ms, const std::function<void()>& run) {
    const double ms = MedianMs(run);
    char row[256];
    std::snprintf(row, sizeof row, "%s,%d,%s,%s,%zu,%.5f,%.1f,%.1f", method.c_str(), order,
                  kTypeName<Real>, shape, n, ms, static_cast<double>(n * sizeof(Real)) / ms * 1e-6,
                  100 * read_ms / ms);
    table.Row(row);
  };
  const auto time_shape = [&](Shape shape, const char* name, std::size_t n, bool all) {
    FillDevice(data.data(), n, shape, seed);
    const auto read = [&] { EnqueuePlainRead(data.data(), n, scratch.data()); };
    const double read_ms = MedianMs(read);
    time("plain read", 0, name, n, read_ms, read);
    for (const int order : {5, 10, 15}) {
      ChebyshevCuda chebyshev(order);
      time("Chebyshev kernels", order, name, n, read_ms,
           [&] { chebyshev.Enqueue(data.data(), n, nullptr); });
      time("Chebyshev", order, name, n, read_ms, [&] { chebyshev.Sum(data.data(), n, nullptr); });
      if (!all) continue;
      for (const bool central : {true, false}) {
        const auto sums =
            central ? MakeCentralAccumulatorCuda(order) : MakeNaiveAccumulatorCuda(order);
        auto& on_device = dynamic_cast<DeviceUpdate&>(*sums);
        time(central ? "central" : "naive", order, name, n, read_ms,
             [&] { on_device.update_device(data.data(), n, nullptr); });
      }
    }
  };
  for (std::size_t n = 1000; n <= max_size; n *= 10) time_shape(Shape::kNormal, "normal", n, true);
  time_shape(Shape::kLognormal, "lognormal", max_size, false);
  time_shape(Shape::kPixel, "pixel", max_size, false);
}

//! One stream over several devices: verified, then timed.
int RunDevices(const Options& options) {
  Table verify(options.out + "/devices_verify.csv",
               "method,l,type,shape,n,difference,allowed,result");
  Verifier verifier(verify);
  CheckDevices(verifier, nullptr, options.seed);
  Table table(options.out + "/devices.csv", "devices,type,n,ms,values per second");
  CheckDevices(verifier, &table, options.seed);
  return verifier.wrong() > 0 ? 3 : 0;
}

//! Each kernel a few times on little input, for tools that slow a program down a hundredfold.
int RunOnce(const Options& options) {
  Table table(options.out + "/sanitize.csv",
              "method,l,type,shape,n,largest difference,allowed,result");
  Verifier verifier(table);
  const auto all = [&]<class Real>(Real) {
    const DeviceArray<Real> data(5001);
    FillDevice(data.data(), 5001, Shape::kNormal, options.seed);
    VerifyInput(verifier, data.data() + 1, 5000, "normal");
  };
  all(float{});
  all(double{});
  VerifyColumns(verifier, 17, options.seed);
  VerifyPlaces(verifier, options.seed, true);
  return verifier.wrong() > 0 ? 3 : 0;
}

int Run(const Options& options) {
  std::filesystem::create_directories(options.out);
  cudaDeviceProp device;
  CheckCuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf("# %s, %d multiprocessors, seed %llu\n", device.name, device.multiProcessorCount,
              static_cast<unsigned long long>(options.seed));
  if (options.devices_only) return RunDevices(options);
  if (options.sanitize) return RunOnce(options);
  int wrong = 0;
  {
    Table table(options.out + "/verify.csv",
                "method,l,type,shape,n,largest difference,allowed,result");
    Verifier verifier(table);
    VerifyAll<double>(verifier, options.max_size, options.seed);
    VerifyAll<float>(verifier, options.max_size, options.seed);
    VerifyColumns(verifier, options.max_size, options.seed);
    if (options.max_size > 5000000) VerifyPlaces(verifier, options.seed, false);
    wrong = verifier.wrong();
  }
  std::printf("# %d wrong\n", wrong);
  if (wrong > 0) return 3;
  if (options.verify_only) return 0;
  {
    Table columns(options.out + "/columns.csv", "what,columns,rows,ms,columns per second");
    TimeColumns(columns, options.seed);
  }
  if (const int status = RunDevices(options); status != 0) return status;
  Table table(options.out + "/timing.csv", "method,l,type,shape,n,ms,GB/s,% of a plain read");
  TimeAll<double>(table, options.max_size, options.seed);
  TimeAll<float>(table, options.max_size, options.seed);
  return 0;
}

}  // namespace
}  // namespace retable::quantiles

int main(int argc, char** argv) {
  retable::quantiles::Options options;
  options.seed = std::random_device{}();
  CLI::App app("Verifies and times the CUDA quantile methods");
  app.add_option("--out", options.out, "folder for verify.csv and timing.csv");
  app.add_option("--seed", options.seed, "seed of the input (default: fresh)");
  app.add_option("--max-size", options.max_size, "largest number of values");
  app.add_flag("--devices-only", options.devices_only, "only the part on several devices");
  app.add_flag("--sanitize", options.sanitize, "each kernel a few times, for compute-sanitizer");
  app.add_flag("--verify-only", options.verify_only, "no timing");
  CLI11_PARSE(app, argc, argv);
  try {
    return retable::quantiles::Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantiles_gpu_check: %s\n", error.what());
    return 1;
  }
}
