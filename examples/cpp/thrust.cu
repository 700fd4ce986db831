// Shuffles with thrust's signature, in host memory, and in device memory where a GPU answers.

#include <retable/thrust_shuffle.cuh>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/random.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstdio>
#include <retable/core.hpp>

namespace {

// Whether the items 0 .. n-1 are in another order after a shuffle, and all there.
template <class Vector>
bool Shuffled() {
  Vector items(100000);
  thrust::sequence(items.begin(), items.end());
  const Vector before = items;
  thrust::default_random_engine random(1);
  retable::shuffle::drop_in::shuffle(items.begin(), items.end(), random);
  const bool moved = items != before;
  thrust::sort(items.begin(), items.end());
  return moved && items == before;
}

}  // namespace

int main() {
  if (!Shuffled<thrust::host_vector<int>>()) return 1;
  const bool device = retable::CudaDevices() > 0;
  if (device && !Shuffled<thrust::device_vector<int>>()) return 1;
  std::printf("shuffled in host memory%s\n", device ? " and on the GPU" : "; no GPU answers");
}
