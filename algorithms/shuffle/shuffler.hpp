#pragma once
//! @file
//! The shuffle family's contract: rearrange n items by a permutation drawn from a seed.
//!
//! Problem: every one of the n! orders should be equally likely, the work should be spread over all
//! processors, and the same seed should give the same order again. Methods differ in how close they
//! come to uniform, in the bytes they move, and in whether they are deterministic. The permutation
//! p is meant as a gather: out[j] = in[p[j]]. Buffers are host memory here; CUDA methods also take
//! device pointers (cuda_shuffler.hpp). Source of the family: Mitchell, Stokes, Frank, Holmes,
//! "Bandwidth-optimal random shuffling for GPUs", ACM TOPC 2022.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/work.hpp"

namespace retable::shuffle {

//! @throws std::invalid_argument when `count` values of value_bytes each are more than this
//! machine's memory; `what` says what for.
void RequireMemory(const char* what, std::uint64_t count, std::size_t value_bytes);

//! @throws std::invalid_argument for buffers of n items of item_bytes that overlap, are null, or
//! cannot be; for item_bytes 0; and for n > kMaxItems.
void CheckBuffers(const void* in, const void* out, std::uint64_t n, std::size_t item_bytes);

//! A shuffling method.
class Shuffler {
 public:
  virtual ~Shuffler() = default;

  //! Writes the n items of `in` to `out` in the order of `seed`. Items of 4, 8 and 16 bytes are
  //! moved directly; any other size is moved as rows under the permutation of n. Buffers of any
  //! alignment: one that is not aligned to 4-, 8- or 16-byte items costs an aligned copy.
  //! @throws std::invalid_argument when the buffers overlap, one is null, or item_bytes is 0.
  void shuffle(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed);

  //! The same over byte buffers. @throws std::invalid_argument when the buffers differ in size or
  //! items of item_bytes do not divide them.
  void shuffle(std::span<const std::byte> in, std::span<std::byte> out, std::size_t item_bytes,
               std::uint64_t seed);

  //! The permutation p of {0..n-1} itself: n values. @throws std::invalid_argument when it cannot
  //! fit in this machine's memory.
  std::vector<std::uint64_t> permutation(std::uint64_t n, std::uint64_t seed);

  //! Whether one seed always gives one order.
  virtual bool deterministic() const { return true; }

  //! What a shuffle of n items must do: by default read every item and write it once.
  virtual std::vector<Work> work(std::uint64_t n, std::size_t item_bytes) const {
    return {{"copy", 2.0 * static_cast<double>(n) * static_cast<double>(item_bytes)}};
  }

 protected:
  //! Checked arguments: n >= 1, item_bytes is 4, 8 or 16, no overlap, aligned to item_bytes.
  virtual void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                   std::uint64_t seed) = 0;
};

//! The largest number of items that any method takes.
inline constexpr std::uint64_t kMaxItems = std::uint64_t{1} << 36;

}  // namespace retable::shuffle
