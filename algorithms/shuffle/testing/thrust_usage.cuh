#pragma once
//! @file
//! The drop-in as programs that use thrust call it: the tests of thrust_drop_in.cuh, compiled as
//! C++17 and as C++20. Before it is included, RETABLE_DROP_IN_HOST and RETABLE_DROP_IN_CUDA name
//! the two test suites.

#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/random.h>
#include <thrust/sequence.h>
#include <thrust/shuffle.h>  // both may be included
#include <thrust/sort.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/shuffle/thrust_drop_in.cuh"
#include "base/cuda/devices.hpp"

namespace retable::shuffle {
namespace {

class RETABLE_DROP_IN_HOST : public testing::Test {};
class RETABLE_DROP_IN_CUDA : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

// kBytes bytes, aligned as a byte: at any address.
template <int kBytes>
struct Record {
  unsigned char bytes[kBytes];

  static Record Of(std::uint64_t i) {
    Record record;
    for (int b = 0; b < kBytes; ++b) {
      record.bytes[b] = static_cast<unsigned char>(b < 4 ? i >> (8 * b) : i * 31 + b * 7);
    }
    return record;
  }
  bool operator==(const Record& other) const {
    return std::memcmp(bytes, other.bytes, kBytes) == 0;
  }
  bool operator<(const Record& other) const { return std::memcmp(bytes, other.bytes, kBytes) < 0; }
};

template <class Item>
void ExpectPermutation(std::vector<Item> in, std::vector<Item> out) {
  if (in.size() > 5) EXPECT_FALSE(in == out);
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  EXPECT_TRUE(in == out);
}

template <class Container>
auto ToHost(const Container& items) {
  std::vector<typename Container::value_type> host(items.size());
  thrust::copy(items.begin(), items.end(), host.begin());
  return host;
}

// The examples of thrust's pages, word for word but for the namespace.
TEST_F(RETABLE_DROP_IN_HOST, RunsTheExamplesOfThrust) {
  {
    int A[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const int N = sizeof(A) / sizeof(int);
    thrust::default_random_engine g;
    drop_in::shuffle(thrust::host, A, A + N, g);
    ExpectPermutation<int>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {A, A + N});
    drop_in::shuffle(A, A + N, g);
    ExpectPermutation<int>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {A, A + N});
  }
  {
    int A[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    int result[10];
    const int N = sizeof(A) / sizeof(int);
    thrust::default_random_engine g;
    drop_in::shuffle_copy(thrust::host, A, A + N, result, g);
    ExpectPermutation<int>({A, A + N}, {result, result + N});
    const std::vector<int> first(result, result + N);
    drop_in::shuffle_copy(A, A + N, result, g);
    ExpectPermutation<int>({A, A + N}, {result, result + N});
    EXPECT_NE(first, std::vector<int>(result, result + N));
  }
}

// A generator of the user's own: one bit a call.
struct CoinGenerator {
  using result_type = unsigned;
  static constexpr unsigned min() { return 7; }
  static constexpr unsigned max() { return 8; }
  unsigned operator()() { return 7 + (engine() >> 30 & 1u); }
  std::mt19937 engine;
};

template <class Generator>
void CheckGenerator(Generator generator) {
  std::vector<int> in(1000), out(in.size()), again(in.size());
  thrust::sequence(in.begin(), in.end());
  Generator copy = generator;
  drop_in::shuffle_copy(in.begin(), in.end(), out.begin(), generator);
  drop_in::shuffle_copy(in.begin(), in.end(), again.begin(), copy);
  EXPECT_EQ(out, again);
  ExpectPermutation(in, out);
  drop_in::shuffle_copy(in.begin(), in.end(), again.begin(), generator);
  EXPECT_NE(out, again);
}

TEST_F(RETABLE_DROP_IN_HOST, TakesAnyGenerator) {
  CheckGenerator(thrust::default_random_engine());
  CheckGenerator(thrust::minstd_rand(5));
  CheckGenerator(thrust::minstd_rand0());
  CheckGenerator(thrust::ranlux24());
  CheckGenerator(thrust::ranlux48());
  CheckGenerator(thrust::taus88());
  CheckGenerator(std::mt19937(3));
  CheckGenerator(std::mt19937_64(3));
  CheckGenerator(std::minstd_rand());
  CheckGenerator(std::default_random_engine());
  CheckGenerator(CoinGenerator());
  thrust::host_vector<int> items(100);
  thrust::sequence(items.begin(), items.end());
  drop_in::shuffle(items.begin(), items.end(), std::random_device());  // one that is passed on
}

TEST_F(RETABLE_DROP_IN_HOST, MakesSeedsOfAllBitsOfAGenerator) {
  EXPECT_EQ(drop_in::detail::BitsOf(~std::uint64_t{0}), 64);
  EXPECT_EQ(drop_in::detail::BitsOf(0xFFFFFFFFu), 32);
  EXPECT_EQ(drop_in::detail::BitsOf(2147483645), 30);  // of minstd_rand
  EXPECT_EQ(drop_in::detail::BitsOf(1), 1);
  EXPECT_EQ(drop_in::detail::BitsOf(2), 1);
  std::mt19937_64 wide(1), same(1);
  EXPECT_EQ(drop_in::detail::SeedFrom(wide), same());
  std::mt19937 narrow(1), parts(1);
  const std::uint64_t high = parts();
  EXPECT_EQ(drop_in::detail::SeedFrom(narrow), (high << 32) + parts());
}

// All orders of four items from one generator: 23 degrees of freedom, exceeded once in 10^9.
TEST_F(RETABLE_DROP_IN_HOST, OrdersAreEquallyLikely) {
  thrust::default_random_engine g(20);
  std::map<std::vector<int>, int> counts;
  const int draws = 24 * 500;
  for (int i = 0; i < draws; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    drop_in::shuffle(items.begin(), items.end(), g);
    ++counts[items];
  }
  ASSERT_EQ(counts.size(), 24u);
  double statistic = 0;
  for (const auto& order : counts) {
    statistic += (order.second - 500.0) * (order.second - 500.0) / 500.0;
  }
  EXPECT_LT(statistic, 89);
}

struct Doubled {
  __host__ __device__ int operator()(int i) const { return 2 * i; }
};

// What is not an array of bytes: iterators that compute, other types, strings.
template <class Vector>
void CheckIterators() {
  thrust::minstd_rand g(4);
  const int n = 777;
  Vector out(n), expected(n);
  const thrust::counting_iterator<int> count(0);
  const auto doubled = thrust::make_transform_iterator(count, Doubled());
  drop_in::shuffle_copy(doubled, doubled + n, out.begin(), g);
  thrust::sequence(expected.begin(), expected.end(), 0, 2);
  ExpectPermutation(ToHost(expected), ToHost(out));
  // Pairs stay together.
  Vector keys(n), values(n);
  thrust::sequence(keys.begin(), keys.end());
  thrust::sequence(values.begin(), values.end(), 0, 2);
  const auto pairs = thrust::make_zip_iterator(thrust::make_tuple(keys.begin(), values.begin()));
  drop_in::shuffle(pairs, pairs + n, g);
  const auto shuffled_keys = ToHost(keys), shuffled_values = ToHost(values);
  for (int i = 0; i < n; ++i) ASSERT_EQ(shuffled_values[i], 2 * shuffled_keys[i]);
  EXPECT_FALSE(std::is_sorted(shuffled_keys.begin(), shuffled_keys.end()));
}

TEST_F(RETABLE_DROP_IN_HOST, TakesAnyIterators) {
  CheckIterators<thrust::host_vector<int>>();
  thrust::default_random_engine g;
  thrust::host_vector<std::string> words(100);
  for (int i = 0; i < 100; ++i) words[i] = std::string(static_cast<std::size_t>(i), 'x');
  const std::vector<std::string> in(words.begin(), words.end());
  drop_in::shuffle(words.begin(), words.end(), g);
  ExpectPermutation(in, {words.begin(), words.end()});
  const std::vector<int> narrow = {1, 2, 3, 4, 5, 6, 7};
  std::vector<double> wide(7);  // another type
  drop_in::shuffle_copy(narrow.begin(), narrow.end(), wide.begin(), g);
  ExpectPermutation<double>({1, 2, 3, 4, 5, 6, 7}, wide);
  std::vector<int> reversed(7);
  drop_in::shuffle_copy(narrow.begin(), narrow.end(), reversed.rbegin(), g);
  ExpectPermutation(narrow, reversed);
}

template <int kBytes>
std::vector<Record<kBytes>> Records(std::uint64_t n) {
  std::vector<Record<kBytes>> records(n);
  for (std::uint64_t i = 0; i < n; ++i) records[i] = Record<kBytes>::Of(i);
  return records;
}

// n items behind `skipped` others, which stay as they are, in memory of `Vector`; shuffled there
// and copied shuffled from there.
template <template <class...> class Vector, int kBytes>
std::vector<Record<kBytes>> ShuffledRecords(std::uint64_t n, int skipped) {
  const std::vector<Record<kBytes>> all = Records<kBytes>(n + skipped);
  Vector<Record<kBytes>> items(all.begin(), all.end());
  Vector<Record<kBytes>> result(all.begin(), all.end());
  thrust::default_random_engine g(9), same(9);
  drop_in::shuffle_copy(items.begin() + skipped, items.end(), result.begin() + skipped, g);
  drop_in::shuffle(items.begin() + skipped, items.end(), same);
  const auto in_place = ToHost(items), copied = ToHost(result);
  EXPECT_TRUE(in_place == copied) << kBytes;
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + skipped, copied.begin())) << kBytes;
  ExpectPermutation<Record<kBytes>>({all.begin() + skipped, all.end()},
                                    {copied.begin() + skipped, copied.end()});
  return {copied.begin() + skipped, copied.end()};
}

template <int... kBytes>
void CheckHostRecords() {
  for (const std::uint64_t n : {0, 1, 2, 3, 16, 1000}) {
    for (const int skipped : {0, 1}) {
      (ShuffledRecords<thrust::host_vector, kBytes>(n, skipped), ...);
    }
  }
}

TEST_F(RETABLE_DROP_IN_HOST, TakesItemsOfAnySize) {
  CheckHostRecords<1, 2, 3, 4, 8, 12, 16, 24, 40, 4096>();
}

TEST_F(RETABLE_DROP_IN_CUDA, RunsWithAndWithoutAPolicy) {
  thrust::default_random_engine g;
  thrust::device_vector<int> in(10000), out(in.size());
  thrust::sequence(in.begin(), in.end());
  const auto original = ToHost(in);
  drop_in::shuffle_copy(in.begin(), in.end(), out.begin(), g);
  const auto first = ToHost(out);
  ExpectPermutation(original, first);
  drop_in::shuffle_copy(thrust::device, in.begin(), in.end(), out.begin(), g);
  ExpectPermutation(first, ToHost(out));
  drop_in::shuffle(in.begin(), in.end(), g);
  ExpectPermutation(original, ToHost(in));
  drop_in::shuffle(thrust::device, in.begin(), in.end(), g);
  ExpectPermutation(original, ToHost(in));
  int* raw = thrust::raw_pointer_cast(in.data());
  drop_in::shuffle(thrust::device, raw, raw + in.size(), std::mt19937(8));
  ExpectPermutation(original, ToHost(in));
  CheckIterators<thrust::device_vector<int>>();
}

template <int kBytes>
void CheckDeviceRecordsOf(std::uint64_t n) {
  if (n * kBytes > 10000000) return;
  for (const int skipped : {0, 1}) {
    const auto host = ShuffledRecords<thrust::host_vector, kBytes>(n, skipped);
    const auto device = ShuffledRecords<thrust::device_vector, kBytes>(n, skipped);
    EXPECT_TRUE(host == device) << n << " items of " << kBytes << " bytes after " << skipped;
  }
}

template <int... kBytes>
void CheckDeviceRecords() {
  for (const std::uint64_t n : {0, 1, 2, 3, 16, 1000, 70001})
    (CheckDeviceRecordsOf<kBytes>(n), ...);
}

TEST_F(RETABLE_DROP_IN_CUDA, EqualsTheHostForItemsOfAnySize) {
  CheckDeviceRecords<1, 2, 3, 4, 8, 12, 16, 24, 40, 4096>();
}

// Past 64 MiB of items the method splits: another path, aligned or not.
TEST_F(RETABLE_DROP_IN_CUDA, EqualsTheHostWhereItSplits) {
  const std::uint64_t n = (std::uint64_t{1} << 24) + 3;
  for (const int skipped : {0, 1}) {
    const auto host = ShuffledRecords<thrust::host_vector, 4>(n, skipped);
    const auto device = ShuffledRecords<thrust::device_vector, 4>(n, skipped);
    EXPECT_TRUE(host == device) << skipped;
  }
}

// Calls on two streams without waiting: the second may not spoil the memory that the first uses.
TEST_F(RETABLE_DROP_IN_CUDA, CallsOnSeveralStreamsKeepApart) {
  const int n = 1 << 22;
  cudaStream_t streams[2];
  for (auto& stream : streams) {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  using Item = Record<12>;
  const std::vector<Item> all = Records<12>(n);
  const thrust::device_vector<Item> in(all.begin(), all.end());
  thrust::device_vector<Item> out[2] = {in, in}, expected[2] = {in, in};
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  thrust::default_random_engine g(1), same(1);
  for (int s = 0; s < 2; ++s) {
    drop_in::shuffle_copy(in.begin(), in.end(), expected[s].begin(), g);
  }
  for (int s = 0; s < 2; ++s) {
    drop_in::shuffle_copy(thrust::cuda::par_nosync.on(streams[s]), in.begin(), in.end(),
                          out[s].begin(), same);
  }
  for (int s = 0; s < 2; ++s) {
    ASSERT_EQ(cudaStreamSynchronize(streams[s]), cudaSuccess);
    EXPECT_TRUE(ToHost(out[s]) == ToHost(expected[s])) << s;
    ASSERT_EQ(cudaStreamDestroy(streams[s]), cudaSuccess);
  }
}

TEST_F(RETABLE_DROP_IN_CUDA, OverlapIsAnError) {
  thrust::device_vector<int> items(100);
  thrust::default_random_engine g;
  EXPECT_THROW(drop_in::shuffle_copy(items.begin(), items.begin() + 60, items.begin() + 40, g),
               std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle
