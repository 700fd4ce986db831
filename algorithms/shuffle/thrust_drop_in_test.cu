#include "algorithms/shuffle/thrust_drop_in.cuh"

#include <thrust/device_vector.h>

#include <numeric>

#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaThrustDropIn : public CudaTest {};

std::vector<float> OnHost(const thrust::device_vector<float>& items) {
  std::vector<float> host(items.size());
  thrust::copy(items.begin(), items.end(), host.begin());
  return host;
}

TEST_F(CudaThrustDropIn, GivesAnotherPermutationEachCall) {
  std::vector<float> identity(100003);
  std::iota(identity.begin(), identity.end(), 0.0f);
  const thrust::device_vector<float> in(identity.begin(), identity.end());
  thrust::device_vector<float> out(identity.size());
  std::mt19937_64 generator(seed);
  drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), out.begin(), generator);
  std::vector<float> first = OnHost(out);
  drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), out.begin(), generator);
  std::vector<float> second = OnHost(out);
  drop_in::shuffle(thrust::device, out.begin(), out.end(), generator);
  std::vector<float> third = OnHost(out);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  for (std::vector<float>* order : {&first, &second, &third}) {
    std::sort(order->begin(), order->end());
    EXPECT_EQ(*order, identity);
  }
}

}  // namespace
}  // namespace retable::shuffle
