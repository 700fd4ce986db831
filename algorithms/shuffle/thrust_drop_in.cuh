#pragma once
//! @file
//! thrust::shuffle and thrust::shuffle_copy by this family's "Shuffle", under thrust's signatures.
//!
//!     thrust::default_random_engine g;
//!     retable::shuffle::drop_in::shuffle(items.begin(), items.end(), g);
//!     retable::shuffle::drop_in::shuffle_copy(thrust::cuda::par.on(stream), first, last, result,
//!     g);
//!
//! It takes what thrust takes: any execution policy or none, host and device memory, items of any
//! type and size, any random-access iterators, and any generator: thrust's engines, the C++
//! library's, or one of your own. As there, a call returns when it is done, unless the policy is
//! par_nosync's. The order is that of a 64-bit seed made of as many of the generator's values as
//! that takes; one state of a generator gives one order of n items of a size, in host and in device
//! memory. Each thread keeps the device memory of its largest call: about that of the items, or 16
//! bytes an item whose size is not 4, 8 or 16 bytes. C++17 and later; a .cu file includes this
//! header, which is installed as retable/thrust_shuffle.cuh, and links the family.

#include <cuda_runtime_api.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/detail/temporary_array.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system/detail/generic/select_system.h>
#include <thrust/type_traits/is_contiguous_iterator.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace retable::shuffle::drop_in {
namespace detail {

// What follows is C++20 inside (thrust_drop_in.cu).

//! Shuffles items that are copied as bytes, at addresses of any alignment.
//! @throws std::invalid_argument for more items than "Shuffle" takes and for buffers that overlap.
void OnHost(const void* in, void* out, std::uint64_t n, std::size_t item_bytes, std::uint64_t seed);
void OnDevice(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
              std::uint64_t seed, cudaStream_t stream);

//! The permutation by which items of any kind are gathered.
std::vector<std::uint64_t> HostOrder(std::uint64_t n, std::uint64_t seed);
//! The same in device memory, for work enqueued on `stream` until the destructor.
class DeviceOrder {
 public:
  DeviceOrder(std::uint64_t n, std::uint64_t seed, cudaStream_t stream);
  ~DeviceOrder();
  DeviceOrder(const DeviceOrder&) = delete;
  DeviceOrder& operator=(const DeviceOrder&) = delete;
  const std::uint64_t* data() const { return data_; }

 private:
  const std::uint64_t* data_;
  cudaStream_t stream_;
};

template <class Policy>
inline constexpr bool kRunsOnDevice =
    std::is_base_of_v<thrust::cuda_cub::execution_policy<Policy>, Policy>;

// The bounds of a generator: functions in the C++ library's engines, constants in thrust's.
template <class Generator, class = void>
struct Bounds {
  static constexpr std::uint64_t least = Generator::min;
  static constexpr std::uint64_t most = Generator::max;
};
template <class Generator>
struct Bounds<Generator, std::void_t<decltype(Generator::min()), decltype(Generator::max())>> {
  static constexpr std::uint64_t least = Generator::min();
  static constexpr std::uint64_t most = Generator::max();
};

//! Bits that a uniform value of {0..range} has at least.
constexpr int BitsOf(std::uint64_t range) {
  int bits = 0;
  while (bits < 64 && (range >> bits >> 1) != 0) ++bits;
  const bool full = range == (~std::uint64_t{0} >> (63 - bits));
  return full ? bits + 1 : bits;
}

//! 64 bits: the generator's next values as the digits of a number, as many as make 64 bits.
template <class Generator>
std::uint64_t SeedFrom(Generator& generator) {
  using Of = Bounds<std::remove_cv_t<Generator>>;
  constexpr std::uint64_t range = Of::most - Of::least;
  static_assert(Of::most > Of::least, "a generator of one value");
  constexpr int bits = BitsOf(range), calls = (64 + bits - 1) / bits;
  std::uint64_t seed = 0;
  for (int call = 0; call < calls; ++call) {
    seed = seed * (range + 1) + (static_cast<std::uint64_t>(generator()) - Of::least);
  }
  return seed;
}

template <class Policy, class Iterator, class Output>
void ShuffleCopy(Policy& policy, Iterator first, std::uint64_t n, Output result,
                 std::uint64_t seed) {
  using Item = std::remove_const_t<typename thrust::iterator_traits<Iterator>::value_type>;
  using Target = typename thrust::iterator_traits<Output>::value_type;
  constexpr bool as_bytes = std::is_same_v<Item, Target> && std::is_trivially_copyable_v<Item> &&
                            thrust::is_contiguous_iterator_v<Iterator> &&
                            thrust::is_contiguous_iterator_v<Output>;
  if constexpr (as_bytes) {
    const void* in = thrust::raw_pointer_cast(&*first);
    void* out = thrust::raw_pointer_cast(&*result);
    if constexpr (kRunsOnDevice<Policy>) {
      OnDevice(in, out, n, sizeof(Item), seed, thrust::cuda_cub::stream(policy));
    } else {
      OnHost(in, out, n, sizeof(Item), seed);
    }
  } else if constexpr (kRunsOnDevice<Policy>) {
    const DeviceOrder order(n, seed, thrust::cuda_cub::stream(policy));
    const thrust::device_ptr<const std::uint64_t> index(order.data());
    thrust::gather(policy, index, index + static_cast<std::ptrdiff_t>(n), first, result);
  } else {
    const std::vector<std::uint64_t> order = HostOrder(n, seed);
    thrust::gather(policy, order.data(), order.data() + n, first, result);
  }
  if constexpr (kRunsOnDevice<Policy>) {
    thrust::cuda_cub::throw_on_error(thrust::cuda_cub::synchronize_optional(policy));
  }
}

}  // namespace detail

//! Copies [first, last) to result in random order.
template <class Policy, class Iterator, class Output, class Generator>
void shuffle_copy(const thrust::detail::execution_policy_base<Policy>& policy, Iterator first,
                  Iterator last, Output result, Generator&& generator) {
  const std::uint64_t seed = detail::SeedFrom(generator);
  const auto n = static_cast<std::uint64_t>(last - first);
  if (n == 0) return;
  detail::ShuffleCopy(thrust::detail::derived_cast(thrust::detail::strip_const(policy)), first, n,
                      result, seed);
}
//! The same where the iterators say.
template <class Iterator, class Output, class Generator>
void shuffle_copy(Iterator first, Iterator last, Output result, Generator&& generator) {
  typename thrust::iterator_system<Iterator>::type in;
  typename thrust::iterator_system<Output>::type out;
  drop_in::shuffle_copy(thrust::system::detail::generic::select_system(in, out), first, last,
                        result, generator);
}

//! Puts [first, last) in random order, by way of a copy.
template <class Policy, class Iterator, class Generator>
void shuffle(const thrust::detail::execution_policy_base<Policy>& policy, Iterator first,
             Iterator last, Generator&& generator) {
  using Item = typename thrust::iterator_traits<Iterator>::value_type;
  Policy& derived = thrust::detail::derived_cast(thrust::detail::strip_const(policy));
  thrust::detail::temporary_array<Item, Policy> copy(derived, first, last);
  drop_in::shuffle_copy(policy, copy.begin(), copy.end(), first, generator);
}
//! The same where the iterators say.
template <class Iterator, class Generator>
void shuffle(Iterator first, Iterator last, Generator&& generator) {
  typename thrust::iterator_system<Iterator>::type system;
  drop_in::shuffle(thrust::system::detail::generic::select_system(system), first, last, generator);
}

}  // namespace retable::shuffle::drop_in
