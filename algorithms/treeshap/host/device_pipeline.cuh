#pragma once
//! @file
//! The GPU of host/batch_pipeline.hpp: rows, kernels and results on streams of their own, where
//! there is more than one piece.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/treeshap/host/batch_pipeline.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

//! What a method explains: `count` x columns values in device memory, to `out`, on the stream.
struct DeviceBatch {
  const float* rows = nullptr;
  std::uint32_t count = 0;
  bool missing = false;   //!< a value is NaN
  double* out = nullptr;  //!< count x results of a row
  cudaStream_t stream = nullptr;
};

//! Results are doubles on the device and travel as Number. Belongs to the device that is current
//! when it is made.
template <class Number>
class DevicePipeline final : public PipelineDevice<Number> {
 public:
  //! `explain` returns when all that a piece needs is in the stream. `zeros`: it adds to its
  //! results.
  DevicePipeline(bool zeros, std::function<void(const DeviceBatch&)> explain);
  ~DevicePipeline() override;

  //! RunPipeline; @return the seconds that the device explained, without clearing and rounding.
  //! `once`: rows are read once, and may stay with the host where a copy would take longer.
  double Run(const RowBlock& rows, std::size_t piece_rows, int threads, const ResultBlocks& to,
             bool once = false);

  void Begin(const PipelinePlan& plan) override;
  float* Rows(std::size_t slot) override { return slots_[slot].host_rows.data(); }
  void Upload(std::size_t slot, std::size_t begin, std::size_t count) override;
  void Start(std::size_t slot, std::size_t rows, bool missing) override;
  void Fetch(std::size_t slot, std::size_t buffer, std::size_t begin, std::size_t count) override;
  const Number* Wait(std::size_t slot, std::size_t buffer) override;
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
  void Select() const { CheckCuda(cudaSetDevice(device_), "cudaSetDevice"); }

  int device_ = 0;
  bool zeros_;
  std::function<void(const DeviceBatch&)> explain_;
  PipelinePlan plan_;
  CudaStream up_, main_;
  Slot slots_[kPipelineSlots];
  DeviceArray<double> sums_;  // where they travel as floats
  // Few results: what rounds them writes them into the host's buffers, and rows are read from
  // there, which takes less time than to begin a copy.
  bool direct_ = false;
  bool once_ = false;  // and rows are read once
  bool under_way_ = false;
  double seconds_ = 0;
};

//! x[column][place] = rows[order[place]][column], infinities clamped, 0 beyond `count`; order: null
//! for the rows' own. `stride`: a multiple of 32.
void TransposeRows(const float* rows, const std::uint32_t* order, std::uint32_t count,
                   std::uint32_t columns, std::uint32_t stride, float* x, cudaStream_t stream);

}  // namespace retable::treeshap
