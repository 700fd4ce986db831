#include "datasets/generators/normal_draw.hpp"

#include <cmath>

#include "datasets/generators/portable_math.hpp"

namespace retable::datasets {

double NormalDraw(const Philox4x32& bits, std::uint64_t index, std::uint64_t stream) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const PhiloxBlock block = bits.Block(index, stream + attempt);
    const double u = 2.0 * UniformDouble(block.half(0)) - 1.0;
    const double v = 2.0 * UniformDouble(block.half(1)) - 1.0;
    const double s = u * u + v * v;
    if (s < 1.0 && s > 0.0) return u * std::sqrt(-2.0 * PortableLog(s) / s);
  }
}

}  // namespace retable::datasets
