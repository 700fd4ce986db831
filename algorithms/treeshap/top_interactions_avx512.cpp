// Top-k interactions compiled for AVX-512; see top_interactions_block.hpp.
#include "algorithms/treeshap/top_interactions_block.hpp"

namespace retable::treeshap {

#if defined(__AVX512F__)

namespace {

#include "algorithms/treeshap/top_interactions_block.inc"

}  // namespace

TopFunction TopAvx512() {
  return RunTopBlock;
}

#else

TopFunction TopAvx512() {
  return nullptr;
}

#endif

}  // namespace retable::treeshap
