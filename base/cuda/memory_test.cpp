#include "base/cuda/memory.hpp"

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

// CUDA's calls, played by host memory, so that ownership is tested where there is no GPU. Defined
// here, they stand in for the runtime's in this test program.
namespace {

struct Play {
  std::map<void*, std::unique_ptr<char[]>> live;
  std::size_t free_bytes = 0, in_use = 0;
  std::map<void*, std::size_t> size;
  cudaError_t last = cudaSuccess;
  int shared = 0;                  // what a block may have
  int allowed = 0;                 // what the last kernel was allowed
  std::size_t lockable = 0;        // bytes of the host's that may be locked
  int locked = 0;                  // pieces of them
  cudaError_t fail = cudaSuccess;  // the next copy

  cudaError_t Return(cudaError_t status) {
    if (status != cudaSuccess) last = status;
    return status;
  }
};
Play play;

}  // namespace

extern "C" {
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (play.in_use + bytes > play.free_bytes) return play.Return(cudaErrorMemoryAllocation);
  auto block = std::make_unique<char[]>(bytes);
  std::memset(block.get(), 0x5a, bytes);  // never zero by luck
  *memory = block.get();
  play.in_use += play.size[block.get()] = bytes;
  play.live[*memory] = std::move(block);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  EXPECT_EQ(play.live.count(memory), 1u) << "freed twice, or never had";
  play.in_use -= play.size[memory];
  play.live.erase(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (play.fail != cudaSuccess) return play.Return(std::exchange(play.fail, cudaSuccess));
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  *free_bytes = play.free_bytes - play.in_use;
  *total = play.free_bytes;
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  EXPECT_EQ(flags, unsigned{cudaHostRegisterPortable});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u) << "others' pages are locked too";
  if (bytes > play.lockable) return play.Return(cudaErrorMemoryAllocation);
  ++play.locked;
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void*) {
  --play.locked;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(play.last, cudaSuccess);
}
const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorInvalidValue ? "invalid argument" : "some error";
}
cudaError_t cudaGetDevice(int* device) {
  *device = 3;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  EXPECT_EQ(device, 3);
  *value = attribute == cudaDevAttrMultiProcessorCount ? 132 : play.shared;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  EXPECT_EQ(attribute, cudaFuncAttributeMaxDynamicSharedMemorySize);
  if (value > play.shared) return play.Return(cudaErrorInvalidValue);
  play.allowed = value;
  return cudaSuccess;
}
}

namespace retable {
namespace {

class CudaMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    play = Play();
    play.free_bytes = std::size_t{64} << 20;
    play.shared = 99 << 10;
  }
  void TearDown() override {
    EXPECT_TRUE(play.live.empty()) << "device memory is left";
    EXPECT_EQ(play.locked, 0);
    EXPECT_EQ(play.last, cudaSuccess) << "an error is left for the next call";
  }
};

std::string ErrorOf(const auto& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST_F(CudaMemory, WhatGoesUpComesDown) {
  const std::vector<double> host = {1, 2, 3};
  const DeviceArray<double> array{std::span(host)};
  EXPECT_EQ(array.size(), 3u);
  std::vector<double> back(3);
  array.Download(back);
  EXPECT_EQ(back, host);
  std::vector<double> two(2);
  array.Download(two);
  EXPECT_EQ(two, (std::vector<double>{1, 2}));
  array.Download({});
}

TEST_F(CudaMemory, NothingIsNoAllocation) {
  DeviceArray<float> array;
  EXPECT_EQ(array.Reserve(0), nullptr);
  EXPECT_EQ(array.Upload({}), nullptr);
  EXPECT_EQ(array.Zeros(0), nullptr);
  EXPECT_TRUE(play.live.empty());
}

TEST_F(CudaMemory, GrowsOnlyAndThenInPlaceOfTheOld) {
  DeviceArray<std::uint32_t> array(100);
  std::uint32_t* const first = array.data();
  EXPECT_EQ(array.Reserve(50), first);
  EXPECT_EQ(array.size(), 100u);
  // Both would not fit beside each other.
  array.Reserve(std::size_t{10} << 20);
  array.Reserve(std::size_t{12} << 20);
  EXPECT_EQ(play.live.size(), 1u);
  const std::uint32_t* const zeros = array.Zeros(7);
  EXPECT_TRUE(std::all_of(zeros, zeros + 7, [](std::uint32_t x) { return x == 0; }));
  EXPECT_NE(zeros[7], 0u);
}

TEST_F(CudaMemory, MovesAndSwapsKeepOneOwner) {
  DeviceArray<int> a(10), b(20);
  int* const first = a.data();
  DeviceArray<int> c(std::move(a));
  EXPECT_EQ(c.data(), first);
  b = std::move(c);
  EXPECT_EQ(b.data(), first);
  EXPECT_EQ(b.size(), 10u);
}

TEST_F(CudaMemory, TooLittleMemoryNamesBothFiguresAndLeavesAnEmptyArray) {
  DeviceArray<char> array(std::size_t{16} << 20);
  const DeviceArray<char> other(std::size_t{30} << 20);
  EXPECT_THROW(array.Reserve(std::size_t{40} << 20), OutOfDeviceMemory);
  const std::string error = ErrorOf([&] { array.Reserve(std::size_t{40} << 20); });
  EXPECT_EQ(error, "the device has 34 MiB free of 64; 40 MiB more are needed");
  EXPECT_EQ(array.data(), nullptr);
  EXPECT_EQ(array.size(), 0u);
}

TEST_F(CudaMemory, AnArrayWhoseUploadFailsGivesItsMemoryBack) {
  play.fail = cudaErrorInvalidValue;
  const std::vector<int> host(3);
  EXPECT_EQ(ErrorOf([&] { DeviceArray<int>{std::span<const int>(host)}; }),
            "upload: invalid argument");
  EXPECT_TRUE(play.live.empty());
}

TEST_F(CudaMemory, ErrorsNameTheCallAndAreTakenAway) {
  DeviceArray<int> array(3);
  play.fail = cudaErrorInvalidValue;
  EXPECT_EQ(ErrorOf([&] { array.Upload(std::vector<int>(3)); }), "upload: invalid argument");
  EXPECT_EQ(ErrorOf([] { RETABLE_CUDA_CHECK(cudaErrorInvalidValue); }),
            "cudaErrorInvalidValue: invalid argument");
  EXPECT_THROW(RETABLE_CUDA_CHECK(cudaErrorMemoryAllocation), OutOfDeviceMemory);
}

TEST_F(CudaMemory, LockedMemoryGrowsAndGivesWayToTheUsualKind) {
  play.lockable = 4096;
  PinnedArray<float> array;
  EXPECT_EQ(array.Reserve(0), nullptr);
  float* const first = array.Reserve(1000);
  EXPECT_TRUE(array.pinned());
  EXPECT_EQ(array.Reserve(10), first);
  EXPECT_EQ(array.size(), 1000u);
  array.Reserve(2000)[1999] = 1;
  EXPECT_FALSE(array.pinned());
  EXPECT_EQ(play.locked, 0);
  EXPECT_EQ(array.size(), 2000u);
}

TEST_F(CudaMemory, SharedMemoryIsAllowedOrRefusedInBytes) {
  const auto kernel = static_cast<void (*)(int)>([](int) {});
  EXPECT_EQ(AllowSharedMemory(kernel, 99 << 10), std::size_t{99} << 10);
  EXPECT_EQ(play.allowed, 99 << 10);
  EXPECT_EQ(ErrorOf([&] { AllowSharedMemory(kernel, 100 << 10); }),
            "a kernel needs 102400 bytes of shared memory a block; this device offers 101376");
  EXPECT_EQ(MultiprocessorCount(), 132);
}

}  // namespace
}  // namespace retable

#endif
