//! @file
//! CUDA backends of the one-pass moment methods, under the same names: sums on the device, the fit
//! on the host. This is a .cpp file since nvcc 13.0 cannot compile the registry's variants.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/quantiles/cuda/moments.hpp"
#include "algorithms/quantiles/sketches/moment_method.hpp"

namespace retable::quantiles {
namespace {

RETABLE_REGISTER(QuantileSketch, me_central,
                 (MomentMethod("ME-central", Device::kCuda,
                               "maximum entropy; Pebay's merge by tree reduction",
                               "Mitchell, Frank, Holmes 2021, section 7", [](int order) {
                                 return MakeMaxEntropySketch(MakeCentralAccumulatorCuda(order),
                                                             false);
                               })));
RETABLE_REGISTER(QuantileSketch, me_naive,
                 (MomentMethod("ME-naive", Device::kCuda,
                               "maximum entropy; raw power sums by tree reduction",
                               "Mitchell, Frank, Holmes 2021, section 7", [](int order) {
                                 return MakeMaxEntropySketch(MakeNaiveAccumulatorCuda(order),
                                                             false);
                               })));
RETABLE_REGISTER(QuantileSketch, legendre_central,
                 (MomentMethod("Legendre-central", Device::kCuda,
                               "Legendre series; Pebay's merge by tree reduction",
                               "Mitchell, Frank, Holmes 2021, section 7", [](int order) {
                                 return MakeLegendreSketch(MakeCentralAccumulatorCuda(order));
                               })));
RETABLE_REGISTER(QuantileSketch, legendre_naive,
                 (MomentMethod("Legendre-naive", Device::kCuda,
                               "Legendre series; raw power sums by tree reduction",
                               "Mitchell, Frank, Holmes 2021, section 7", [](int order) {
                                 return MakeLegendreSketch(MakeNaiveAccumulatorCuda(order));
                               })));

}  // namespace
}  // namespace retable::quantiles

#endif
