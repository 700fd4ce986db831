//! @file
//! CUDA backends of the one-pass moment methods, under the same names: sums on the device, the fit
//! on the host. This is a .cpp file since nvcc 13.0 cannot compile the registry's variants.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/quantiles/cuda/moments.hpp"
#include "algorithms/quantiles/sketches/moment_method.hpp"

namespace retable::quantiles {
namespace {

constexpr const char* kSection7 = "Mitchell, Frank, Holmes 2021, section 7";

[[maybe_unused]] const bool registered_moments_cuda = RegisterMomentMethods(
    Device::kCuda, {{"ME-central", MomentFit::kMaxEntropy, MakeCentralAccumulatorCuda,
                     "maximum entropy; Pebay's merge by tree reduction", kSection7},
                    {"ME-naive", MomentFit::kMaxEntropy, MakeNaiveAccumulatorCuda,
                     "maximum entropy; raw power sums by tree reduction", kSection7},
                    {"Legendre-central", MomentFit::kLegendre, MakeCentralAccumulatorCuda,
                     "Legendre series; Pebay's merge by tree reduction", kSection7},
                    {"Legendre-naive", MomentFit::kLegendre, MakeNaiveAccumulatorCuda,
                     "Legendre series; raw power sums by tree reduction", kSection7}});

}  // namespace
}  // namespace retable::quantiles

#endif
