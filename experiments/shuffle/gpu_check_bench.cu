//! @file
//! shuffle_gpu_check: verifies every CUDA shuffler on fresh random seeds, then prints items a
//! second by n and method, with the ratios to the gather and to thrust.
//!
//!     shuffle_gpu_check [--quick|--full] [--out DIR] [--phases] [--only NAME] [--small]
//!     [--skip-verify] [--held] [--from W] [--up-to W]
//!
//! Verified: the result is a permutation of the input (every item marked once, on the device),
//! every output is written (poisoned before), and deterministic methods equal their CPU twin bit
//! for bit. Timed: device work between two events, after a warm-up, median of the repeats, a new
//! seed each; memory was allocated before. Transfers are not included.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <thrust/device_vector.h>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/in_place_device.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition_device.hpp"
#include "algorithms/shuffle/rows_device.hpp"
#include "algorithms/shuffle/sample.hpp"
#include "algorithms/shuffle/sample_device.hpp"
#include "algorithms/shuffle/several_gpus.hpp"
#include "algorithms/shuffle/thrust_drop_in.cuh"
#include "base/cuda_memory.hpp"

namespace retable::shuffle {
namespace {

struct Options {
  bool full = false, quick = false, phases = false, verify = true, time = true, small = false,
       devices = false, held = false;
  int at = 0;  // phases of n = 2^at + 1 alone
  int from = 0, up_to = 31;
  std::string out, only;
};

// Item i of the test data: its index in every 32-bit word but one, which holds a tag of the index.
template <class Item>
__host__ __device__ Item TestItem(std::uint64_t i) {
  if constexpr (sizeof(Item) == 4) {
    return static_cast<std::uint32_t>(i);
  } else if constexpr (sizeof(Item) == 8) {
    return i | ((i * 0x9E3779B97F4A7C15ull) & 0xFFFFFFE000000000ull);
  } else {
    return {{i, i * 0x9E3779B97F4A7C15ull}};
  }
}

template <class Item>
__host__ __device__ std::uint64_t IndexOf(const Item& item) {
  if constexpr (sizeof(Item) == 16) {
    return item.half[0];
  } else {
    return item & 0x1FFFFFFFFFull;
  }
}

template <class Item>
__global__ void Fill(Item* items, std::uint64_t n) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{256} + threadIdx.x;
  if (i < n) items[i] = TestItem<Item>(i);
}

template <class Item>
__device__ bool Same(const Item& a, const Item& b) {
  if constexpr (sizeof(Item) == 16) {
    return a.half[0] == b.half[0] && a.half[1] == b.half[1];
  } else {
    return a == b;
  }
}

template <class Item>
__global__ void MarkItems(const Item* items, std::uint64_t n, std::uint32_t* seen,
                          unsigned long long* wrong) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{256} + threadIdx.x;
  if (i >= n) return;
  const std::uint64_t index = IndexOf(items[i]);
  if (index >= n || !Same(items[i], TestItem<Item>(index))) {
    atomicAdd(wrong, 1ull);
    return;
  }
  const std::uint32_t bit = 1u << (index & 31);
  if (atomicOr(&seen[index >> 5], bit) & bit) atomicAdd(wrong, 1ull);
}

unsigned Blocks(std::uint64_t n) {
  return static_cast<unsigned>((n + 255) / 256);
}

struct Buffers {
  DeviceArray<std::byte> in, out;
  DeviceArray<std::uint32_t> seen;
  DeviceArray<unsigned long long> wrong;

  template <class Item>
  void Prepare(std::uint64_t n) {
    in.Reserve(n * sizeof(Item));
    out.Reserve(n * sizeof(Item));
    Fill<<<Blocks(n), 256>>>(reinterpret_cast<Item*>(in.data()), n);
    CheckCuda(cudaMemset(out.data(), 0xEE, n * sizeof(Item)), "cudaMemset");
  }

  template <class Item>
  std::uint64_t WrongItems(std::uint64_t n) {
    seen.Reserve(n / 32 + 1);
    wrong.Reserve(1);
    CheckCuda(cudaMemset(seen.data(), 0, (n / 32 + 1) * 4), "cudaMemset");
    CheckCuda(cudaMemset(wrong.data(), 0, 8), "cudaMemset");
    MarkItems<<<Blocks(n), 256>>>(reinterpret_cast<const Item*>(out.data()), n, seen.data(),
                                  wrong.data());
    unsigned long long count = 0;
    CheckCuda(cudaMemcpy(&count, wrong.data(), 8, cudaMemcpyDeviceToHost), "verify");
    return count;
  }
};

struct Entry {
  std::string name;
  Parameters parameters;
  std::string label;
};

std::vector<Entry> Entries(const Options& options) {
  std::vector<Entry> entries;
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCuda) continue;
    entries.push_back({method.name, {}, method.name});
    for (const auto& info : method.parameters) {
      if (info.name == "stored")
        entries.push_back({method.name, {{"stored", true}}, method.name + "(stored)"});
      if (info.name == "rng") {
        entries.push_back(
            {method.name, {{"rng", std::string("curand")}}, method.name + "(curand)"});
      }
      if (info.name == "bucket") {  // many buckets of few items
        entries.push_back(
            {method.name, {{"bucket", std::int64_t{5000}}}, method.name + "(bucket=5000)"});
      }
      if (info.name == "fusion") {
        for (std::int64_t f : {0, 1, 2, 3}) {
          if (f == std::get<std::int64_t>(info.fallback)) continue;
          entries.push_back(
              {method.name, {{"fusion", f}}, method.name + "(fusion=" + std::to_string(f) + ")"});
        }
      }
    }
  }
  if (!options.only.empty()) {
    std::erase_if(entries, [&](const Entry& e) {
      return e.name != "Gather" &&
             ("," + options.only + ",").find("," + e.label + ",") == std::string::npos;
    });
  }
  // The gather first, then thrust: the others are compared with them.
  const auto order = [](const Entry& e) {
    return e.label == "Gather" ? 0 : e.name == "thrust" ? 1 : 2;
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return order(a) < order(b); });
  return entries;
}

std::unique_ptr<CudaShuffler> Make(const Entry& entry) {
  auto made = Registry<Shuffler>::Instance().Make(entry.name, Device::kCuda, entry.parameters);
  auto* cuda = dynamic_cast<CudaShuffler*>(made.get());
  if (cuda == nullptr) throw std::logic_error(entry.name + " is no CudaShuffler");
  made.release();
  return std::unique_ptr<CudaShuffler>(cuda);
}

template <class Item>
int VerifyOne(const Entry& entry, CudaShuffler& shuffler, Buffers& buffers, std::uint64_t n,
              std::uint64_t seed, bool against_cpu) {
  buffers.Prepare<Item>(n);
  shuffler.prepare(n, sizeof(Item));
  shuffler.enqueue(buffers.in.data(), buffers.out.data(), n, sizeof(Item), seed, nullptr);
  CheckCuda(cudaDeviceSynchronize(), entry.label.c_str());
  const std::uint64_t wrong = buffers.WrongItems<Item>(n);
  if (wrong != 0) {
    std::printf("WRONG %s n=%llu bytes=%zu: %llu items lost or repeated\n", entry.label.c_str(),
                static_cast<unsigned long long>(n), sizeof(Item),
                static_cast<unsigned long long>(wrong));
    return 1;
  }
  const auto* twin = Registry<Shuffler>::Instance().Find(entry.name, Device::kCpu);
  if (!against_cpu || twin == nullptr || !shuffler.deterministic()) return 0;
  std::vector<Item> in(n), expected(n), got(n);
  for (std::uint64_t i = 0; i < n; ++i) in[i] = TestItem<Item>(i);
  twin->make(entry.parameters)->shuffle(in.data(), expected.data(), n, sizeof(Item), seed);
  CheckCuda(cudaMemcpy(got.data(), buffers.out.data(), n * sizeof(Item), cudaMemcpyDeviceToHost),
            "copy");
  if (std::memcmp(got.data(), expected.data(), n * sizeof(Item)) != 0) {
    std::uint64_t first = 0;
    while (IndexOf(got[first]) == IndexOf(expected[first])) ++first;
    std::printf("DIFFERS %s n=%llu bytes=%zu: first at %llu\n", entry.label.c_str(),
                static_cast<unsigned long long>(n), sizeof(Item),
                static_cast<unsigned long long>(first));
    return 1;
  }
  return 0;
}

int Verify(const Options& options, std::uint64_t seed) {
  std::vector<std::uint64_t> sizes = {
      1,    2,    3,    5,    16,   17,   255,   256,   257,   1000,   2049,           4096,
      4097, 4608, 4609, 8193, 8200, 8201, 16401, 65536, 65537, 300007, (1u << 20) + 1, 3000001};
  std::vector<std::uint64_t> large = {(1ull << 24) + 1};
  if (options.full)
    large.insert(large.end(),
                 {1ull << 26, (1ull << 26) + 1, (1ull << 27) + 12345, (1ull << 28) + 1});
  if (options.small) {
    sizes = {1, 300, 8201, 70001, (8200u << 9) + 1};
    large.clear();
  }
  Buffers buffers;
  int failures = 0;
  for (const Entry& entry : Entries(options)) {
    if (entry.name == "Gather") continue;  // repeats items by design
    const auto shuffler = Make(entry);
    int checks = 0, failed = 0;
    const auto check = [&](std::uint64_t n, bool twin) {
      failed += VerifyOne<std::uint64_t>(entry, *shuffler, buffers, n, seed + n, twin);
      failed +=
          VerifyOne<std::uint32_t>(entry, *shuffler, buffers, n, seed + n, twin && n < (1u << 22));
      checks += 2;
      if (n < (1u << 25) && entry.name != "InPlace") {
        failed += VerifyOne<Item16>(entry, *shuffler, buffers, n, seed + n, twin && n < (1u << 22));
        ++checks;
      }
    };
    for (const std::uint64_t n : sizes) check(n, true);
    const bool split = entry.name == "Partition" || entry.name == "SplitRectangle";
    const bool ours = split || entry.name == "Rectangle" || entry.name == "VarPhilox-mended";
    if (ours || !options.quick) {
      for (const std::uint64_t n : large) check(n, split);
    }
    std::printf("%-26s %3d checks, %d failed\n", entry.label.c_str(), checks, failed);
    std::fflush(stdout);
    failures += failed;
  }
  return failures;
}

// Leaves over capacity, by a low limit.
int VerifyOverflow(std::uint64_t seed) {
  int failed = 0;
  for (const std::uint64_t n : {std::uint64_t{3000}, std::uint64_t{40000}}) {
    PartitionWorkspace workspace;
    workspace.Prepare(n, 8);
    workspace.LimitLeaves(1000);
    DeviceArray<std::uint64_t> out;
    out.Reserve(n);
    workspace.Enqueue(static_cast<const std::uint64_t*>(nullptr), out.data(), n, seed, nullptr);
    std::vector<std::uint64_t> got(n);
    CheckCuda(cudaMemcpy(got.data(), out.data(), n * 8, cudaMemcpyDeviceToHost), "overflow");
    failed += got != Registry<Shuffler>::Instance()
                         .Find("Partition", Device::kCpu)
                         ->make({})
                         ->permutation(n, seed);
  }
  std::printf("%-26s   2 checks, %d failed\n", "Partition(overflow)", failed);
  return failed;
}

// Many chunks and odd sizes, against the CPU; then a large one, as a permutation.
int VerifyInPlace(std::uint64_t seed) {
  int failed = 0;
  for (const std::uint64_t n : {std::uint64_t{1000003}, std::uint64_t{5000000}}) {
    for (const std::uint64_t chunk : {std::uint64_t{1} << 14, std::uint64_t{1} << 18}) {
      std::vector<std::uint64_t> expected(n), got(n);
      std::iota(expected.begin(), expected.end(), std::uint64_t{0});
      DeviceArray<std::uint64_t> items;
      items.Reserve(n);
      CheckCuda(cudaMemcpy(items.data(), expected.data(), n * 8, cudaMemcpyHostToDevice), "copy");
      InPlaceWorkspace workspace;
      workspace.Prepare(n, 8, chunk);
      workspace.Shuffle(items.data(), n, seed, nullptr);
      CheckCuda(cudaMemcpy(got.data(), items.data(), n * 8, cudaMemcpyDeviceToHost), "in place");
      ShuffleInPlace(expected.data(), n, 8, seed, chunk);
      failed += got != expected;
    }
  }
  std::printf("%-26s   4 checks, %d failed\n", "InPlace(chunks)", failed);
  return failed;
}

// The drop-in under thrust's signature gives a permutation, another one each call, in place too.
int VerifyDropIn(std::uint64_t seed) {
  const std::size_t n = 100003;
  std::vector<float> identity(n);
  for (std::size_t i = 0; i < n; ++i) identity[i] = static_cast<float>(i);
  const thrust::device_vector<float> in(identity.begin(), identity.end());
  thrust::device_vector<float> first(n), second(n);
  std::mt19937_64 generator(seed);
  drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), first.begin(), generator);
  drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), second.begin(), generator);
  std::vector<float> a(n), b(n), c(n);
  thrust::copy(first.begin(), first.end(), a.begin());
  thrust::copy(second.begin(), second.end(), b.begin());
  drop_in::shuffle(thrust::device, second.begin(), second.end(), generator);
  thrust::copy(second.begin(), second.end(), c.begin());
  int failed = a == b;
  failed += b == c;
  for (std::vector<float>* order : {&a, &b, &c}) {
    std::sort(order->begin(), order->end());
    failed += *order != identity;
  }
  std::printf("%-26s   5 checks, %d failed\n", "drop-in for thrust", failed);
  return failed;
}

// k of n against the CPU: all, some and none, where the domain is twice n and where it is n.
int VerifySample(std::uint64_t seed) {
  int failed = 0, checks = 0;
  const auto equal = [&]<class Index>(std::uint64_t n, std::uint64_t k, Index) {
    DeviceSample sample;
    sample.Prepare(n, k);
    DeviceArray<Index> out(k + 1);
    CheckCuda(cudaMemset(out.data(), 0xEE, (k + 1) * sizeof(Index)), "poison");
    sample.Enqueue(out.data(), n, k, seed, nullptr);
    std::vector<Index> got(k + 1);
    out.Download(got);
    const auto expected = SampleWithoutReplacement(n, k, seed);
    bool same = got[k] == static_cast<Index>(0xEEEEEEEEEEEEEEEEull);  // nothing behind the last
    for (std::uint64_t j = 0; j < k; ++j) same = same && got[j] == static_cast<Index>(expected[j]);
    failed += !same;
    ++checks;
  };
  for (const std::uint64_t n :
       {std::uint64_t{1}, std::uint64_t{257}, std::uint64_t{4096}, std::uint64_t{1000003},
        (std::uint64_t{1} << 32) - 5, std::uint64_t{1} << 32}) {
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{200},
                                  std::uint64_t{4096}, std::uint64_t{300000}, n}) {
      if (k > n || k > 2000000) continue;
      equal(n, k, std::uint64_t{});
      if (n < (std::uint64_t{1} << 32)) equal(n, k, std::uint32_t{});
    }
  }
  std::printf("%-26s %3d checks, %d failed\n", "samples", checks, failed);
  return failed;
}

// Rows of many lengths against the CPU, all and some.
int VerifyRows(std::uint64_t seed) {
  int failed = 0, checks = 0;
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::size_t row_bytes : {1, 3, 4, 12, 16, 40, 128, 400, 1001, 4096}) {
    const std::uint64_t n = 3000000 / row_bytes + 5, k = n / 3;
    std::vector<std::byte> in(n * row_bytes), expected(in.size()), got(in.size());
    std::mt19937_64 generator(seed + row_bytes);
    for (std::byte& byte : in) byte = static_cast<std::byte>(generator());
    const DeviceArray<std::byte> from(in), to(in.size());
    DeviceRows rows;
    const auto differs = [&](std::uint64_t bytes) {
      to.Download(std::span(got).first(bytes));
      ++checks;
      return !std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes),
                         expected.begin());
    };
    rows.PrepareShuffle(n);
    rows.EnqueueShuffle(from.data(), to.data(), n, row_bytes, seed, nullptr);
    partition->shuffle(in.data(), expected.data(), n, row_bytes, seed);
    failed += differs(n * row_bytes);
    rows.PrepareSample(n, k);
    rows.EnqueueSample(from.data(), to.data(), n, k, row_bytes, seed, nullptr);
    SampleRows(in.data(), expected.data(), n, k, row_bytes, seed);
    failed += differs(k * row_bytes);
  }
  std::printf("%-26s %3d checks, %d failed\n", "rows", checks, failed);
  return failed;
}

// The definition of a shuffle over several devices: slices split by digit, then each part by its
// own seed.
std::vector<std::uint64_t> SeveralByDefinition(std::uint64_t n, std::size_t parts,
                                               std::uint64_t seed) {
  const auto digits = static_cast<std::uint32_t>(parts) * kDeviceDigits;
  const std::uint64_t slice = ((n + parts - 1) / parts + 255) / 256 * 256;
  std::vector<std::vector<std::uint64_t>> part(parts);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (std::uint64_t begin = 0; begin < n; begin += slice) {
    std::vector<std::vector<std::uint64_t>> split(digits);
    for (std::uint64_t i = begin; i < std::min(n, begin + slice); ++i) {
      const PhiloxBlock block = DigitBlock(random, kDeviceStream, i >> 8, i & 31);
      split[Digit(block, static_cast<int>((i >> 5) & 7), digits)].push_back(i);
    }
    for (std::uint32_t d = 0; d < digits; ++d) {
      auto& whole = part[d / kDeviceDigits];
      whole.insert(whole.end(), split[d].begin(), split[d].end());
    }
  }
  std::vector<std::uint64_t> order;
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (std::uint32_t g = 0; g < parts; ++g) {
    std::vector<std::uint64_t> shuffled(part[g].size());
    partition->shuffle(part[g].data(), shuffled.data(), shuffled.size(), 8, BucketSeed(seed, g));
    order.insert(order.end(), shuffled.begin(), shuffled.end());
  }
  return order;
}

struct Slices {
  std::vector<int> devices;
  std::vector<std::unique_ptr<DeviceArray<std::uint64_t>>> in, out;
  std::vector<const std::uint64_t*> from;
  std::vector<std::uint64_t*> to;

  Slices(const SeveralGpus& several, std::vector<int> ids, std::uint64_t n) : devices(ids) {
    std::uint64_t begin = 0;
    for (std::size_t g = 0; g < ids.size(); ++g) {
      CheckCuda(cudaSetDevice(ids[g]), "cudaSetDevice");
      in.push_back(std::make_unique<DeviceArray<std::uint64_t>>());
      out.push_back(std::make_unique<DeviceArray<std::uint64_t>>());
      const std::uint64_t size = several.slice(n, g);
      in[g]->Reserve(size);
      out[g]->Reserve(several.capacity(n));
      std::vector<std::uint64_t> items(std::min<std::uint64_t>(size, 1u << 24));
      for (std::uint64_t at = 0; at < size; at += items.size()) {
        std::iota(items.begin(), items.end(), begin + at);
        CheckCuda(cudaMemcpy(in[g]->data() + at, items.data(),
                             std::min<std::uint64_t>(items.size(), size - at) * 8,
                             cudaMemcpyHostToDevice),
                  "copy");
      }
      begin += size;
      from.push_back(in[g]->data());
      to.push_back(out[g]->data());
    }
  }
};

int VerifySeveral(const std::vector<int>& devices, std::uint64_t seed,
                  Transport transport = Transport::kCopies) {
  int failed = 0, checks = 0;
  for (const std::uint64_t n :
       {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{3000001}, std::uint64_t{12000000}}) {
    SeveralGpus several(devices, transport);
    several.Prepare(n, 8);
    const Slices slices(several, devices, n);
    const auto sizes = several.Shuffle<std::uint64_t>(slices.from, slices.to, n, seed);
    std::vector<std::uint64_t> got(n);
    std::uint64_t at = 0;
    for (std::size_t g = 0; g < devices.size(); at += sizes[g++]) {
      CheckCuda(cudaMemcpy(got.data() + at, slices.to[g], sizes[g] * 8, cudaMemcpyDeviceToHost),
                "copy");
    }
    failed += at != n || got != SeveralByDefinition(n, devices.size(), seed);
    ++checks;
  }
  CheckCuda(cudaSetDevice(devices[0]), "cudaSetDevice");
  std::printf("several GPUs (%zu%s)  %d checks, %d failed\n", devices.size(),
              transport == Transport::kNccl ? ", NCCL" : "      ", checks, failed);
  return failed;
}

void TimeSeveral(const std::vector<int>& devices, int w, Transport transport = Transport::kCopies) {
  const std::uint64_t n = 1ull << w;
  SeveralGpus several(devices, transport);
  several.Prepare(n, 8);
  const Slices slices(several, devices, n);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  std::vector<double> seconds;
  for (int r = -1; r < 5; ++r) {
    const auto begin = now();
    several.Shuffle<std::uint64_t>(slices.from, slices.to, n, 7);
    const std::chrono::duration<double> one = now() - begin;
    if (r >= 0) seconds.push_back(one.count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%zu devices, 2^%d items of 8 bytes%s: %.1f G items/s, wall clock; by phases, ms:",
              devices.size(), w, transport == Transport::kNccl ? ", NCCL" : "",
              static_cast<double>(n) / seconds[seconds.size() / 2] / 1e9);
  auto last = now();
  several.OnPhase([&](const char* phase) {
    std::printf(" %s %.2f", phase, std::chrono::duration<double, std::milli>(now() - last).count());
    last = now();
  });
  several.Shuffle<std::uint64_t>(slices.from, slices.to, n, 7);
  std::printf("\n");
  std::fflush(stdout);
}

double Median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Timer {
  cudaEvent_t begin, end;
  Timer() {
    CheckCuda(cudaEventCreate(&begin), "cudaEventCreate");
    CheckCuda(cudaEventCreate(&end), "cudaEventCreate");
  }
  ~Timer() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
};

// Keeps the stream busy for about 30 microseconds, so that the host's part of a launch is over
// before the time begins.
__global__ void HoldStream() {
  const long long begin = clock64();
  while (clock64() - begin < 50000) {
  }
}

template <class Item>
std::vector<float> TimeOne(CudaShuffler& shuffler, Buffers& buffers, std::uint64_t n, int repeats,
                           bool held) {
  Timer timer;
  std::vector<float> ms;
  for (int r = -2; r < repeats; ++r) {
    // The stored index of the gather is made outside of the time: it keeps one seed.
    const std::uint64_t seed =
        shuffler.deterministic() ? 1000 : 1000 + static_cast<std::uint64_t>(r + 2);
    if (held) HoldStream<<<1, 1>>>();
    CheckCuda(cudaEventRecord(timer.begin), "record");
    shuffler.enqueue(buffers.in.data(), buffers.out.data(), n, sizeof(Item), seed, nullptr);
    CheckCuda(cudaEventRecord(timer.end), "record");
    CheckCuda(cudaEventSynchronize(timer.end), "time");
    float one = 0;
    CheckCuda(cudaEventElapsedTime(&one, timer.begin, timer.end), "time");
    if (r >= 0) ms.push_back(one);
  }
  return ms;
}

template <class Item>
void TimeAll(const Options& options, const std::vector<std::uint64_t>& sizes, std::FILE* csv) {
  const auto entries = Entries(options);
  std::map<std::string, std::unique_ptr<CudaShuffler>> shufflers;
  for (const Entry& e : entries) shufflers[e.label] = Make(e);
  Buffers buffers;
  std::printf("\n%zu-byte items: G items/s (times the gather)\n%-12s", sizeof(Item), "n");
  for (const Entry& e : entries)
    std::printf(" %*s", std::max<int>(15, static_cast<int>(e.label.size())), e.label.c_str());
  std::printf("\n");
  for (const std::uint64_t n : sizes) {
    try {
      buffers.Prepare<Item>(n);
    } catch (const std::exception& error) {
      std::printf("n=%llu: %s\n", static_cast<unsigned long long>(n), error.what());
      break;
    }
    int w = 0;
    while ((2ull << w) <= n) ++w;
    char label[32];
    std::snprintf(label, sizeof label, "2^%d%+lld", w, static_cast<long long>(n - (1ull << w)));
    std::printf("%-12s", label);
    double gather = 0, thrust = 0;
    for (const Entry& e : entries) {
      const int width = std::max<int>(15, static_cast<int>(e.label.size()));
      std::vector<float> ms;
      try {
        shufflers[e.label]->prepare(n, sizeof(Item));
        ms = TimeOne<Item>(*shufflers[e.label], buffers, n, n > (1u << 27) ? 5 : 11, options.held);
      } catch (const std::exception& error) {
        cudaGetLastError();
        std::printf(" %*s", width, "-");
        std::fprintf(stderr, "%s n=%llu: %s\n", e.label.c_str(), static_cast<unsigned long long>(n),
                     error.what());
        shufflers[e.label] = Make(e);
        continue;
      }
      const double rate = static_cast<double>(n) / Median(ms) / 1e6;
      if (e.label == "Gather") gather = rate;
      if (e.name == "thrust") thrust = rate;
      char cell[32];
      std::snprintf(cell, sizeof cell, "%.3f (%.2f)", rate, rate / gather);
      std::printf(" %*s", width, cell);
      if (csv != nullptr) {
        std::sort(ms.begin(), ms.end());
        std::fprintf(csv, "%s,%zu,%llu,%d,%llu,%zu,%.9g,%.9g,%.9g,%.6g,%.4f,%.4f\n",
                     e.label.c_str(), sizeof(Item), static_cast<unsigned long long>(n), w,
                     static_cast<unsigned long long>(n - (1ull << w)), ms.size(), Median(ms) * 1e-3,
                     ms.front() * 1e-3, ms.back() * 1e-3, rate, gather > 0 ? rate / gather : 0,
                     thrust > 0 ? rate / thrust : 0);
      }
      if (n > (1ull << 28)) shufflers[e.label] = Make(e);  // give the workspace back
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

void Phases(const std::vector<int>& widths) {
  std::printf("\nPartition, 8-byte items: milliseconds by phase (G items/s)\n");
  for (const int w : widths) {
    const std::uint64_t n = (1ull << w) + 1;
    Buffers buffers;
    buffers.Prepare<std::uint64_t>(n);
    PartitionWorkspace workspace;
    workspace.Prepare(n, 8);
    std::vector<cudaEvent_t> events;
    std::vector<std::string> names;
    std::map<std::string, std::vector<float>> ms;
    for (int r = -1; r < 5; ++r) {
      events.assign(1, nullptr);
      names.assign(1, "");
      cudaEventCreate(&events[0]);
      workspace.OnPhase([&](const char* phase) {
        events.emplace_back();
        cudaEventCreate(&events.back());
        cudaEventRecord(events.back());
        // The second level's phases have the same names.
        const bool again = std::find(names.begin(), names.end(), phase) != names.end();
        names.push_back(std::string(phase) + (again ? "2" : ""));
      });
      cudaEventRecord(events[0]);
      workspace.Enqueue(reinterpret_cast<const std::uint64_t*>(buffers.in.data()),
                        reinterpret_cast<std::uint64_t*>(buffers.out.data()), n, 77, nullptr);
      CheckCuda(cudaDeviceSynchronize(), "phases");
      for (std::size_t e = 1; e < events.size(); ++e) {
        float one = 0;
        cudaEventElapsedTime(&one, events[e - 1], events[e]);
        if (r >= 0) ms[names[e]].push_back(one);
      }
      for (auto& e : events) cudaEventDestroy(e);
    }
    std::printf("2^%d+1:", w);
    for (const char* phase : {"count", "scan", "scatter", "count2", "scan2", "scatter2", "leaf"}) {
      if (ms[phase].empty()) continue;
      const double t = Median(ms[phase]);
      std::printf("  %s %.3f (%.1f)", phase, t, static_cast<double>(n) / t / 1e6);
    }
    std::printf("\n");
  }
}

// Random permutations without data: nothing is read for the first pass.
template <class Index>
void RandPerm() {
  std::printf("\nrandperm, %zu-byte indices: G items/s:", sizeof(Index));
  for (const int w : {20, 24, 26, 28, 29, 30, 31}) {
    const std::uint64_t n = 1ull << w;
    Buffers buffers;
    buffers.Prepare<Index>(n);
    PartitionWorkspace workspace;
    workspace.Prepare(n, sizeof(Index));
    Timer timer;
    std::vector<float> ms;
    for (int r = -2; r < 7; ++r) {
      CheckCuda(cudaEventRecord(timer.begin), "record");
      workspace.Enqueue(static_cast<const Index*>(nullptr),
                        reinterpret_cast<Index*>(buffers.out.data()), n, 5, nullptr);
      CheckCuda(cudaEventRecord(timer.end), "record");
      CheckCuda(cudaEventSynchronize(timer.end), "time");
      float one = 0;
      CheckCuda(cudaEventElapsedTime(&one, timer.begin, timer.end), "time");
      if (r >= 0) ms.push_back(one);
    }
    std::printf("  2^%d %.1f", w, static_cast<double>(n) / Median(ms) / 1e6);
  }
  std::printf("\n");
}

// In place: no copy is timed, and the memory beside the items is printed.
template <class Item>
void TimeInPlace(const std::vector<int>& widths) {
  std::printf("\nin place, %zu-byte items: G items/s (MiB of extra memory):", sizeof(Item));
  for (const int w : widths) {
    const std::uint64_t n = 1ull << w;
    DeviceArray<Item> items;
    items.Reserve(n);
    Fill<<<Blocks(n), 256>>>(items.data(), n);
    InPlaceWorkspace workspace;
    workspace.Prepare(n, sizeof(Item));
    Timer timer;
    std::vector<float> ms;
    for (int r = -1; r < 3; ++r) {
      CheckCuda(cudaEventRecord(timer.begin), "record");
      workspace.Shuffle(items.data(), n, 5 + static_cast<std::uint64_t>(r), nullptr);
      CheckCuda(cudaEventRecord(timer.end), "record");
      CheckCuda(cudaEventSynchronize(timer.end), "time");
      float one = 0;
      CheckCuda(cudaEventElapsedTime(&one, timer.begin, timer.end), "time");
      if (r >= 0) ms.push_back(one);
    }
    DeviceArray<std::uint32_t> seen;
    DeviceArray<unsigned long long> wrong;
    seen.Reserve(n / 32 + 1);
    wrong.Reserve(1);
    CheckCuda(cudaMemset(seen.data(), 0, (n / 32 + 1) * 4), "cudaMemset");
    CheckCuda(cudaMemset(wrong.data(), 0, 8), "cudaMemset");
    MarkItems<<<Blocks(n), 256>>>(static_cast<const Item*>(items.data()), n, seen.data(),
                                  wrong.data());
    unsigned long long lost = 0;
    CheckCuda(cudaMemcpy(&lost, wrong.data(), 8, cudaMemcpyDeviceToHost), "verify");
    std::printf("  2^%d %.1f (%.0f)%s", w, static_cast<double>(n) / Median(ms) / 1e6,
                static_cast<double>(workspace.bytes()) / 1048576.0, lost > 0 ? " WRONG" : "");
    std::fflush(stdout);
  }
  std::printf("\n");
}

int Main(const Options& options) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  int failures = 0;
  if (options.devices) {
    int count = 0;
    CheckCuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    bool nccl = count > 1;
    try {
      if (nccl) NcclExchange({0, 1});
    } catch (const std::exception& error) {
      std::printf("without NCCL: %s\n", error.what());
      nccl = false;
    }
    std::vector<int> devices;
    for (int d = 0; d < count; ++d) {
      devices.push_back(d);
      if (d == 0 || (d & (d + 1)) != 0) continue;
      failures += VerifySeveral(devices, seed);
      if (nccl) failures += VerifySeveral(devices, seed, Transport::kNccl);
    }
    for (const int w : {26, 29, 31}) {
      TimeSeveral({0}, std::min(w, 30));
      for (const Transport transport : {Transport::kCopies, Transport::kNccl}) {
        if (transport == Transport::kNccl && !nccl) continue;
        if (count > 1) TimeSeveral({0, 1}, w, transport);
        if (count > 2) TimeSeveral(devices, w, transport);
      }
    }
    return failures > 0;
  }
  if (options.verify) failures = Verify(options, seed);
  if (options.verify && options.only.empty()) {
    failures += VerifyOverflow(seed) + VerifyInPlace(seed) + VerifyDropIn(seed) +
                VerifySample(seed) + VerifyRows(seed) + VerifySeveral({0, 0, 0}, seed);
  }
  if (failures > 0) std::printf("%d checks FAILED\n", failures);
  if (options.phases) {
    Phases(options.at > 0 ? std::vector<int>{options.at}
                          : std::vector<int>{20, 22, 23, 24, 25, 26, 27, 28, 29, 30});
    if (options.at > 0) return failures > 0;
    RandPerm<std::uint32_t>();
    RandPerm<std::uint64_t>();
    TimeInPlace<std::uint64_t>({22, 24, 26, 28, 29, 30, 31});
    TimeInPlace<std::uint32_t>({26, 29, 31});
  }
  if (!options.time) return failures > 0;
  std::FILE* csv = nullptr;
  if (!options.out.empty()) {
    csv = std::fopen((options.out + "/shuffle_gpu.csv").c_str(), "w");
    if (csv == nullptr) throw std::runtime_error("cannot write to " + options.out);
    std::fprintf(csv,
                 "method,item_bytes,n,w,extra,samples,median_s,min_s,max_s,gitems_s,ratio_gather,"
                 "ratio_thrust\n");
  }
  std::vector<std::uint64_t> sizes;
  if (options.full) {
    for (int w = 8; w <= 30; ++w) {
      sizes.push_back((1ull << w) + 1);
      if (w % 3 == 2) sizes.push_back(1ull << w);
    }
    sizes.push_back(1ull << 31);
  } else {
    for (int w : {8, 11, 14, 17, 20, 22, 23, 24, 26, 28, 29}) sizes.push_back((1ull << w) + 1);
  }
  std::erase_if(sizes, [&](std::uint64_t n) {
    return n > (2ull << options.up_to) - 1 || n < 1ull << options.from;
  });
  TimeAll<std::uint64_t>(options, sizes, csv);
  std::vector<std::uint64_t> others;
  for (int w : {14, 20, 23, 26, 29}) {
    if (w >= options.from && w <= options.up_to) others.push_back((1ull << w) + 1);
  }
  if (options.full) {
    TimeAll<std::uint32_t>(options, others, csv);
    TimeAll<Item16>(options, others, csv);
  }
  if (csv != nullptr) std::fclose(csv);
  return failures > 0;
}

}  // namespace
}  // namespace retable::shuffle

int main(int argc, char** argv) {
  retable::shuffle::Options options;
  for (int a = 1; a < argc; ++a) {
    const std::string arg = argv[a];
    if (arg == "--full")
      options.full = true;
    else if (arg == "--quick")
      options.quick = true;
    else if (arg == "--phases")
      options.phases = true;
    else if (arg == "--small")
      options.small = true, options.time = false;
    else if (arg == "--devices")
      options.devices = true;
    else if (arg == "--skip-verify")
      options.verify = false;
    else if (arg == "--skip-timing")
      options.time = false;
    else if (arg == "--out" && a + 1 < argc)
      options.out = argv[++a];
    else if (arg == "--at" && a + 1 < argc)
      options.at = std::atoi(argv[++a]), options.phases = true;
    else if (arg == "--held")
      options.held = true;
    else if (arg == "--from" && a + 1 < argc)
      options.from = std::atoi(argv[++a]);
    else if (arg == "--up-to" && a + 1 < argc)
      options.up_to = std::atoi(argv[++a]);
    else if (arg == "--only" && a + 1 < argc)
      options.only = argv[++a];
    else {
      std::fprintf(
          stderr,
          "usage: shuffle_gpu_check [--quick|--full] [--phases [--at W]] [--small] [--devices] "
          "[--skip-verify] "
          "[--skip-timing] [--held] [--from W] [--up-to W] [--only A,B] [--out DIR]\n");
      return 1;
    }
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: nothing was checked\n");
    return 0;
  }
  try {
    return retable::shuffle::Main(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shuffle_gpu_check: %s\n", error.what());
    return 2;
  }
}
