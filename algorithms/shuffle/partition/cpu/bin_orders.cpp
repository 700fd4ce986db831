#include "algorithms/shuffle/partition/cpu/bin_orders.hpp"

namespace retable::shuffle {
namespace {

// Order x of a bin. Swapping slots k and t of a row of items, k = 1, 2, ..., is what SmallOrders
// does to where each goes; what each place takes is the same swaps of places the other way round.
// The last swap's target is the lowest digit of x.
std::uint32_t Take(std::uint32_t size, std::uint32_t x) {
  std::uint32_t take = 0x76543210u;
  for (std::uint32_t k = size - 1; k >= 1; --k) {
    const std::uint32_t at = 4 * (x % (k + 1)), own = 4 * k;
    x /= k + 1;
    const std::uint32_t differ = ((take >> at) ^ (take >> own)) & 15u;
    take ^= (differ << at) | (differ << own);
  }
  return take;
}

BinOrders MakeTable() {
  BinOrders table;
  std::uint32_t count = 1, first = 0;
  for (std::uint32_t size = 0; size <= kTabledBin; ++size) {
    if (size > 1) count *= size;
    table.count[size] = count;
    table.first[size] = first;
    for (std::uint32_t x = 0; x < count; ++x) {
      table.take.push_back(size < 2 ? 0x76543210u : Take(size, x));
    }
    first += count;
  }
  return table;
}

}  // namespace

const BinOrders& BinOrders::Table() {
  static const BinOrders table = MakeTable();
  return table;
}

}  // namespace retable::shuffle
