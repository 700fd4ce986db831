#pragma once
//! @file
//! A call to a device in pieces, so that rows on their way there, the device's work, results on
//! their way back and the threads that write them into the caller's memory overlap.
//!
//! A copy between a device and memory of the usual kind is made by one thread, through a small
//! locked buffer, while all else waits. Here the host's threads move rows into locked memory and
//! results out of it, and one of them makes all calls of the device. Two pieces are under way:
//! while one is computed, the results of the one before travel in chunks through a ring of locked
//! buffers. Results travel as the numbers that the device's sums are rounded to (floats,
//! mostly: half of the bus's time) and become doubles on the way into the caller's memory, with
//! the expected values, which no device needs to know.

#include <algorithm>
#include <cstddef>
#include <span>

#include "algorithms/treeshap/tree_explainer.hpp"

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

//! How results are cut up: into chunks, each of which one thread writes.
struct PipelineLimits {
  std::size_t least_chunk = std::size_t{1} << 12;  //!< numbers
  std::size_t most_chunk = std::size_t{1} << 17;
  std::size_t buffers = 64;  //!< buffers of a slot, one chunk each
};

//! Explains the rows, at most `piece_rows` at once (even pieces), with up to `threads` threads of
//! the host (0: all). Writes every number of the results; `to` without outputs: none, rows alone
//! are sent. piece_rows 0, with outputs: a model without splits, whose results need no device. What
//! is written depends on the device alone, not on threads and chunks. @throws what the device
//! throws
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

}  // namespace retable::treeshap
