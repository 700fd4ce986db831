#pragma once
//! @file
//! Faults of a CUDA device, played: one call of the runtime fails, or all from one on, without the
//! device being harmed. Included by one file of a test program that is linked with
//! RETABLE_CUDA_WRAP (cmake/RetableTargets.cmake), which leads the program's calls through the
//! functions below.

#if defined(RETABLE_HAS_CUDA)

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace retable::cuda_faults {

//! What the played device does, and what it holds.
struct State {
  std::ptrdiff_t calls_until_fault = -1;  //!< negative: no fault
  bool allocations_alone = false;         //!< only these are counted and fail
  bool sticky = false;                    //!< every later call fails as well
  cudaError_t error = cudaSuccess;
  bool failed = false;             //!< the fault has happened
  cudaError_t last = cudaSuccess;  //!< what cudaGetLastError owes
  std::size_t calls = 0;
  std::ptrdiff_t held = 0;  //!< allocations, streams, events and graphs that are not given back
};
inline State state;

//! Counts a call. @return its error, or cudaSuccess where the runtime is to be asked
inline cudaError_t Meet(bool allocation) {
  if (state.allocations_alone && !allocation && !(state.failed && state.sticky)) return cudaSuccess;
  ++state.calls;
  const bool now = state.calls_until_fault >= 0 && state.calls_until_fault-- == 0;
  if (!now && !(state.failed && state.sticky)) return cudaSuccess;
  state.failed = true;
  return state.last = state.error;
}

//! Counts what a successful call took.
inline cudaError_t Took(cudaError_t status) {
  if (status == cudaSuccess) ++state.held;
  return status;
}

}  // namespace retable::cuda_faults

// A call that does nothing where it fails.
#define RETABLE_FAULT(name, parameters, arguments)                                 \
  extern "C" cudaError_t __real_##name parameters;                                 \
  extern "C" cudaError_t __wrap_##name parameters {                                \
    if (const cudaError_t error = retable::cuda_faults::Meet(false)) return error; \
    return __real_##name arguments;                                                \
  }
// A call that takes something of the device.
#define RETABLE_FAULT_TAKE(name, allocation, parameters, arguments)                     \
  extern "C" cudaError_t __real_##name parameters;                                      \
  extern "C" cudaError_t __wrap_##name parameters {                                     \
    if (const cudaError_t error = retable::cuda_faults::Meet(allocation)) return error; \
    return retable::cuda_faults::Took(__real_##name arguments);                         \
  }
// A call that gives something back. It does so even where it fails: destructors ask once.
#define RETABLE_FAULT_GIVE(name, parameters, arguments, given)                     \
  extern "C" cudaError_t __real_##name parameters;                                 \
  extern "C" cudaError_t __wrap_##name parameters {                                \
    if (given == nullptr) return cudaSuccess;                                      \
    --retable::cuda_faults::state.held;                                            \
    const cudaError_t status = __real_##name arguments;                            \
    if (const cudaError_t error = retable::cuda_faults::Meet(false)) return error; \
    return status;                                                                 \
  }

RETABLE_FAULT_TAKE(cudaMalloc, true, (void** memory, std::size_t bytes), (memory, bytes))
RETABLE_FAULT_TAKE(cudaHostRegister, true, (void* memory, std::size_t bytes, unsigned flags),
                   (memory, bytes, flags))
RETABLE_FAULT_TAKE(cudaStreamCreateWithFlags, false, (cudaStream_t * stream, unsigned flags),
                   (stream, flags))
RETABLE_FAULT_TAKE(cudaEventCreateWithFlags, false, (cudaEvent_t * event, unsigned flags),
                   (event, flags))
RETABLE_FAULT_TAKE(cudaGraphInstantiate, false,
                   (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
                   (executable, graph, flags))
RETABLE_FAULT_GIVE(cudaFree, (void* memory), (memory), memory)
RETABLE_FAULT_GIVE(cudaHostUnregister, (void* memory), (memory), memory)
RETABLE_FAULT_GIVE(cudaStreamDestroy, (cudaStream_t stream), (stream), stream)
RETABLE_FAULT_GIVE(cudaEventDestroy, (cudaEvent_t event), (event), event)
RETABLE_FAULT_GIVE(cudaGraphDestroy, (cudaGraph_t graph), (graph), graph)
RETABLE_FAULT_GIVE(cudaGraphExecDestroy, (cudaGraphExec_t executable), (executable), executable)

RETABLE_FAULT(cudaGetDeviceCount, (int* count), (count))
RETABLE_FAULT(cudaGetDevice, (int* device), (device))
RETABLE_FAULT(cudaSetDevice, (int device), (device))
RETABLE_FAULT(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
              (value, attribute, device))
RETABLE_FAULT(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel),
              (attributes, kernel))
RETABLE_FAULT(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
              (kernel, attribute, value))
RETABLE_FAULT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              (int* blocks, const void* kernel, int threads, std::size_t shared, unsigned flags),
              (blocks, kernel, threads, shared, flags))
RETABLE_FAULT(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
              (to, from, bytes, kind))
RETABLE_FAULT(cudaMemcpyAsync,
              (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
               cudaStream_t stream),
              (to, from, bytes, kind, stream))
RETABLE_FAULT(cudaMemset, (void* memory, int value, std::size_t bytes), (memory, value, bytes))
RETABLE_FAULT(cudaMemsetAsync, (void* memory, int value, std::size_t bytes, cudaStream_t stream),
              (memory, value, bytes, stream))
RETABLE_FAULT(cudaMemcpy2DAsync,
              (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
               std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream),
              (to, to_pitch, from, from_pitch, width, height, kind, stream))
RETABLE_FAULT(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
RETABLE_FAULT(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
              (stream, event, flags))
RETABLE_FAULT(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode),
              (stream, mode))
RETABLE_FAULT(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream),
              (executable, stream))
RETABLE_FAULT(__cudaLaunchKernel,
              (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
               cudaStream_t stream),
              (kernel, grid, block, arguments, shared, stream))
RETABLE_FAULT(cudaLaunchKernelExC,
              (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
              (config, kernel, arguments))

// Waiting reports what went wrong before: the work is done, and the call fails all the same.
#define RETABLE_FAULT_WAIT(name, parameters, arguments)                            \
  extern "C" cudaError_t __real_##name parameters;                                 \
  extern "C" cudaError_t __wrap_##name parameters {                                \
    const cudaError_t status = __real_##name arguments;                            \
    if (const cudaError_t error = retable::cuda_faults::Meet(false)) return error; \
    return status;                                                                 \
  }
RETABLE_FAULT_WAIT(cudaDeviceSynchronize, (), ())
RETABLE_FAULT_WAIT(cudaStreamSynchronize, (cudaStream_t stream), (stream))
RETABLE_FAULT_WAIT(cudaEventSynchronize, (cudaEvent_t event), (event))
extern "C" cudaError_t __real_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
extern "C" cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const cudaError_t status = __real_cudaStreamEndCapture(stream, graph);
  if (const cudaError_t error = retable::cuda_faults::Meet(false)) {
    if (status == cudaSuccess) __real_cudaGraphDestroy(*graph);
    *graph = nullptr;
    return error;
  }
  return status == cudaSuccess && *graph != nullptr ? retable::cuda_faults::Took(status) : status;
}

extern "C" cudaError_t __real_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError() {
  const retable::cuda_faults::State& state = retable::cuda_faults::state;
  if (state.last == cudaSuccess) return __real_cudaGetLastError();
  const cudaError_t last = state.last;
  if (!state.sticky) retable::cuda_faults::state.last = cudaSuccess;
  return last;
}
extern "C" cudaError_t __real_cudaPeekAtLastError();
extern "C" cudaError_t __wrap_cudaPeekAtLastError() {
  const cudaError_t last = retable::cuda_faults::state.last;
  return last != cudaSuccess ? last : __real_cudaPeekAtLastError();
}

namespace retable::cuda_faults {

//! One fault at every call of `answer`, a function without arguments that starts afresh (no object
//! of it outlives a call) and returns bytes: each ends in an exception or in the right answer,
//! holds nothing of the device afterwards, and the next call gives the right answer.
//!
//! Played: no memory (a single failing allocation), a call that fails alone (a stream destroyed
//! under it), a sticky error after a kernel's fault, a device that is gone.
template <class Answer>
void ExpectEveryFaultIsReported(const std::string& name, const Answer& answer) {
  SCOPED_TRACE(name);
  struct Fault {
    const char* what;
    cudaError_t error;
    bool allocations_alone, sticky;
  };
  static const Fault faults[] = {{"no memory", cudaErrorMemoryAllocation, true, false},
                                 {"stream destroyed", cudaErrorInvalidResourceHandle, false, false},
                                 {"illegal address", cudaErrorIllegalAddress, false, true},
                                 {"device gone", cudaErrorDevicesUnavailable, false, true}};
  state = {};
  const auto right = answer();
  const std::ptrdiff_t held = state.held;  // what the library keeps for the next call
  std::size_t reported = 0, withstood = 0;
  for (const Fault& fault : faults) {
    state.calls = 0;
    state.allocations_alone = fault.allocations_alone;
    ASSERT_EQ(answer(), right);
    const std::size_t calls = state.calls;
    const std::size_t step = 1 + calls / 150;
    for (std::size_t k = 0; k < calls; k += step) {
      SCOPED_TRACE(std::string(fault.what) + " at call " + std::to_string(k) + " of " +
                   std::to_string(calls));
      state.error = fault.error;
      state.sticky = fault.sticky;
      state.failed = false;
      state.calls_until_fault = static_cast<std::ptrdiff_t>(k);
      try {
        EXPECT_EQ(answer(), right) << "a wrong answer, and no error";
        ++withstood;
      } catch (const std::exception& error) {
        EXPECT_TRUE(state.failed) << error.what();
        EXPECT_STRNE(error.what(), "");
        EXPECT_STRNE(error.what(), "std::bad_alloc");
        ++reported;
      }
      EXPECT_TRUE(state.failed);
      const std::ptrdiff_t now_held = state.held;
      state = {};
      state.held = now_held;
      state.allocations_alone = fault.allocations_alone;
      EXPECT_LE(now_held, held) << "not given back to the device";
      ASSERT_EQ(__real_cudaGetLastError(), cudaSuccess);
      ASSERT_EQ(answer(), right) << "after the fault";
      EXPECT_EQ(state.held, held);
      if (testing::Test::HasFailure()) return;  // one fault's traces are enough
    }
  }
  std::cout << name << ": " << reported << " faults reported, " << withstood << " withstood\n";
}

}  // namespace retable::cuda_faults

#endif
