#include "algorithms/extratrees/frontier/cuda/grow_batch.cuh"

// The frontier on 32-bit codes.
namespace retable::extratrees::frontier {

template void PrepareCodes<std::uint32_t>(std::uint32_t*, std::uint32_t*, std::uint32_t,
                                          std::uint32_t);
template GrowResult GrowBatch<std::uint32_t>(const Problem<std::uint32_t>&, Buffers&, bool,
                                             const std::int64_t*, DeviceArray<NodeFacts>&);

}  // namespace retable::extratrees::frontier
