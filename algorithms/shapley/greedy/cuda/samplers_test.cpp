// The samplers on a GPU against their CPU backends, bit for bit, on fresh random seeds.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <cuda_runtime_api.h>

#include <cstring>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::shapley {
namespace {

std::unique_ptr<PermutationSampler> Make(const std::string& name, Device device,
                                         const Parameters& parameters = {}) {
  return Registry<PermutationSampler>::Instance().Make(name, device, parameters);
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

class CudaSamplers
    : public testing::TestWithParam<std::tuple<const char*, const char*>> {  // method, kernel
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(CudaSamplers, ChooseTheSamePermutations) {
  const auto& [name, kernel] = GetParam();
  const std::uint64_t seed = FreshSeed();
  struct {
    std::size_t n;
    int d;
    std::int64_t candidates;
  } const sizes[] = {{1, 1, 25},    {2, 2, 25},     {5, 1, 3},     {17, 3, 25},
                     {33, 12, 1},   {64, 65, 7},    {40, 129, 40}, {300, 10, 25},
                     {257, 30, 33}, {200, 200, 25}, {1000, 10, 25}};
  for (const auto& size : sizes) {
    SCOPED_TRACE(testing::Message()
                 << "n " << size.n << ", d " << size.d << ", candidates " << size.candidates);
    const Parameters parameters = {{"kernel", std::string(kernel)},
                                   {"candidates", size.candidates}};
    const auto want = Make(name, Device::kCpu, parameters)->sample(size.n, size.d, seed);
    const auto sampler = Make(name, Device::kCuda, parameters);
    for (int call = 0; call < 2; ++call) {  // the second finds the first one's memory
      const auto got = sampler->sample(size.n, size.d, seed);
      EXPECT_TRUE(got.orders == want.orders);
      EXPECT_TRUE(SameBits(got.weights, want.weights));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CudaSamplers,
                         testing::Combine(testing::Values("Herding", "SBQ"),
                                          testing::Values("Mallows", "Kendall", "Spearman")),
                         [](const auto& pair) {
                           return std::string(std::get<0>(pair.param)) + std::get<1>(pair.param);
                         });

}  // namespace
}  // namespace retable::shapley

#endif
