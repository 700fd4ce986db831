#include "algorithms/shapley/designs/stored_designs.hpp"

#include <cstddef>

namespace retable::shapley {
namespace {

struct Stored {
  std::size_t n;
  int d;
  const char* digits;  // two for each player, base 64 from '0' on, lowest first
};

constexpr Stored kDesigns[] = {
#include "algorithms/shapley/designs/designs.inc"
};

}  // namespace

std::vector<std::int32_t> StoredDesign(std::size_t n, int d) {
  for (const Stored& design : kDesigns) {
    if (design.n != n || design.d != d) continue;
    std::vector<std::int32_t> orders(n / 2 * static_cast<std::size_t>(d));
    for (std::size_t k = 0; k < orders.size(); ++k) {
      orders[k] = (design.digits[2 * k] - '0') + 64 * (design.digits[2 * k + 1] - '0');
    }
    return orders;
  }
  return {};
}

}  // namespace retable::shapley
