#include "algorithms/extratrees/frontier/cuda/grow_batch.cuh"

// The frontier on 8-bit codes.
namespace retable::extratrees::frontier {

template void PrepareCodes<std::uint8_t>(std::uint8_t*, std::uint8_t*, std::uint32_t,
                                         std::uint32_t);
template GrowResult GrowBatch<std::uint8_t>(const Problem<std::uint8_t>&, Buffers&, bool,
                                            const std::int64_t*, DeviceArray<NodeFacts>&);

}  // namespace retable::extratrees::frontier
