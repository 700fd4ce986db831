//! @file
//! Registers Sobol and Orthogonal on a CUDA device. This is a .cpp file since nvcc 13.0 cannot
//! compile the registry's variants.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shapley/samplers/cuda/device_points.hpp"

namespace retable::shapley {
namespace {

RETABLE_REGISTER(PermutationSampler, device_sobol,
                 {.name = "Sobol",
                  .device = Device::kCuda,
                  .summary = "scrambled Sobol points on the sphere, the CPU's permutations",
                  .citation = "Mitchell et al. 2022, algorithm 4",
                  .parameters = {{"relabel", false, "players renamed at random"}},
                  .make = MakeDeviceSobol});
RETABLE_REGISTER(PermutationSampler, device_orthogonal,
                 {.name = "Orthogonal",
                  .device = Device::kCuda,
                  .summary = "orthogonal spherical codes, the CPU's permutations",
                  .citation = "Mitchell et al. 2022, algorithm 3",
                  .make = MakeDeviceOrthogonal});

}  // namespace
}  // namespace retable::shapley

#endif
