#pragma once
//! @file
//! Random orders: shuffles, permutations, samples without replacement, and permutations as
//! functions.
//!
//!     retable::Permutation order(n, seed);                 // O(1) memory
//!     order[i];                                            // a gather: out[i] = in[order[i]]
//!     retable::ShuffleItems(in, out, n, sizeof(Item), seed);
//!     retable::SampleIndices(n, k, seed);                  // the first k of it
//!
//! One seed gives one order, on every machine, on a processor and on a GPU. The order of
//! Permutation and SampleIndices is a keyed bijection of {0..n-1}: the generalised Feistel cipher
//! (Black and Rogaway 2002) up to 2^31 items, VariablePhilox (Mitchell et al. 2022, listing 1) with
//! a keyed addition above, where values of n and more are mapped again. ShuffleItems and
//! RandomPermutation have the order of their method, for every size of items the same; that of
//! "Shuffle" depends on the size, and RandomPermutation's is of 8 bytes.
//!
//! All functions throw std::invalid_argument for arguments that they do not take, and
//! std::runtime_error where a device fails.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retable {

//! A random permutation of {0..n-1} that is evaluated, not stored. Copies are cheap; calls are
//! const and may come from many threads.
class Permutation {
 public:
  //! @throws std::invalid_argument for n > 2^63
  Permutation(std::uint64_t n, std::uint64_t seed);
  Permutation(const Permutation&) = default;             //!< the same order
  Permutation& operator=(const Permutation&) = default;  //!< the same order

  //! n
  std::uint64_t size() const { return n_; }
  //! The value at position i < size(): about 40 to 200 instructions. @throws std::out_of_range
  std::uint64_t operator[](std::uint64_t i) const;
  //! values[j] = (*this)[first + j * step] for j < count, by all threads, in vector code.
  //! @throws std::out_of_range for positions that are not below size()
  void fill(std::uint64_t first, std::int64_t step, std::uint64_t count,
            std::int64_t* values) const;

 private:
  struct Cipher;
  std::uint64_t n_;
  std::shared_ptr<const Cipher> cipher_;
};

//! How to shuffle. Methods: "Partition", every order equally likely given ideal random bits;
//! "FisherYates", equally likely too and fastest on a CPU, which alone has it; "Rectangle", the
//! order of Permutation; "Shuffle", what is fastest on a GPU. An unknown name lists the others,
//! which are there to be compared with (algorithms/shuffle/README.md says which are not uniform).
struct ShuffleOptions {
  //! "Partition", "FisherYates", "Rectangle" or "Shuffle"
  std::string method = "Partition";
  //! "cpu" or "cuda", for host memory: items take the way to the GPU and back.
  std::string device = "cpu";
};

//! Writes n <= 2^36 items of item_bytes bytes from `in` to `out` in the order of `seed`; host
//! memory, no overlap. O(n). Memory: 16 bytes an item of other sizes than 4, 8 and 16 bytes; a
//! copy of the items for those that are not aligned to their size, and for "Shuffle" past the
//! cache.
void ShuffleItems(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                  std::uint64_t seed, const ShuffleOptions& options = {});

//! The same in the memory of CUDA device 0 (DeviceMemory in retable/core.hpp), at addresses of any
//! alignment; the device of the options is not looked at. Waits for nothing. A thread keeps the
//! device memory of its largest call.
void ShuffleItemsOnDevice(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                          std::uint64_t seed, const ShuffleOptions& options, void* stream);

//! The permutation itself: n values.
std::vector<std::uint64_t> RandomPermutation(std::uint64_t n, std::uint64_t seed,
                                             const ShuffleOptions& options = {});

//! k distinct values below n in random order: the first k of Permutation(n, seed). O(k), nothing of
//! size n. @throws std::invalid_argument for k > n
std::vector<std::int64_t> SampleIndices(std::uint64_t n, std::uint64_t k, std::uint64_t seed);

}  // namespace retable
