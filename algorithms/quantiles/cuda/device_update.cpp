#include "algorithms/quantiles/cuda/device_update.hpp"

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

DeviceUpdate* DeviceUpdateOf(QuantileSketch& sketch) {
  if (auto* direct = dynamic_cast<DeviceUpdate*>(&sketch)) return direct;
  return dynamic_cast<DeviceUpdate*>(AccumulatorOf(sketch));
}

}  // namespace retable::quantiles
