#include "base/cuda/streams.hpp"

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <stdexcept>

// CUDA's streams and events, played by counters, as memory_test.cpp plays its memory.
namespace {

struct Play {
  int streams = 0, events = 0;  // that live
  int current = 0;              // device
  unsigned stream_flags = 0, event_flags = 0;
  bool waited = false;
  cudaError_t status = cudaSuccess;  // of whatever is made next
};
Play play;

}  // namespace

extern "C" {
cudaError_t cudaSetDevice(int device) {
  if (device > 1) return cudaErrorInvalidDevice;
  play.current = device;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (play.status != cudaSuccess) return play.status;
  *stream = reinterpret_cast<cudaStream_t>(&play);
  play.stream_flags = flags;
  ++play.streams;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  --play.streams;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (play.status != cudaSuccess) return play.status;
  *event = reinterpret_cast<cudaEvent_t>(&play);
  play.event_flags = flags;
  ++play.events;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  --play.events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  play.waited = true;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1500;
  return play.waited ? cudaSuccess : cudaErrorNotReady;
}
}

namespace retable {
namespace {

TEST(CudaStreams, AreGivenBack) {
  play = Play();
  {
    const CudaStream stream;
    const CudaEvent begin, end(cudaEventDisableTiming);
    EXPECT_EQ(play.stream_flags, unsigned{cudaStreamNonBlocking});
    EXPECT_EQ(play.event_flags, unsigned{cudaEventDisableTiming});
    EXPECT_EQ(play.streams, 1);
    EXPECT_EQ(play.events, 2);
    begin.Record(stream.get());
    end.Record();
    stream.Wait();
    EXPECT_EQ(end.SecondsSince(begin), 1.5) << "waits for the later event";
  }
  EXPECT_EQ(play.streams, 0);
  EXPECT_EQ(play.events, 0);
}

TEST(CudaStreams, FailuresAreThrownAndLeaveNothingToGiveBack) {
  play = Play();
  play.status = cudaErrorInvalidValue;
  EXPECT_THROW(CudaStream(), std::runtime_error);
  EXPECT_THROW(CudaEvent(), std::runtime_error);
  EXPECT_EQ(play.streams, 0);
  EXPECT_EQ(play.events, 0);
  EXPECT_THROW(SelectDevice(2), std::runtime_error);
  EXPECT_EQ(SelectDevice(1), 1);
  EXPECT_EQ(play.current, 1);
}

}  // namespace
}  // namespace retable

#endif
