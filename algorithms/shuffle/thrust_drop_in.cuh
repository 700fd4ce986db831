#pragma once
//! @file
//! thrust::shuffle_copy and thrust::shuffle by this family's "Shuffle", under thrust's signatures.
//!
//!     retable::shuffle::drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), out.begin(),
//!     g);
//!
//! Iterators are pointers or contiguous device iterators to items of 4, 8 or 16 bytes; the order is
//! that of a seed of 64 bits drawn from the generator (two or more calls of it). The memory of the
//! last call is kept by the thread. shuffle works in place, with a copy. Include it from a .cu
//! file.

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/memory.h>

#include <memory>
#include <random>
#include <type_traits>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle::drop_in {

//! The stream of a policy such as thrust::cuda::par.on(stream); thrust::device names the default.
template <class Policy>
cudaStream_t StreamOf(const thrust::detail::execution_policy_base<Policy>& policy) {
  return thrust::cuda_cub::stream(
      thrust::detail::derived_cast(thrust::detail::strip_const(policy)));
}

//! Copies [first, last) to result in random order. As thrust::shuffle_copy.
template <class Policy, class Iterator, class Output, class Generator>
void shuffle_copy(const thrust::detail::execution_policy_base<Policy>& policy, Iterator first,
                  Iterator last, Output result, Generator&& generator) {
  using Item = typename thrust::iterator_traits<Iterator>::value_type;
  static_assert(std::is_same_v<std::remove_const_t<Item>,
                               typename thrust::iterator_traits<Output>::value_type>);
  static_assert(std::is_trivially_copyable_v<Item> &&
                    (sizeof(Item) == 4 || sizeof(Item) == 8 || sizeof(Item) == 16),
                "items of 4, 8 or 16 bytes that can be copied as bytes");
  const auto n = static_cast<std::uint64_t>(last - first);
  if (n == 0) return;
  thread_local const auto method =
      Registry<Shuffler>::Instance().Make("Shuffle", Device::kCuda, {});
  auto& shuffler = dynamic_cast<CudaShuffler&>(*method);
  shuffler.prepare(n, sizeof(Item));
  const std::uint64_t seed = std::uniform_int_distribution<std::uint64_t>()(generator);
  shuffler.enqueue(thrust::raw_pointer_cast(&*first), thrust::raw_pointer_cast(&*result), n,
                   sizeof(Item), seed, StreamOf(policy));
}

//! Puts [first, last) in random order. As thrust::shuffle.
template <class Policy, class Iterator, class Generator>
void shuffle(const thrust::detail::execution_policy_base<Policy>& policy, Iterator first,
             Iterator last, Generator&& generator) {
  using Item = typename thrust::iterator_traits<Iterator>::value_type;
  const auto n = static_cast<std::uint64_t>(last - first);
  if (n == 0) return;
  thread_local DeviceArray<Item> copy;
  copy.Reserve(n);
  CheckCuda(cudaMemcpyAsync(copy.data(), thrust::raw_pointer_cast(&*first), n * sizeof(Item),
                            cudaMemcpyDeviceToDevice, StreamOf(policy)),
            "cudaMemcpyAsync");
  const thrust::device_ptr<const Item> from(copy.data());
  shuffle_copy(policy, from, from + static_cast<std::ptrdiff_t>(n), first, generator);
}

}  // namespace retable::shuffle::drop_in
