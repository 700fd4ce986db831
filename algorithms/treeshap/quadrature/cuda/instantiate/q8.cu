// The quadrature kernel and the unit kernel for passes of 8 points.
#include "algorithms/treeshap/quadrature/sharing/subtree_kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<8>(const QuadratureLaunch&, cudaStream_t);
template void LaunchUnitsPoints<8>(const UnitLaunch&, cudaStream_t);

}  // namespace retable::treeshap
