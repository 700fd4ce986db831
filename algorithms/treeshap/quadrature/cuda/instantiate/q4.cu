// The quadrature kernel and the subtree kernel for passes of 4 points.
#include "algorithms/treeshap/quadrature/sharing/subtree_kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<4>(const QuadratureLaunch&, cudaStream_t);
template void LaunchSubtreesPoints<4>(const SubtreeLaunch&, cudaStream_t);

}  // namespace retable::treeshap
