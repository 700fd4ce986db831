// Top-k interactions compiled for AVX2; see top_interactions_block.hpp.
#include "algorithms/treeshap/top_interactions_block.hpp"

namespace retable::treeshap {

#if defined(__AVX2__)

namespace {

#include "algorithms/treeshap/top_interactions_block.inc"

}  // namespace

TopFunction TopAvx2() {
  return RunTopBlock;
}

#else

TopFunction TopAvx2() {
  return nullptr;
}

#endif

}  // namespace retable::treeshap
