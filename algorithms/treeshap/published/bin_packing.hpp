#pragma once
//! @file
//! Bin packing of path lengths into warps (Mitchell et al. 2022, "Bin packing for work allocation",
//! tables 1 and 5). None gives each item a bin. NF keeps one bin open: O(n). FFD takes the first
//! bin with room in falling order of size, by descent in a tournament tree packed into an array:
//! O(n log n). BFD takes the bin with the least sufficient room; sizes are at most 32, so one stack
//! of bins for each room replaces the ordered set and the cost is O(n). Worst case over the
//! optimum: 2 for NF, 11/9 for FFD and BFD.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retable::treeshap {

enum class Packing { kNone, kNextFit, kFirstFitDecreasing, kBestFitDecreasing };

//! "None", "NF", "FFD", "BFD": the paper's names. @throws std::invalid_argument for another.
Packing PackingByName(const std::string& name);

//! Bins as lists of item indices, flattened: bin b holds items[offsets[b] .. offsets[b + 1]).
struct Bins {
  std::vector<std::uint32_t> items;
  std::vector<std::size_t> offsets = {0};

  std::size_t count() const { return offsets.size() - 1; }
};

//! Packs items of the given sizes. @throws std::invalid_argument for a size of 0 or over the
//! capacity.
Bins Pack(Packing packing, std::span<const std::int32_t> sizes, std::int32_t capacity = 32);

//! Sum of sizes over bins x capacity: the fraction of lanes in use.
double Utilisation(const Bins& bins, std::span<const std::int32_t> sizes,
                   std::int32_t capacity = 32);

}  // namespace retable::treeshap
