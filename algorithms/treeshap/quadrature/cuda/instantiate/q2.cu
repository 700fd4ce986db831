// The quadrature kernel for passes of 2 points.
#include "algorithms/treeshap/quadrature/cuda/kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<2>(const QuadratureLaunch&, cudaStream_t);

}  // namespace retable::treeshap
