#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/selection/cuda_sample.hpp"

#include <gtest/gtest.h>

#include "algorithms/shuffle/selection/sample.hpp"
#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaSample : public CudaTest {
 protected:
  template <class Index>
  void Check(std::uint64_t n, std::uint64_t k) {
    DeviceSample sample;
    sample.Prepare(n, k);
    const DeviceArray<Index> out(k + 1);
    CheckCuda(cudaMemset(out.data(), 0xEE, (k + 1) * sizeof(Index)), "poison");
    sample.Enqueue(out.data(), n, k, seed, nullptr);
    std::vector<Index> got(k + 1), expected;
    out.Download(got);
    for (const std::uint64_t value : SampleWithoutReplacement(n, k, seed)) {
      expected.push_back(static_cast<Index>(value));
    }
    expected.push_back(static_cast<Index>(0xEEEEEEEEEEEEEEEEull));  // nothing behind the last
    EXPECT_EQ(got, expected) << k << " of " << n;
  }
};

// All, some and none, where the domain is twice n and where it is n.
TEST_F(CudaSample, EqualsTheCpu) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{257}, std::uint64_t{4096},
                                std::uint64_t{1000003}, kMost - 5, kMost}) {
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{200},
                                  std::uint64_t{4096}, std::uint64_t{300000}, n}) {
      if (k > n || k > 2000000) continue;
      Check<std::uint64_t>(n, k);
      if (n < kMost) Check<std::uint32_t>(n, k);
    }
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif
