#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/multi_gpu/several_gpus.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

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
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  std::vector<std::uint64_t> order;
  for (std::uint32_t g = 0; g < parts; ++g) {
    std::vector<std::uint64_t> shuffled(part[g].size());
    partition->shuffle(part[g].data(), shuffled.data(), shuffled.size(), 8, BucketSeed(seed, g));
    order.insert(order.end(), shuffled.begin(), shuffled.end());
  }
  return order;
}

std::vector<std::uint64_t> ShuffleOn(const std::vector<int>& devices, std::uint64_t n,
                                     std::uint64_t seed) {
  SeveralGpus several(devices);
  several.Prepare(n, 8);
  std::vector<DeviceArray<std::uint64_t>> in, out;
  std::vector<const std::uint64_t*> from;
  std::vector<std::uint64_t*> to;
  std::uint64_t begin = 0;
  for (std::size_t g = 0; g < devices.size(); ++g) {
    CheckCuda(cudaSetDevice(devices[g]), "cudaSetDevice");
    std::vector<std::uint64_t> slice(several.slice(n, g));
    std::iota(slice.begin(), slice.end(), begin);
    begin += slice.size();
    from.push_back(in.emplace_back().Upload(slice));
    to.push_back(out.emplace_back().Reserve(several.capacity(n)));
  }
  const auto sizes = several.Shuffle<std::uint64_t>(from, to, n, seed);
  std::vector<std::uint64_t> order;
  for (std::size_t g = 0; g < devices.size(); ++g) {
    CheckCuda(cudaSetDevice(devices[g]), "cudaSetDevice");
    std::vector<std::uint64_t> part(sizes[g]);
    out[g].Download(part);
    order.insert(order.end(), part.begin(), part.end());
  }
  CheckCuda(cudaSetDevice(devices[0]), "cudaSetDevice");
  return order;
}

class CudaSeveralGpus : public CudaTest {
 protected:
  void Check(const std::vector<int>& devices) {
    for (const std::uint64_t n : {1, 1000, 3000001, 12000000}) {
      EXPECT_EQ(ShuffleOn(devices, n, seed), SeveralByDefinition(n, devices.size(), seed))
          << n << " items on " << devices.size() << " devices";
    }
  }
};

TEST_F(CudaSeveralGpus, FollowTheDefinitionOnOneNamedThreeTimes) {
  Check({0, 0, 0});
}

TEST_F(CudaSeveralGpus, FollowTheDefinitionOnEveryPowerOfTwo) {
  int count = 0;
  CheckCuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count < 2) GTEST_SKIP() << "one CUDA device";
  std::vector<int> devices = {0};
  for (int d = 1; d < count; ++d) {
    devices.push_back(d);
    if ((d & (d + 1)) == 0) Check(devices);
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif
