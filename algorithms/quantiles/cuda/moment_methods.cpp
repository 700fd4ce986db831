//! @file
//! CUDA backends of the one-pass moment methods, under the same names: sums on the device, the fit
//! on the host. This is a .cpp file since nvcc 13.0 cannot compile the registry's variants.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/quantiles/cuda/moments.hpp"
#include "algorithms/quantiles/sketches/moment_sketch.hpp"
#include "algorithms/quantiles/sketches/order_parameter.hpp"

namespace retable::quantiles {
namespace {

RETABLE_REGISTER(QuantileSketch, me_central,
                 {.name = "ME-central",
                  .device = Device::kCuda,
                  .summary = "maximum entropy; Pebay's merge by tree reduction",
                  .citation = "Mitchell, Frank, Holmes 2021, section 7",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(MakeCentralAccumulatorCuda(Order(p)), false);
                  }});
RETABLE_REGISTER(QuantileSketch, me_naive,
                 {.name = "ME-naive",
                  .device = Device::kCuda,
                  .summary = "maximum entropy; raw power sums by tree reduction",
                  .citation = "Mitchell, Frank, Holmes 2021, section 7",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(MakeNaiveAccumulatorCuda(Order(p)), false);
                  }});
RETABLE_REGISTER(QuantileSketch, legendre_central,
                 {.name = "Legendre-central",
                  .device = Device::kCuda,
                  .summary = "Legendre series; Pebay's merge by tree reduction",
                  .citation = "Mitchell, Frank, Holmes 2021, section 7",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeLegendreSketch(MakeCentralAccumulatorCuda(Order(p)));
                  }});
RETABLE_REGISTER(QuantileSketch, legendre_naive,
                 {.name = "Legendre-naive",
                  .device = Device::kCuda,
                  .summary = "Legendre series; raw power sums by tree reduction",
                  .citation = "Mitchell, Frank, Holmes 2021, section 7",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeLegendreSketch(MakeNaiveAccumulatorCuda(Order(p)));
                  }});

}  // namespace
}  // namespace retable::quantiles

#endif
