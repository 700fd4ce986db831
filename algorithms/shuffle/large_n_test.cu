// Every CUDA method around 2^31 and 2^32 items: a permutation, or an error that names the limit.

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/sequence.h>
#include <thrust/transform_reduce.h>

#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/testing/cuda_methods.hpp"
#include "base/cuda/out_of_memory.hpp"

namespace retable::shuffle {
namespace {

class CudaLargeN : public CudaTest {};

struct Mix {
  std::uint64_t salt;
  __host__ __device__ std::uint64_t operator()(std::uint32_t item) const {
    std::uint64_t x = (item + salt) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ull;
    return x ^ (x >> 29);
  }
};

// A sum over the items that another collection of items has with probability 2^-64.
std::uint64_t Fingerprint(const std::uint32_t* items, std::uint64_t n, std::uint64_t salt) {
  return thrust::transform_reduce(thrust::device, items, items + n, Mix{salt}, std::uint64_t{0},
                                  thrust::plus<std::uint64_t>());
}

TEST_F(CudaLargeN, PermutesOrRefuses) {
  for (const std::uint64_t n : {(1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1, (1ull << 32) - 1,
                                (1ull << 32) + 1, 1ull << 53, (1ull << 63) - 1}) {
    DeviceArray<std::uint32_t> in, out;
    std::uint64_t expected = 0;
    if (n < 1ull << 33) {
      in.Reserve(n);
      thrust::sequence(thrust::device, in.data(), in.data() + n);
      out.Reserve(n);
      expected = Fingerprint(in.data(), n, seed);
    }
    for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
      if (method.device != Device::kCuda || method.name == "Gather") continue;
      const std::string what = method.name + ", n = " + std::to_string(n);
      const auto made = method.make({});
      auto& shuffler = dynamic_cast<CudaShuffler&>(*made);
      try {
        shuffler.prepare(n, sizeof(std::uint32_t));
        ASSERT_LT(n, 1ull << 33) << what << " is not refused";
        CheckCuda(cudaMemset(out.data(), 0xEE, n * sizeof(std::uint32_t)), "poison");
        shuffler.enqueue(in.data(), out.data(), n, sizeof(std::uint32_t), seed, nullptr);
        CheckCuda(cudaDeviceSynchronize(), what.c_str());
        EXPECT_EQ(Fingerprint(out.data(), n, seed), expected) << what;
        EXPECT_NE(Fingerprint(out.data(), n / 2, seed), Fingerprint(in.data(), n / 2, seed));
      } catch (const std::invalid_argument& refusal) {
        EXPECT_GE(n, 1ull << 31) << what;
        EXPECT_NE(std::string(refusal.what()).find("up to"), std::string::npos) << refusal.what();
      } catch (const OutOfDeviceMemory& problem) {
        std::cout << what << ": " << problem.what() << std::endl;
      } catch (const std::exception& problem) {
        FAIL() << what << ": " << problem.what();
      }
    }
  }
}

// The first size that two levels of digits do not split.
TEST_F(CudaLargeN, ManyItemsHaveTheOrderOfTheCpu) {
  const std::uint64_t n = kMaxPartition + 1;
  try {
    RequireMemory("items, n =", 4 * n, sizeof(std::uint32_t));
  } catch (const std::invalid_argument& too_little) {
    GTEST_SKIP() << too_little.what();
  }
  std::vector<std::uint32_t> in(n), expected(n), out(n);
  std::iota(in.begin(), in.end(), 0u);
  for (const char* method : {"Partition", "Shuffle"}) {
    const auto& registry = Registry<Shuffler>::Instance();
    registry.Make(method, Device::kCuda, {})->shuffle(in.data(), out.data(), n, 4, seed);
    registry.Make(method, Device::kCpu, {})->shuffle(in.data(), expected.data(), n, 4, seed);
    EXPECT_TRUE(out == expected) << method;
  }
}

}  // namespace
}  // namespace retable::shuffle
