// The quadrature kernel and the unit kernel for passes of 6 points.
#include "algorithms/treeshap/quadrature/sharing/subtree_kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<6>(const QuadratureLaunch&, cudaStream_t);
template void LaunchUnitsPoints<6>(const UnitLaunch&, cudaStream_t);

}  // namespace retable::treeshap
