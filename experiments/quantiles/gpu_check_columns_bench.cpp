//! @file
//! Part of the family's GPU check: many columns at once, batches of duals, several devices.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "algorithms/common/nccl.hpp"
#include "algorithms/quantiles/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/column_sums.hpp"
#include "algorithms/quantiles/dual.hpp"
#include "algorithms/quantiles/dual_cuda.hpp"
#include "algorithms/quantiles/nccl_reduction.hpp"
#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/retable_fit.hpp"
#include "experiments/quantiles/gpu_check_tools.hpp"

namespace retable::quantiles {
namespace {

//! Columns of every kind, by turns: normal, offset, lognormal, pixels, whole numbers, two decimals,
//! three levels, a constant, one with missing values, one with nothing else.
template <class Real>
std::vector<Real> MakeColumns(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Real> values(rows * columns);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) {
      const double z = normal(engine);
      double x = z;
      switch (c % 10) {
        case 1:
          x = 1000 + z;
          break;
        case 2:
          x = std::exp(z);
          break;
        case 3:
          x = z < 0.5 ? 0 : std::floor(256 * uniform(engine));
          break;
        case 4:
          x = std::floor(20 * z);
          break;
        case 5:
          x = std::round(100 * (5 + z)) / 100;
          break;
        case 6:
          x = z < -0.5 ? -1 : z < 1 ? 2 : 7;
          break;
        case 7:
          x = 3.25;
          break;
        case 8:
          x = uniform(engine) < 0.3 ? std::nan("") : z;
          break;
        case 9:
          x = c % 20 == 9 ? std::nan("") : std::exp(3 * z);
          break;
        default:
          break;
      }
      values[c * rows + r] = static_cast<Real>(x);
    }
  }
  return values;
}

template <class Real>
RetableInput InputOf(std::span<const Real> values, int order) {
  ChebyshevAccumulator sums(order);
  sums.Update(values);
  return {sums.sums(), {}, order, sums.digits()};
}

//! Sums, lattice and answers of a table's columns, against the CPU's, column by column.
template <class Real>
void VerifyTable(Verifier& verifier, std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const char* type = sizeof(Real) == 4 ? "float32" : "float64";
  const std::vector<Real> host = MakeColumns<Real>(rows, columns, seed);
  const DeviceArray<Real> device(host.size());
  CheckCuda(
      cudaMemcpy(device.data(), host.data(), host.size() * sizeof(Real), cudaMemcpyHostToDevice),
      "copy");
  for (const int order : {5, 15}) {
    ColumnsCuda sums(order, true);
    const auto found = sums.Sum(DeviceColumns<Real>{device.data(), rows, columns, rows}, nullptr);
    double worst = 0;
    double worst_log = 0;
    double digits_differ = 0;
    std::vector<RetableInput> cpu;
    std::vector<RetableInput> cuda;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::span<const Real> column(host.data() + c * rows, rows);
      const RetableInput input = InputOf(column, order);
      worst = std::max(worst, Difference(found[c].sums, input.sums, order));
      digits_differ += found[c].digits == input.digits ? 0 : 1;
      if (input.sums.sum[0] > 0 && input.sums.min > 0) {
        std::vector<double> logs;
        for (const Real x : column) logs.push_back(std::log(static_cast<double>(x)));
        ChebyshevAccumulator log_sums(order, false);
        log_sums.Update(std::span<const double>(logs));
        // An end in the logarithm may be another last bit than the host's.
        ChebyshevSums theirs = found[c].log_sums;
        theirs.min = log_sums.sums().min;
        theirs.max = log_sums.sums().max;
        theirs.at_min = log_sums.sums().at_min;
        theirs.at_max = log_sums.sums().at_max;
        worst_log = std::max(worst_log, Difference(theirs, log_sums.sums(), order));
      }
      if (input.sums.sum[0] == 0) continue;
      cpu.push_back(input);
      cuda.push_back({found[c].sums, {}, order, found[c].digits});
    }
    verifier.Record("columns", order, type, "all kinds", rows, worst, 1e-13);
    verifier.Record("columns of logs", order, type, "all kinds", rows, worst_log, 1e-12);
    verifier.Record("lattices", order, type, "all kinds", rows, digits_differ, 0);
    const auto phis = NiaePhis(101);
    const auto on_cpu = FitColumns(cpu, CpuDualSolver(1));
    const auto on_cuda = FitColumns(cuda, CudaDualSolver());
    double apart = 0;
    for (std::size_t c = 0; c < cpu.size(); ++c) {
      const auto a = on_cpu[c].Quantiles(phis);
      const auto b = on_cuda[c].Quantiles(phis);
      double area = 0;
      for (std::size_t i = 0; i < a.size(); ++i) area += std::abs(a[i] - b[i]);
      const double range = cpu[c].sums.max - cpu[c].sums.min;
      if (range > 0) apart = std::max(apart, area / static_cast<double>(a.size()) / range);
    }
    // In a column of few values one of them is much: a quantile on the edge of a step.
    const double allowed = rows < 1000 ? 0.02 : 1e-3;
    verifier.Record("Retable in a batch", order, type, "all kinds", rows, apart, allowed);
  }
}

double Seconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void VerifyColumns(Verifier& verifier, std::size_t max_size, std::uint64_t seed) {
  for (const std::size_t rows : {1u, 17u, 4096u, 4097u, 30011u}) {
    if (rows > max_size) continue;
    const std::size_t columns = rows > 20000 || max_size < 1000 ? 20 : 60;
    VerifyTable<float>(verifier, rows, columns, seed + rows);
    VerifyTable<double>(verifier, rows, columns, seed + rows + 1);
  }
}

void TimeColumns(Table& table, std::uint64_t seed) {
  constexpr std::size_t kColumns = 14072;  // of OpenML-CC18
  constexpr std::size_t kRows = 4000;
  constexpr std::size_t kDistinct = 500;  // drawn; the rest repeat them
  const auto row = [&](const char* what, double seconds) {
    char text[160];
    std::snprintf(text, sizeof text, "%s,%zu,%zu,%.4f,%.0f", what, kColumns, kRows, 1e3 * seconds,
                  kColumns / seconds);
    table.Row(text);
  };
  const std::vector<float> drawn = MakeColumns<float>(kRows, kDistinct, seed);
  const DeviceArray<float> device(kRows * kColumns);
  for (std::size_t c = 0; c < kColumns; c += kDistinct) {
    const std::size_t count = std::min(kDistinct, kColumns - c) * kRows;
    CheckCuda(cudaMemcpy(device.data() + c * kRows, drawn.data(), count * sizeof(float),
                         cudaMemcpyHostToDevice),
              "copy");
  }
  const DeviceColumns<float> columns{device.data(), kRows, kColumns, kRows};
  ColumnsCuda sums(kMaxOrder);
  row("sums of all columns, GPU kernels", 1e-3 * MedianMs([&] { sums.Enqueue(columns, nullptr); }));
  std::vector<ColumnSums> found;
  row("sums of all columns, GPU, back on the host",
      Seconds([&] { found = sums.Sum(columns, nullptr); }));
  std::vector<RetableInput> inputs;
  for (const ColumnSums& column : found) {
    if (column.sums.sum[0] > 0) inputs.push_back({column.sums, {}, kMaxOrder, column.digits});
  }
  // The duals that the columns ask for first.
  std::vector<DualProblem> problems;
  FitColumns(inputs, [&](std::span<const DualProblem> asked) {
    if (problems.empty()) problems.assign(asked.begin(), asked.end());
    return CpuDualSolver(1)(asked);
  });
  std::printf("# %zu duals for %zu columns\n", problems.size(), inputs.size());
  DualCuda solver;
  solver.Solve(problems);
  row("duals, GPU kernel", 1e-3 * MedianMs([&] { solver.EnqueueAgain(); }));
  row("duals, GPU, there and back", Seconds([&] { solver.Solve(problems); }));
  row("duals, CPU, one core", Seconds([&] { CpuDualSolver(1)(problems); }));
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  row(("duals, CPU, " + std::to_string(threads) + " threads").c_str(),
      Seconds([&] { CpuDualSolver(threads)(problems); }));
  row("fits, duals on the GPU, the rest on one core",
      Seconds([&] { FitColumns(inputs, CudaDualSolver()); }));
  row("fits, CPU, one core", Seconds([&] { FitColumns(inputs, CpuDualSolver(1)); }));
}

void CheckDevices([[maybe_unused]] Verifier& verifier, [[maybe_unused]] Table* table,
                  [[maybe_unused]] std::uint64_t seed) {
#if defined(RETABLE_HAS_NCCL)
  try {
    Nccl();
  } catch (const std::runtime_error& error) {
    std::printf("# several devices: left out (%s)\n", error.what());
    return;
  }
  int present = 0;
  CheckCuda(cudaGetDeviceCount(&present), "cudaGetDeviceCount");
  const std::size_t n = table == nullptr ? (std::size_t{21} << 20) + 12345 : std::size_t{1} << 28;
  std::vector<double> host(n);
  std::mt19937_64 engine(seed);
  for (std::size_t i = 0; i < n; ++i) {
    host[i] = i < (std::size_t{1} << 22) ? static_cast<double>(engine() >> 40) * 0x1p-20 + 7
                                         : host[i % (std::size_t{1} << 22)] + 1e-3 * (i >> 22);
  }
  ColumnSums alone;
  for (int devices = 1; devices <= present; devices *= 2) {
    std::vector<double*> memory;
    std::vector<DevicePart<double>> parts;
    for (int d = 0; d < devices; ++d) {
      const ChunkRange range = ChunksOfRank(n, d, devices);
      const std::size_t begin = range.begin * kChunk;
      const std::size_t count = std::min<std::size_t>(n, range.end * kChunk) - begin;
      double* data = nullptr;
      CheckCuda(cudaSetDevice(d), "cudaSetDevice");
      CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(double)), "cudaMalloc");
      CheckCuda(
          cudaMemcpy(data, host.data() + begin, count * sizeof(double), cudaMemcpyHostToDevice),
          "copy");
      memory.push_back(data);
      parts.push_back({data, count, range.begin});
    }
    {
      NcclReduction reduction(devices, kMaxOrder);
      const ColumnSums sums = reduction.Sum(std::span<const DevicePart<double>>(parts));
      if (devices == 1) alone = sums;
      const bool same = std::memcmp(&sums.sums, &alone.sums, sizeof sums.sums) == 0;
      verifier.Record("bits on " + std::to_string(devices) + " devices", kMaxOrder, "float64",
                      "offset", n, same ? 0 : 1, 0);
      if (table != nullptr) {
        std::vector<double> seconds;
        for (int i = 0; i < 9; ++i) {
          seconds.push_back(
              Seconds([&] { reduction.Sum(std::span<const DevicePart<double>>(parts)); }));
        }
        std::sort(seconds.begin(), seconds.end());
        char text[160];
        std::snprintf(text, sizeof text, "%d,float64,%zu,%.4f,%.4g", devices, n, 1e3 * seconds[4],
                      static_cast<double>(n) / seconds[4]);
        table->Row(text);
      }
    }
    for (int d = 0; d < devices; ++d) {
      CheckCuda(cudaSetDevice(d), "cudaSetDevice");
      cudaFree(memory[static_cast<std::size_t>(d)]);
    }
    CheckCuda(cudaSetDevice(0), "cudaSetDevice");
  }
#else
  std::printf("# several devices: not built in (no NCCL)\n");
#endif
}

}  // namespace retable::quantiles
