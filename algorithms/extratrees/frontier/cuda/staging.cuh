#pragma once
//! @file
//! Copies between pageable and device memory at the speed of the bus: through two pinned buffers;
//! all cores fill or empty one while the other is copied.

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>

#include "algorithms/extratrees/tuning.cuh"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {

class Staging {
 public:
  Staging() {
    for (auto& piece : piece_) piece.Reserve(kStagingBytes);
  }
  ~Staging() {
    for (const CudaEvent& event : done_) cudaEventSynchronize(event.get());
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  //! Both return when the copy is done. Use one for one device: events belong to it.
  //! @param deal called by many threads, with each slice of `bytes`: its offset, itself, its size
  void ToHost(const void* from, std::size_t bytes,
              const std::function<void(std::size_t, const char*, std::size_t)>& deal) {
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    const std::size_t pieces = (bytes + kStagingBytes - 1) / kStagingBytes;
    for (std::size_t i = 0; i <= pieces; ++i) {
      if (i < pieces) {
        RETABLE_CUDA_CHECK(cudaMemcpyAsync(piece_[i % 2].data(), At(from, i), SizeOf(bytes, i),
                                           cudaMemcpyDeviceToHost));
        done_[i % 2].Record();
      }
      if (i == 0) continue;
      done_[(i - 1) % 2].Wait();
      ForSlices(SizeOf(bytes, i - 1), [&](std::size_t at, std::size_t count) {
        deal((i - 1) * kStagingBytes + at, piece_[(i - 1) % 2].data() + at, count);
      });
    }
  }
  void ToDevice(void* to, const void* from, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(one_at_a_time_);
    const std::size_t pieces = (bytes + kStagingBytes - 1) / kStagingBytes;
    for (std::size_t i = 0; i < pieces; ++i) {
      done_[i % 2].Wait();  // the buffer is free
      ForSlices(SizeOf(bytes, i), [&](std::size_t at, std::size_t count) {
        std::memcpy(piece_[i % 2].data() + at, At(from, i) + at, count);
      });
      RETABLE_CUDA_CHECK(cudaMemcpyAsync(static_cast<char*>(to) + i * kStagingBytes,
                                         piece_[i % 2].data(), SizeOf(bytes, i),
                                         cudaMemcpyHostToDevice));
      done_[i % 2].Record();
    }
    for (const CudaEvent& event : done_) event.Wait();
  }

 private:
  static const char* At(const void* from, std::size_t piece) {
    return static_cast<const char*>(from) + piece * kStagingBytes;
  }
  static std::size_t SizeOf(std::size_t bytes, std::size_t piece) {
    return std::min(kStagingBytes, bytes - piece * kStagingBytes);
  }
  template <class Body>
  static void ForSlices(std::size_t bytes, const Body& body) {
    ParallelFor((bytes + kStagingSlice - 1) / kStagingSlice, [&](std::size_t slice) {
      const std::size_t at = slice * kStagingSlice;
      body(at, std::min(kStagingSlice, bytes - at));
    });
  }

  std::mutex one_at_a_time_;
  PinnedArray<char> piece_[2];
  CudaEvent done_[2] = {CudaEvent(cudaEventDisableTiming), CudaEvent(cudaEventDisableTiming)};
};

}  // namespace retable::extratrees
