#include "algorithms/common/philox.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "experiments/quantiles/protocols/bandwidth_kernels.hpp"

namespace retable::quantiles {
namespace {

template <class Real>
__global__ void Fill(Real* out, std::size_t n, Shape shape, std::uint64_t seed) {
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const PhiloxBlock bits = philox.Block(i);
    const double u = UniformDoubleOpenBelow(bits.half(0));
    const double v = UniformDouble(bits.half(1));
    const double normal = sqrt(-2 * log(u)) * cospi(2 * v);
    double x = normal;
    if (shape == Shape::kOffsetNormal) x = 1000 + normal;
    if (shape == Shape::kLognormal) x = exp(normal);
    if (shape == Shape::kPixel) x = u < 0.7 ? 0.0 : floor(256 * v);
    out[i] = static_cast<Real>(x);
  }
}

template <class Real>
__global__ void __launch_bounds__(256) PlainRead(const Real* values, std::size_t n, double* out) {
  constexpr int kWide = kWideValues<Real>;
  constexpr int kLoads = 8;
  constexpr std::size_t kBlockTile = std::size_t{256} * kWide * kLoads;
  Real total[kWide] = {};
  for (std::size_t t = blockIdx.x; t < n / kBlockTile; t += gridDim.x) {
    Real x[kLoads * kWide];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      LoadWide(values + t * kBlockTile + (i * 256 + threadIdx.x) * kWide, x + i * kWide);
    }
#pragma unroll
    for (int i = 0; i < kLoads * kWide; ++i) total[i % kWide] += x[i];
  }
  Real sum = 0;
  for (int i = 0; i < kWide; ++i) sum += total[i];
  // Every thread's sum must be used, or the compiler removes its loads.
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(out + blockIdx.x, static_cast<double>(sum));
}

}  // namespace

template <class Real>
void FillDevice(Real* out, std::size_t n, Shape shape, std::uint64_t seed) {
  Fill<<<4096, 256>>>(out, n, shape, seed);
  CheckCuda(cudaGetLastError(), "fill");
}
template void FillDevice(float*, std::size_t, Shape, std::uint64_t);
template void FillDevice(double*, std::size_t, Shape, std::uint64_t);

template <class Real>
void EnqueuePlainRead(const Real* values, std::size_t n, double* scratch) {
  PlainRead<<<8 * MultiprocessorCount(), 256>>>(values, n, scratch);
  CheckCuda(cudaGetLastError(), "plain read");
}
template void EnqueuePlainRead(const float*, std::size_t, double*);
template void EnqueuePlainRead(const double*, std::size_t, double*);

}  // namespace retable::quantiles
