#pragma once
//! @file
//! Checks of CUDA shufflers, for the tests of the methods here and of the baselines.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"
#include "base/seed_testing.hpp"

namespace retable::shuffle {

//! Skips its tests without a device. `seed` is that of FreshSeed.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    seed = FreshSeed();
  }
  std::uint64_t seed = 0;
};

//! Item i of an array of distinct items. The low half of its index can be read back; the rest
//! depends on the index and `salt`.
template <class Item>
Item TestItem(std::uint64_t i, std::uint64_t salt) {
  const std::uint64_t hash = (i + salt) * 0x9E3779B97F4A7C15ull;
  if constexpr (sizeof(Item) == 4) {
    return static_cast<std::uint32_t>(i);
  } else if constexpr (sizeof(Item) == 8) {
    return i | (hash & 0xFFFFFFFF00000000ull);
  } else {
    return {{i, hash}};
  }
}
template <class Item>
std::uint32_t IndexOf(const Item& item) {
  if constexpr (sizeof(Item) == 16) {
    return static_cast<std::uint32_t>(item.half[0]);
  } else {
    return static_cast<std::uint32_t>(item);
  }
}

template <class Item>
std::vector<Item> TestItems(std::uint64_t n, std::uint64_t salt) {
  std::vector<Item> items(n);
  for (std::uint64_t i = 0; i < n; ++i) items[i] = TestItem<Item>(i, salt);
  return items;
}

//! Whether the items are those of TestItems in any order.
template <class Item>
bool AreTestItems(const std::vector<Item>& items, std::uint64_t salt) {
  std::vector<bool> seen(items.size(), false);
  for (const Item& item : items) {
    const std::uint32_t index = IndexOf(item);
    if (index >= items.size() || seen[index]) return false;
    const Item expected = TestItem<Item>(index, salt);
    if (std::memcmp(&item, &expected, sizeof(Item)) != 0) return false;
    seen[index] = true;
  }
  return true;
}

//! A CUDA method with one of its parameters set.
struct CudaMethod {
  std::string name;
  Parameters parameters;

  std::string label() const {
    return name + (parameters.empty() ? "" : " with another " + parameters.begin()->first);
  }
};

//! Every registered CUDA method that shuffles, with its defaults and with every other code path
//! that a parameter selects.
inline std::vector<CudaMethod> CudaMethods() {
  std::vector<CudaMethod> methods;
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCuda || method.name == "Gather") continue;
    methods.push_back({method.name, {}});
    for (const auto& info : method.parameters) {
      if (info.name == "rng") methods.push_back({method.name, {{"rng", std::string("curand")}}});
      if (info.name == "bucket") {  // many buckets of few items
        methods.push_back({method.name, {{"bucket", std::int64_t{5000}}}});
      }
      if (info.name == "fusion") {
        for (const std::int64_t fusion : {0, 1}) {
          methods.push_back({method.name, {{"fusion", fusion}}});
        }
      }
    }
  }
  return methods;
}

//! Shuffles n items on the device into poisoned memory: the result is a permutation of the input
//! and, where there is a deterministic CPU backend and `against_cpu`, its result bit for bit.
template <class Item>
void CheckCudaMethod(const CudaMethod& method, CudaShuffler& shuffler, std::uint64_t n,
                     std::uint64_t seed, bool against_cpu) {
  SCOPED_TRACE(method.label() + ", n = " + std::to_string(n) + ", items of " +
               std::to_string(sizeof(Item)) + " bytes");
  const std::vector<Item> in = TestItems<Item>(n, seed);
  std::vector<Item> out(n), expected(n);
  const DeviceArray<Item> from{std::span<const Item>(in)}, to(n);
  CheckCuda(cudaMemset(to.data(), 0xEE, n * sizeof(Item)), "poison");
  shuffler.prepare(n, sizeof(Item));
  shuffler.enqueue(from.data(), to.data(), n, sizeof(Item), seed, nullptr);
  CheckCuda(cudaDeviceSynchronize(), method.name.c_str());
  to.Download(out);
  EXPECT_TRUE(AreTestItems(out, seed));
  const auto* cpu = Registry<Shuffler>::Instance().Find(method.name, Device::kCpu);
  if (!against_cpu || cpu == nullptr || !shuffler.deterministic()) return;
  cpu->make(method.parameters)->shuffle(in.data(), expected.data(), n, sizeof(Item), seed);
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), n * sizeof(Item)), 0);
}

//! As CheckCudaMethod, with one shuffler for items of every size and many n: its workspace grows
//! and is used again.
inline void CheckCudaMethod(const CudaMethod& method, std::uint64_t seed) {
  const auto made =
      Registry<Shuffler>::Instance().Make(method.name, Device::kCuda, method.parameters);
  auto* shuffler = dynamic_cast<CudaShuffler*>(made.get());
  ASSERT_NE(shuffler, nullptr) << method.name;
  for (const std::uint64_t n : {1,     2,     3,     5,     16,     17,      255,     256,     257,
                                1000,  2049,  4096,  4097,  4608,   4609,    8193,    8200,    8201,
                                16401, 65536, 65537, 70001, 300007, 1048577, 3000001, 16777217}) {
    // Of many items the CPU backends of the ciphers take minutes.
    const bool split = method.name == "Partition" || method.name == "SplitRectangle";
    const bool against_cpu = n < 1000000 || split;
    CheckCudaMethod<std::uint64_t>(method, *shuffler, n, seed + n, against_cpu);
    CheckCudaMethod<std::uint32_t>(method, *shuffler, n, seed + n, against_cpu);
    if (method.name == "InPlace") continue;  // takes items of 4 and 8 bytes
    CheckCudaMethod<Item16>(method, *shuffler, n, seed + n, against_cpu);
  }
}

}  // namespace retable::shuffle
