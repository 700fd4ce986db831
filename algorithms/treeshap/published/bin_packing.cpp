#include "algorithms/treeshap/published/bin_packing.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "algorithms/common/require.hpp"

namespace retable::treeshap {

namespace {

// The bin of each item.
using Assignment = std::vector<std::uint32_t>;

// Items by falling size, stable: a counting sort.
std::vector<std::uint32_t> ByFallingSize(std::span<const std::int32_t> sizes,
                                         std::int32_t capacity) {
  std::vector<std::size_t> start(static_cast<std::size_t>(capacity) + 2, 0);
  for (const auto size : sizes) ++start[static_cast<std::size_t>(capacity - size) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint32_t> order(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    order[start[static_cast<std::size_t>(capacity - sizes[i])]++] = static_cast<std::uint32_t>(i);
  }
  return order;
}

Assignment PackNone(std::size_t n) {
  Assignment bin(n);
  std::iota(bin.begin(), bin.end(), 0u);
  return bin;
}

Assignment PackNextFit(std::span<const std::int32_t> sizes, std::int32_t capacity) {
  Assignment bin(sizes.size());
  std::uint32_t bins = 0;
  std::int32_t room = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > room) {
      ++bins;
      room = capacity;
    }
    room -= sizes[i];
    bin[i] = bins - 1;
  }
  return bin;
}

// Best fit: the open bin with the least sufficient room; bins of equal room are
// interchangeable, so one stack for each room is the whole search structure.
Assignment PackBestFit(std::span<const std::int32_t> sizes, std::int32_t capacity) {
  Assignment bin(sizes.size());
  std::uint32_t bins = 0;
  std::vector<std::vector<std::uint32_t>> open(static_cast<std::size_t>(capacity) + 1);
  for (const auto item : ByFallingSize(sizes, capacity)) {
    const std::int32_t size = sizes[item];
    std::int32_t room = size;
    while (room <= capacity && open[static_cast<std::size_t>(room)].empty()) ++room;
    if (room > capacity) {
      bin[item] = bins++;
      room = capacity;
    } else {
      bin[item] = open[static_cast<std::size_t>(room)].back();
      open[static_cast<std::size_t>(room)].pop_back();
    }
    open[static_cast<std::size_t>(room - size)].push_back(bin[item]);
  }
  return bin;
}

// First fit: the first bin with room, found by descent in a tournament tree of the largest room,
// packed into an array as the paper's own implementation is.
class RoomTree {
 public:
  RoomTree(std::size_t bins, std::int32_t capacity) {
    while (leaves_ < bins) leaves_ *= 2;
    room_.assign(2 * leaves_, capacity);
  }
  std::size_t Take(std::int32_t size) {
    std::size_t node = 1;
    while (node < leaves_) node = room_[2 * node] >= size ? 2 * node : 2 * node + 1;
    room_[node] -= size;
    const std::size_t bin = node - leaves_;
    for (node /= 2; node > 0; node /= 2) {
      room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    }
    return bin;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int32_t> room_;
};

Assignment PackFirstFit(std::span<const std::int32_t> sizes, std::int32_t capacity) {
  Assignment bin(sizes.size());
  RoomTree rooms(sizes.size(), capacity);
  for (const auto item : ByFallingSize(sizes, capacity)) {
    bin[item] = static_cast<std::uint32_t>(rooms.Take(sizes[item]));
  }
  return bin;
}

// Assignment to lists, by counting.
Bins Gather(const Assignment& assignment) {
  Bins bins;
  if (assignment.empty()) return bins;
  bins.offsets.assign(*std::ranges::max_element(assignment) + std::size_t{2}, 0);
  for (const auto bin : assignment) ++bins.offsets[bin + 1];
  std::partial_sum(bins.offsets.begin(), bins.offsets.end(), bins.offsets.begin());
  bins.items.resize(assignment.size());
  std::vector<std::size_t> next(bins.offsets.begin(), bins.offsets.end() - 1);
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    bins.items[next[assignment[i]]++] = static_cast<std::uint32_t>(i);
  }
  return bins;
}

}  // namespace

Packing PackingByName(const std::string& name) {
  if (name == "None") return Packing::kNone;
  if (name == "NF") return Packing::kNextFit;
  if (name == "FFD") return Packing::kFirstFitDecreasing;
  if (name == "BFD") return Packing::kBestFitDecreasing;
  throw std::invalid_argument("no bin packing \"" + name + "\"; use None, NF, FFD or BFD");
}

Bins Pack(Packing packing, std::span<const std::int32_t> sizes, std::int32_t capacity) {
  for (const auto size : sizes) {
    Require(size >= 1 && size <= capacity, "an item of size ", size, " does not fit a bin of ",
            capacity);
  }
  switch (packing) {
    case Packing::kNone:
      return Gather(PackNone(sizes.size()));
    case Packing::kNextFit:
      return Gather(PackNextFit(sizes, capacity));
    case Packing::kFirstFitDecreasing:
      return Gather(PackFirstFit(sizes, capacity));
    case Packing::kBestFitDecreasing:
      return Gather(PackBestFit(sizes, capacity));
  }
  return {};
}

double Utilisation(const Bins& bins, std::span<const std::int32_t> sizes, std::int32_t capacity) {
  if (bins.count() == 0) return 0;
  const auto total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  return static_cast<double>(total) /
         (static_cast<double>(bins.count()) * static_cast<double>(capacity));
}

}  // namespace retable::treeshap
