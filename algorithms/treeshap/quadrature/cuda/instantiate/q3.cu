// The quadrature kernel for passes of 3 points.
#include "algorithms/treeshap/quadrature/cuda/kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<3>(const QuadratureLaunch&, cudaStream_t);

}  // namespace retable::treeshap
