// The quadrature kernel and the subtree kernel for passes of 8 points.
#include "algorithms/treeshap/quadrature/sharing/subtree_kernel.cuh"

namespace retable::treeshap {

template void LaunchQuadraturePoints<8>(const QuadratureLaunch&, cudaStream_t);
template void LaunchSubtreesPoints<8>(const SubtreeLaunch&, cudaStream_t);

}  // namespace retable::treeshap
