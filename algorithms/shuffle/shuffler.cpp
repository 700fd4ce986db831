#include "algorithms/shuffle/shuffler.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/items.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

bool Overlap(const void* a, const void* b, std::uint64_t bytes) {
  const auto* first = static_cast<const std::byte*>(a);
  const auto* second = static_cast<const std::byte*>(b);
  const std::less<const std::byte*> before;
  return before(first, second + bytes) && before(second, first + bytes);
}

// Memory of n items, aligned to 16 bytes.
std::vector<Item16> AlignedItems(std::uint64_t n, std::size_t item_bytes) {
  return std::vector<Item16>((n * item_bytes + sizeof(Item16) - 1) / sizeof(Item16));
}

void CheckCount(std::uint64_t n) {
  if (n <= kMaxItems) return;
  throw std::invalid_argument("n = " + std::to_string(n) + " is over the limit of 2^36 items");
}

bool IsAligned(const void* buffer, std::size_t item_bytes) {
  return reinterpret_cast<std::uintptr_t>(buffer) % item_bytes == 0;
}

}  // namespace

void RequireMemory(const char* what, std::uint64_t count, std::size_t value_bytes) {
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (count <= memory / value_bytes) return;
  const double gib = static_cast<double>(count) * static_cast<double>(value_bytes) / 0x1p30;
  throw std::invalid_argument(std::string(what) + " " + std::to_string(count) + " needs " +
                              std::to_string(static_cast<std::uint64_t>(gib)) +
                              " GiB, more than this machine has");
}

void CheckBuffers(const void* in, const void* out, std::uint64_t n, std::size_t item_bytes) {
  if (item_bytes == 0) throw std::invalid_argument("item_bytes is 0: give the size of one item");
  CheckCount(n);
  if (n == 0) return;
  if (item_bytes > ~std::uint64_t{0} / n) {
    throw std::invalid_argument("no memory holds " + std::to_string(n) + " items of " +
                                std::to_string(item_bytes) + " bytes");
  }
  if (in == nullptr || out == nullptr) throw std::invalid_argument("a buffer is null but n > 0");
  if (Overlap(in, out, n * item_bytes)) {
    throw std::invalid_argument("input and output overlap: give two separate buffers");
  }
}

void Shuffler::shuffle(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                       std::uint64_t seed) {
  CheckBuffers(in, out, n, item_bytes);
  if (n == 0) return;
  if (item_bytes == 4 || item_bytes == 8 || item_bytes == 16) {
    std::vector<Item16> from, to;
    if (!IsAligned(in, item_bytes)) {
      from = AlignedItems(n, item_bytes);
      std::memcpy(from.data(), in, n * item_bytes);
      in = from.data();
    }
    if (IsAligned(out, item_bytes)) return Run(in, out, n, item_bytes, seed);
    to = AlignedItems(n, item_bytes);
    Run(in, to.data(), n, item_bytes, seed);
    std::memcpy(out, to.data(), n * item_bytes);
    return;
  }
  const std::vector<std::uint64_t> order = permutation(n, seed);
  const auto* rows = static_cast<const std::byte*>(in);
  auto* target = static_cast<std::byte*>(out);
  // A task moves about a megabyte.
  const std::uint64_t share = std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / item_bytes);
  ParallelBlocks(n, share, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t j = begin; j < end; ++j) {
      std::memcpy(target + j * item_bytes, rows + order[j] * item_bytes, item_bytes);
    }
  });
}

void Shuffler::shuffle(std::span<const std::byte> in, std::span<std::byte> out,
                       std::size_t item_bytes, std::uint64_t seed) {
  if (item_bytes == 0) throw std::invalid_argument("item_bytes is 0: give the size of one item");
  if (in.size() != out.size()) {
    throw std::invalid_argument("input has " + std::to_string(in.size()) + " bytes, output " +
                                std::to_string(out.size()) + ": they must be equal");
  }
  if (in.size() % item_bytes != 0) {
    throw std::invalid_argument("a buffer of " + std::to_string(in.size()) +
                                " bytes is not a whole number of items of " +
                                std::to_string(item_bytes) + " bytes");
  }
  shuffle(in.data(), out.data(), in.size() / item_bytes, item_bytes, seed);
}

std::vector<std::uint64_t> Shuffler::permutation(std::uint64_t n, std::uint64_t seed) {
  CheckCount(n);
  RequireMemory("a permutation of n =", n, 2 * sizeof(std::uint64_t));
  std::vector<std::uint64_t> identity(n), order(n);
  std::iota(identity.begin(), identity.end(), std::uint64_t{0});
  shuffle(identity.data(), order.data(), n, sizeof(std::uint64_t), seed);
  return order;
}

}  // namespace retable::shuffle
