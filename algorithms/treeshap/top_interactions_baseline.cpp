// Top-k interactions compiled for the build's own instruction set; see top_interactions_block.hpp.
#include "algorithms/treeshap/top_interactions_block.hpp"

namespace retable::treeshap {

namespace {

#include "algorithms/treeshap/top_interactions_block.inc"

}  // namespace

TopFunction TopBaseline() {
  return RunTopBlock;
}

}  // namespace retable::treeshap
