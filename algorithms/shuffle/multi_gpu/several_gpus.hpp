#pragma once
//! @file
//! One shuffle over the memory of several GPUs of a host.
//!
//! Problem: an array lies in slices on G devices and is to be shuffled as a whole. Approach, as the
//! partition shuffle with a level above: each item draws a digit of {0..k G-1}, and k of them name
//! the same device (with few digits all lanes would count in the same places); a device splits its
//! slice stably by digit, the parts change devices over the links between them (an all-to-all), and
//! each device shuffles what it has then. Exactly uniform given ideal bits; the same order on any
//! machine. A device ends with a random number of items, about n / G: part g of the shuffled array.
//! Bytes an item and device: 16 to split, 8 over the links, and the partition shuffle's 48. Memory:
//! room for two slices beside the input.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

//! The sub-stream of the digits that name devices.
inline constexpr std::uint64_t kDeviceStream = 13;

class SeveralGpus {
 public:
  //! A device may be named more than once. @throws std::invalid_argument for none, and for more
  //! than kMaxDigits / kDeviceDigits.
  explicit SeveralGpus(std::vector<int> devices);
  ~SeveralGpus();

  //! Items of slice g: all but the last of equal size, a multiple of 256.
  std::uint64_t slice(std::uint64_t n, std::size_t g) const;
  //! The most items a part may have: MostItems.
  std::uint64_t capacity(std::uint64_t n) const;

  //! Allocates for n items of 4 or 8 bytes in all.
  void Prepare(std::uint64_t n, std::size_t item_bytes);

  //! Shuffles the n items whose slice g lies at in[g] on device g; out[g] has room for capacity(n)
  //! items there. Returns how many items each out[g] then has. Item is uint32_t or uint64_t.
  //! @throws std::runtime_error when a part is over capacity.
  template <class Item>
  std::vector<std::uint64_t> Shuffle(const std::vector<const Item*>& in,
                                     const std::vector<Item*>& out, std::uint64_t n,
                                     std::uint64_t seed);

 private:
  struct Device;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace retable::shuffle
