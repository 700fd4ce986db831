#include "algorithms/extratrees/frontier/cuda/grow_batch.cuh"

// The frontier on 16-bit codes.
namespace retable::extratrees::frontier {

template void Transpose<std::uint16_t>(const std::uint16_t*, std::uint16_t*, std::uint32_t,
                                       std::uint32_t);
template GrowResult GrowBatch<std::uint16_t>(const Problem<std::uint16_t>&, Buffers&, bool,
                                             const std::int64_t*);

}  // namespace retable::extratrees::frontier
