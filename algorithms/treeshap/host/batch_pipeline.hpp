#pragma once
//! @file
//! A call to a device in pieces, so that rows on their way there, the device's work, results on
//! their way back and the threads that write them into the caller's memory overlap.
//!
//! A copy between a device and memory of the usual kind is made by one thread, through a small
//! locked buffer, while all else waits. Here the host's threads move rows into locked memory and
//! results out of it, and one of them asks the device for everything. Two pieces are under way:
//! while one is computed, the results of the one before travel in chunks through a ring of locked
//! buffers. Results travel as the numbers that the device's sums are rounded to (floats,
//! mostly: half of the bus's time) and become doubles on the way into the caller's memory, with
//! the expected values, which no device needs to know.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/treeshap/host/device_explainer.hpp"
#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

//! Sizes of a call: rows, in pieces of at most `piece_rows`.
struct PipelinePlan {
  std::size_t pieces = 0;
  std::size_t piece_rows = 0;
  std::size_t sampled = 0;  //!< rows of the first piece that the device is asked about beforehand
  std::size_t columns = 0;  //!< floats of a row
  std::size_t per_row = 0;  //!< results of a row
  std::size_t chunk = 0;    //!< results that a buffer holds
  std::size_t buffers = 0;  //!< buffers of a slot
};

inline constexpr std::size_t kPipelineSlots = 2;

//! A device, or whatever plays one: two slots, each with locked memory for the rows of a piece, a
//! ring of locked buffers for its results, and the same on the device. One thread calls all but
//! Rows, Sample and Buffer; all but Wait and Finish return at once.
template <class Number>
class PipelineDevice {
 public:
  virtual ~PipelineDevice() = default;

  //! Makes room. Nothing is under way.
  virtual void Begin(const PipelinePlan& plan) = 0;
  //! Where the host puts the rows of a piece, row-major, infinities clamped.
  virtual float* Rows(std::size_t slot) = 0;
  //! Where the host puts the plan's sample, rows at even distances.
  virtual float* Sample() { return nullptr; }
  //! The sample is complete. `missing`: a value of it is NaN.
  virtual void Ask(bool /*missing*/) {}
  //! Sends values [begin, begin + count) of Rows(slot).
  virtual void Upload(std::size_t slot, std::size_t begin, std::size_t count) = 0;
  //! Explains what was sent. `missing`: a value is NaN.
  virtual void Start(std::size_t slot, std::size_t rows, bool missing) = 0;
  //! Brings results [begin, begin + count) of the slot into one of its buffers, once they are
  //! there.
  virtual void Fetch(std::size_t slot, std::size_t buffer, std::size_t begin,
                     std::size_t count) = 0;
  //! Returns when what was fetched into the buffer last has arrived.
  virtual void Wait(std::size_t slot, std::size_t buffer) = 0;
  //! What arrived.
  virtual const Number* Buffer(std::size_t slot, std::size_t buffer) = 0;
  //! All results of the slot have arrived.
  virtual void Finish(std::size_t slot) = 0;
};

//! Where results go: for each row and output a block of numbers, the last of which is the output's
//! expected value.
struct ResultBlocks {
  std::span<double> results;         //!< rows x outputs x block
  std::size_t block = 0;             //!< features + 1 of values
  std::span<const double> expected;  //!< one of each output
};

//! How results are cut up: a thread works on a chunk for some 3 to 50 us.
struct PipelineLimits {
  std::size_t least_chunk = std::size_t{1} << 12;  //!< numbers
  std::size_t most_chunk = std::size_t{1} << 17;
  std::size_t buffers = 64;  //!< buffers of a slot, one chunk each
};

//! Explains the rows, at most `piece_rows` at once (even pieces), with up to `threads` threads of
//! the host (0: all). Writes every number of the results; `to` without outputs: none, rows alone
//! are sent. What is written depends on the device alone, not on threads and chunks. @throws what
//! the device throws
template <class Number>
void RunPipeline(PipelineDevice<Number>& device, const RowBlock& rows, std::size_t piece_rows,
                 int threads, const ResultBlocks& to, std::size_t sampled = 0,
                 const PipelineLimits& limits = {});

//! Copies them, infinities clamped. @return whether a value is NaN
bool CopyRows(const float* from, std::size_t count, float* to);

//! Rows of a piece that leave so many results each: 65,536, fewer where sums would take 2 GB.
constexpr std::size_t RowsPerPiece(std::size_t per_row) {
  return std::clamp<std::size_t>((std::size_t{1} << 28) / per_row, 1, std::size_t{1} << 16);
}

//! Zeros and the expected values: the results of a model without splits.
void WriteExpected(const ResultBlocks& to);

#if defined(RETABLE_HAS_CUDA) || defined(__CUDACC__)

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
  //! has no results but `rows` has. piece_rows 0: a model without splits. IdleOnDevice comes
  //! before.
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
  bool few_rows_ = false;    // a kernel fetches them when all are in the host's buffer
  bool under_way_ = false;
  double seconds_ = 0;
};

#endif

}  // namespace retable::treeshap
