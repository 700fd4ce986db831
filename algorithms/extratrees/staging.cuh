#pragma once
//! @file
//! Copies between pageable and device memory at the bus's speed: through two pinned pieces, which
//! all cores fill or empty while the other one travels.

#include <algorithm>
#include <cstring>

#include "base/cuda_memory.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {

class Staging {
 public:
  Staging() {
    for (int i = 0; i < 2; ++i) {
      RETABLE_CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&piece_[i]), kBytes));
      RETABLE_CUDA_CHECK(cudaEventCreateWithFlags(&done_[i], cudaEventDisableTiming));
    }
  }
  ~Staging() {
    for (int i = 0; i < 2; ++i) {
      cudaEventSynchronize(done_[i]);
      cudaFreeHost(piece_[i]);
      cudaEventDestroy(done_[i]);
    }
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  //! Both return when the copy is done. Use one for one device: events belong to it.
  void ToHost(void* to, const void* from, std::size_t bytes) {
    const std::size_t pieces = (bytes + kBytes - 1) / kBytes;
    for (std::size_t i = 0; i <= pieces; ++i) {
      if (i < pieces) {
        RETABLE_CUDA_CHECK(
            cudaMemcpyAsync(piece_[i % 2], At(from, i), SizeOf(bytes, i), cudaMemcpyDeviceToHost));
        RETABLE_CUDA_CHECK(cudaEventRecord(done_[i % 2]));
      }
      if (i == 0) continue;
      RETABLE_CUDA_CHECK(cudaEventSynchronize(done_[(i - 1) % 2]));
      CopyByAll(static_cast<char*>(to) + (i - 1) * kBytes, piece_[(i - 1) % 2],
                SizeOf(bytes, i - 1));
    }
  }
  void ToDevice(void* to, const void* from, std::size_t bytes) {
    const std::size_t pieces = (bytes + kBytes - 1) / kBytes;
    for (std::size_t i = 0; i < pieces; ++i) {
      RETABLE_CUDA_CHECK(cudaEventSynchronize(done_[i % 2]));  // the piece has left
      CopyByAll(piece_[i % 2], At(from, i), SizeOf(bytes, i));
      RETABLE_CUDA_CHECK(cudaMemcpyAsync(static_cast<char*>(to) + i * kBytes, piece_[i % 2],
                                         SizeOf(bytes, i), cudaMemcpyHostToDevice));
      RETABLE_CUDA_CHECK(cudaEventRecord(done_[i % 2]));
    }
    for (cudaEvent_t event : done_) RETABLE_CUDA_CHECK(cudaEventSynchronize(event));
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;
  static constexpr std::size_t kSlice = std::size_t{1} << 18;

  static const char* At(const void* from, std::size_t piece) {
    return static_cast<const char*>(from) + piece * kBytes;
  }
  static std::size_t SizeOf(std::size_t bytes, std::size_t piece) {
    return std::min(kBytes, bytes - piece * kBytes);
  }
  static void CopyByAll(char* to, const char* from, std::size_t bytes) {
    ParallelFor((bytes + kSlice - 1) / kSlice, [&](std::size_t slice) {
      const std::size_t at = slice * kSlice;
      std::memcpy(to + at, from + at, std::min(kSlice, bytes - at));
    });
  }

  char* piece_[2] = {};
  cudaEvent_t done_[2] = {};
};

}  // namespace retable::extratrees
