// The quadrature kernel and the unit kernel for passes of 4 points.
#include "algorithms/treeshap/quadrature/sharing/subtree_kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<4>(const QuadratureLaunch&, cudaStream_t);
template void LaunchUnitsPoints<4>(const UnitLaunch&, cudaStream_t);

}  // namespace retable::treeshap
