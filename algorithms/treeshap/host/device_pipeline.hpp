#pragma once
//! @file
//! The CUDA device of a call in pieces (host/batch_pipeline.hpp): streams, locked memory, and what
//! a method explains. Empty where there is no CUDA toolkit.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/treeshap/host/batch_pipeline.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/cuda/streams.hpp"

#if defined(RETABLE_HAS_CUDA) || defined(__CUDACC__)

namespace retable::treeshap {

//! What a method explains: `count` x columns values in device memory, to `out` or, where that is
//! not null and the method can, to `rounded`, on the stream.
struct DeviceBatch {
  const float* rows = nullptr;
  std::uint32_t count = 0;
  bool missing = false;      //!< a value is NaN
  double* out = nullptr;     //!< count x results of a row
  float* rounded = nullptr;  //!< the same as floats
  bool asked = false;        //!< a sample of the call's first piece was asked about
  cudaStream_t stream = nullptr;
};

//! Results are doubles on the device and travel as Number. Belongs to the device that is current
//! when it is made.
template <class Number>
class DevicePipeline final : public PipelineDevice<Number> {
 public:
  //! `explain` returns when all that a piece needs is in the stream, and whether its results are
  //! rounded. `zeros`: it adds to its results. `ask` is given the samples.
  DevicePipeline(bool zeros, std::function<bool(const DeviceBatch&)> explain,
                 std::function<void(const DeviceBatch&)> ask = {});
  ~DevicePipeline() override;

  //! RunPipeline; @return the seconds that the device explained, without clearing and rounding.
  double Run(const RowBlock& rows, std::size_t piece_rows, int threads, const ResultBlocks& to,
             std::size_t sampled = 0);

  //! The same from and to the memory of the device, in the same pieces and to the same bits; `to`
  //! has no results but `rows` has. IdleOnDevice comes before.
  void RunOnDevice(const DeviceRows& rows, std::size_t columns, std::size_t piece_rows,
                   const ResultBlocks& to);
  //! Waits for the last RunOnDevice: what `explain` writes serves one call at a time.
  void IdleOnDevice() const { on_device_.Wait(); }

  void Begin(const PipelinePlan& plan) override;
  float* Sample() override { return host_sample_.data(); }
  void Ask(bool missing) override;
  float* Rows(std::size_t slot) override { return slots_[slot].host_rows.data(); }
  void Upload(std::size_t slot, std::size_t begin, std::size_t count) override;
  void Start(std::size_t slot, std::size_t rows, bool missing) override;
  void Fetch(std::size_t slot, std::size_t buffer, std::size_t begin, std::size_t count) override;
  void Wait(std::size_t slot, std::size_t buffer) override;
  const Number* Buffer(std::size_t slot, std::size_t buffer) override {
    return slots_[slot].buffers.data() + buffer * plan_.chunk;
  }
  void Finish(std::size_t slot) override;

 private:
  struct Slot {
    PinnedArray<float> host_rows;
    DeviceArray<float> rows;
    DeviceArray<Number> out;
    PinnedArray<Number> buffers;
    std::vector<std::unique_ptr<CudaEvent>> arrived;  // in each buffer
    CudaEvent sent{cudaEventDisableTiming}, ready{cudaEventDisableTiming};
    CudaEvent started, stopped;
    CudaStream down;
  };

  cudaStream_t up() const { return plan_.pieces > 1 ? up_.get() : main_.get(); }
  cudaStream_t down(std::size_t slot) const {
    return plan_.pieces > 1 ? slots_[slot].down.get() : main_.get();
  }
  //! Buffers that arrive at once where results are `direct_`, in up to four parts.
  std::size_t PartBuffers() const { return (plan_.buffers + 3) / 4; }
  void Select() const { CheckCuda(cudaSetDevice(device_), "cudaSetDevice"); }

  int device_ = 0;
  bool zeros_;
  std::function<bool(const DeviceBatch&)> explain_;
  std::function<void(const DeviceBatch&)> ask_;
  PipelinePlan plan_;
  CudaStream up_, main_;
  CudaStream beside_;  // a sample's
  PinnedArray<float> host_sample_;
  DeviceArray<float> sample_;
  Slot slots_[kPipelineSlots];
  DeviceArray<double> sums_;  // where they travel as floats
  DeviceArray<double> expected_;
  DeviceArray<std::uint32_t> missing_;  // of each piece in device memory
  CudaEvent on_device_{cudaEventDisableTiming};
  std::size_t arrived_ = 0;  // buffers, of direct results
  bool direct_ = false;      // few results: what rounds them writes them into the host's buffers
  bool few_rows_ = false;    // a kernel fetches them from the host's buffer
  bool under_way_ = false;
  double seconds_ = 0;
};

}  // namespace retable::treeshap

#endif
