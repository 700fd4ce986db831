#include "algorithms/shuffle/thrust_drop_in.cuh"

#include <thrust/sequence.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/selection/rows.hpp"
#include "algorithms/shuffle/shuffle_on_device.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"

namespace retable::shuffle {
namespace {

const std::string kDropIn = "Shuffle";

std::unique_ptr<Shuffler> OnProcessor() {
  return Registry<Shuffler>::Instance().Make(kDropIn, Device::kCpu, {});
}

// A thread's memory for a method on a device, kept from call to call.
class Workspace {
 public:
  explicit Workspace(const std::string& method) : method_(MakeCudaShuffler(method)) {}

  // The current device's. What is enqueued on `stream` from here on waits for the last call's work,
  // which may be on another stream.
  static Workspace& Begin(const std::string& method, cudaStream_t stream) {
    thread_local std::map<std::pair<int, std::string>, std::unique_ptr<Workspace>> kept;
    int device = 0;
    CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
    auto& workspace = kept[{device, method}];
    if (workspace == nullptr) workspace = std::make_unique<Workspace>(method);
    CheckCuda(cudaStreamWaitEvent(stream, workspace->used_.get()), "cudaStreamWaitEvent");
    return *workspace;
  }
  void End(cudaStream_t stream) const { used_.Record(stream); }

  void Enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) {
    method_->prepare(n, item_bytes);
    method_->enqueue(in, out, n, item_bytes, seed, stream);
  }

  // The permutation that Shuffler::permutation gives.
  const std::uint64_t* EnqueueOrder(std::uint64_t n, std::uint64_t seed, cudaStream_t stream) {
    std::uint64_t* identity = identity_.Reserve(n);
    std::uint64_t* order = order_.Reserve(n);
    thrust::sequence(thrust::cuda::par_nosync.on(stream), identity, identity + n);
    Enqueue(identity, order, n, sizeof(std::uint64_t), seed, stream);
    return order;
  }

  // Addresses at which the method takes items: those given, or copies' where they are not aligned.
  void EnqueueItems(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                    std::uint64_t seed, cudaStream_t stream) {
    const auto copy = [&](void* to, const void* from) {
      CheckCuda(cudaMemcpyAsync(to, from, n * item_bytes, cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpyAsync");
      return to;
    };
    const auto aligned = [](const void* address) {
      return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
    };
    const void* from = aligned(in) ? in : copy(aligned_in_.Reserve(n * item_bytes), in);
    void* to = aligned(out) ? out : aligned_out_.Reserve(n * item_bytes);
    Enqueue(from, to, n, item_bytes, seed, stream);
    if (to != out) copy(out, to);
  }

 private:
  std::unique_ptr<CudaShuffler> method_;
  DeviceArray<std::byte> aligned_in_, aligned_out_;
  DeviceArray<std::uint64_t> identity_, order_;
  CudaEvent used_{cudaEventDisableTiming};
};

}  // namespace

void ShuffleOnDevice(const std::string& method, const void* in, void* out, std::uint64_t n,
                     std::size_t item_bytes, std::uint64_t seed, cudaStream_t stream) {
  CheckBuffers(in, out, n, item_bytes);
  Workspace& workspace = Workspace::Begin(method, stream);
  if (item_bytes == 4 || item_bytes == 8 || item_bytes == 16) {
    workspace.EnqueueItems(in, out, n, item_bytes, seed, stream);
  } else {
    EnqueueRowGather(workspace.EnqueueOrder(n, seed, stream), in, out, n, item_bytes, stream);
  }
  workspace.End(stream);
}

}  // namespace retable::shuffle

namespace retable::shuffle::drop_in::detail {

void OnHost(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
            std::uint64_t seed) {
  OnProcessor()->shuffle(in, out, n, item_bytes, seed);
}

void OnDevice(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
              std::uint64_t seed, cudaStream_t stream) {
  ShuffleOnDevice(kDropIn, in, out, n, item_bytes, seed, stream);
}

std::vector<std::uint64_t> HostOrder(std::uint64_t n, std::uint64_t seed) {
  return OnProcessor()->permutation(n, seed);
}

DeviceOrder::DeviceOrder(std::uint64_t n, std::uint64_t seed, cudaStream_t stream)
    : data_(Workspace::Begin(kDropIn, stream).EnqueueOrder(n, seed, stream)), stream_(stream) {}

DeviceOrder::~DeviceOrder() {
  try {
    Workspace::Begin(kDropIn, stream_).End(stream_);
  } catch (const std::runtime_error&) {
    // The device has failed: the next call says so.
  }
}

}  // namespace retable::shuffle::drop_in::detail
