#pragma once
//! @file
//! What the parts of the family's GPU check share: tables, device buffers, a verdict, a timer.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/quantiles/chebyshev_sums.hpp"
#include "base/cuda_memory.hpp"

namespace retable::quantiles {

//! A CSV that is also shown.
class Table {
 public:
  Table(const std::string& path, const std::string& header) : file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) throw std::runtime_error("cannot write " + path);
    Row(header);
  }
  ~Table() { std::fclose(file_); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  void Row(const std::string& row) {
    std::fprintf(file_, "%s\n", row.c_str());
    std::printf("%s\n", row.c_str());
    std::fflush(stdout);
  }

 private:
  std::FILE* file_;
};

template <class Real>
std::vector<Real> Download(const Real* data, std::size_t n) {
  std::vector<Real> out(n);
  CheckCuda(cudaMemcpy(out.data(), data, n * sizeof(Real), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return out;
}

class Verifier {
 public:
  explicit Verifier(Table& table) : table_(table) {}

  void Record(const std::string& method, int order, const char* type, const char* shape,
              std::size_t n, double error, double allowed) {
    const bool ok = error <= allowed;
    wrong_ += ok ? 0 : 1;
    char row[256];
    std::snprintf(row, sizeof row, "%s,%d,%s,%s,%zu,%.3g,%.3g,%s", method.c_str(), order, type,
                  shape, n, error, allowed, ok ? "ok" : "WRONG");
    table_.Row(row);
  }
  int wrong() const { return wrong_; }

 private:
  Table& table_;
  int wrong_ = 0;
};

//! Largest difference of two streams' moments; infinite where a count or a bound differs. Of a
//! stream with an infinite value nothing else is known.
inline double Difference(ChebyshevSums device, const ChebyshevSums& host, int order) {
  if (device.sum[0] != host.sum[0]) return std::numeric_limits<double>::infinity();
  if (host.sum[0] == 0) return 0;
  if (device.min != host.min || device.max != host.max || device.at_min != host.at_min ||
      device.at_max != host.at_max) {
    return std::numeric_limits<double>::infinity();
  }
  if (std::isinf(host.min) || std::isinf(host.max)) return 0;
  device.MoveTo(host.map, order);
  double worst = 0;
  for (int k = 1; k <= order; ++k) {
    const double error = std::abs(device.sum[k] - host.sum[k]) / host.sum[0];
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

//! Median milliseconds of enough runs, by events around each.
inline double MedianMs(const std::function<void()>& run) {
  cudaEvent_t begin;
  cudaEvent_t end;
  CheckCuda(cudaEventCreate(&begin), "event");
  CheckCuda(cudaEventCreate(&end), "event");
  for (int i = 0; i < 3; ++i) run();
  CheckCuda(cudaDeviceSynchronize(), "warm-up");
  std::vector<float> times;
  double total = 0;
  while (times.size() < 15 || (total < 20 && times.size() < 200)) {
    CheckCuda(cudaEventRecord(begin), "event");
    run();
    CheckCuda(cudaEventRecord(end), "event");
    CheckCuda(cudaEventSynchronize(end), "event");
    float ms = 0;
    CheckCuda(cudaEventElapsedTime(&ms, begin, end), "event");
    times.push_back(ms);
    total += ms;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

//! Many columns in one launch, and their duals in one batch (gpu_check_columns_bench.cpp).
void VerifyColumns(Verifier& verifier, std::size_t max_size, std::uint64_t seed);
void TimeColumns(Table& table, std::uint64_t seed);
//! Columns of few distinct values, and whole answers (gpu_check_places_bench.cpp).
void VerifyPlaces(Verifier& verifier, std::uint64_t seed, bool few_cases);
//! One stream over 1, 2, 4 and 8 devices, as many as there are: the same bits, and the time.
void CheckDevices(Verifier& verifier, Table* table, std::uint64_t seed);

}  // namespace retable::quantiles
