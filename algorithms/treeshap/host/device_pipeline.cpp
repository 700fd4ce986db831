#include "algorithms/treeshap/host/device_pipeline.hpp"

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>
#include <type_traits>
#include <utility>

#include "algorithms/treeshap/host/row_kernels.cuh"

namespace retable::treeshap {

// Few rows or results: a kernel reads them from the host's memory or writes them there, which takes
// less time than to begin the copies of all chunks. H100, 2026-11-25.
constexpr std::size_t kFewNumbers = std::size_t{1} << 21;

template <class Number>
DevicePipeline<Number>::DevicePipeline(bool zeros, std::function<bool(const DeviceBatch&)> explain,
                                       std::function<void(const DeviceBatch&)> ask)
    : zeros_(zeros), explain_(std::move(explain)), ask_(std::move(ask)) {
  CheckCuda(cudaGetDevice(&device_), "cudaGetDevice");
}

// What is under way must not outlive the memory it goes to.
template <class Number>
DevicePipeline<Number>::~DevicePipeline() {
  if (under_way_) cudaDeviceSynchronize();
}

template <class Number>
double DevicePipeline<Number>::Run(const RowBlock& rows, std::size_t piece_rows, int threads,
                                   const ResultBlocks& to, std::size_t sampled) {
  seconds_ = 0;
  RunPipeline<Number>(*this, rows, piece_rows, threads, to, sampled);
  under_way_ = false;
  return seconds_;
}

template <class Number>
void DevicePipeline<Number>::RunOnDevice(const DeviceRows& rows, std::size_t columns,
                                         std::size_t piece_rows, const ResultBlocks& to) {
  Select();
  const auto stream = static_cast<cudaStream_t>(rows.stream);
  const std::size_t per_row = to.block * to.expected.size();
  CopyInStream(expected_.Reserve(to.expected.size()), to.expected.data(), to.expected.size(),
               cudaMemcpyHostToDevice, stream);
  if (piece_rows == 0 || zeros_) ClearInStream(rows.results, rows.rows * per_row, stream);
  const std::size_t pieces = piece_rows == 0 ? 0 : (rows.rows + piece_rows - 1) / piece_rows;
  const auto first = [&](std::size_t piece) { return rows.rows * piece / pieces; };
  std::vector<std::uint32_t> missing(pieces);
  ClearInStream(missing_.Reserve(pieces), pieces, stream);
  for (std::size_t p = 0; p < pieces; ++p) {
    FindMissing(rows.values + first(p) * columns, (first(p + 1) - first(p)) * columns,
                missing_.data() + p, stream);
  }
  // Kernels for rows without missing values are others: the host has to know.
  CheckCuda(cudaStreamSynchronize(stream), "rows in device memory");
  missing_.Download(missing);
  for (std::size_t p = 0; p < pieces; ++p) {
    explain_({rows.values + first(p) * columns, static_cast<std::uint32_t>(first(p + 1) - first(p)),
              missing[p] != 0, rows.results + first(p) * per_row, nullptr, false, stream});
  }
  FinishResults({.results = rows.results,
                 .blocks = rows.rows * to.expected.size(),
                 .block = to.block,
                 .expected = expected_.data(),
                 .outputs = to.expected.size(),
                 .round = std::is_same_v<Number, float>},
                stream);
  on_device_.Record(stream);
}

template <class Number>
void DevicePipeline<Number>::Begin(const PipelinePlan& plan) {
  if (under_way_) CheckCuda(cudaDeviceSynchronize(), "an earlier call");  // it ended with an error
  plan_ = plan;
  for (std::size_t s = 0; s < std::min(plan.pieces, kPipelineSlots); ++s) {
    Slot& slot = slots_[s];
    slot.host_rows.Reserve(plan.piece_rows * plan.columns);
    slot.rows.Reserve(plan.piece_rows * plan.columns);
    slot.out.Reserve(plan.piece_rows * plan.per_row);
    slot.buffers.Reserve(plan.buffers * plan.chunk);
    while (slot.arrived.size() < plan.buffers) {
      slot.arrived.push_back(std::make_unique<CudaEvent>(cudaEventDisableTiming));
    }
  }
  host_sample_.Reserve(plan.sampled * plan.columns);
  const std::size_t numbers = plan.piece_rows * plan.per_row;
  direct_ = std::is_same_v<Number, float> && plan.pieces == 1 && numbers <= kFewNumbers &&
            numbers <= plan.buffers * plan.chunk && slots_[0].buffers.pinned();
  few_rows_ = plan.pieces == 1 && plan.piece_rows * plan.columns <= kFewNumbers &&
              slots_[0].host_rows.pinned();
  under_way_ = true;
}

template <class Number>
void DevicePipeline<Number>::Ask(bool missing) {
  Select();
  const std::size_t count = plan_.sampled * plan_.columns;
  FetchRows(host_sample_.data(), count, sample_.Reserve(count), beside_.get());
  ask_({.rows = sample_.data(),
        .count = static_cast<std::uint32_t>(plan_.sampled),
        .missing = missing,
        .stream = beside_.get()});
}

template <class Number>
void DevicePipeline<Number>::Upload(std::size_t slot, std::size_t begin, std::size_t count) {
  Select();
  if (few_rows_) {
    FetchRows(slots_[slot].host_rows.data() + begin, count, slots_[slot].rows.data() + begin, up());
    return;
  }
  CopyInStream(slots_[slot].rows.data() + begin, slots_[slot].host_rows.data() + begin, count,
               cudaMemcpyHostToDevice, up());
}

template <class Number>
void DevicePipeline<Number>::Start(std::size_t slot, std::size_t rows, bool missing) {
  Select();
  Slot& s = slots_[slot];
  const bool alone = plan_.pieces == 1;
  if (!alone) {
    s.sent.Record(up_.get());
    CheckCuda(cudaStreamWaitEvent(main_.get(), s.sent.get()), "wait");
  }
  constexpr bool narrow = std::is_same_v<Number, float>;
  const std::size_t numbers = rows * plan_.per_row;
  double* out = nullptr;
  float* rounded = nullptr;
  if constexpr (narrow) {
    out = sums_.Reserve(numbers);
    if (!direct_) rounded = s.out.data();  // single results do not travel well over the bus
  } else {
    out = s.out.data();
  }
  if (zeros_) ClearInStream(out, numbers, main_.get());
  s.started.Record(main_.get());
  const bool done = explain_({s.rows.data(), static_cast<std::uint32_t>(rows), missing, out,
                              rounded, plan_.sampled > 0, main_.get()});
  s.stopped.Record(main_.get());
  if constexpr (narrow) {
    if (direct_) {  // in parts: the host writes some while others arrive
      arrived_ = 0;
      const std::size_t part = PartBuffers() * plan_.chunk;
      for (std::size_t i = 0; i * part < numbers; ++i) {
        RoundResults(out + i * part, std::min(part, numbers - i * part),
                     s.buffers.data() + i * part, main_.get());
        s.arrived[i]->Record(main_.get());
      }
    } else if (!done) {
      RoundResults(out, numbers, s.out.data(), main_.get());
    }
  }
  if (!alone) s.ready.Record(main_.get());
  if (!alone) CheckCuda(cudaStreamWaitEvent(s.down.get(), s.ready.get()), "wait");
}

template <class Number>
void DevicePipeline<Number>::Fetch(std::size_t slot, std::size_t buffer, std::size_t begin,
                                   std::size_t count) {
  if (direct_) return;
  Select();
  Slot& s = slots_[slot];
  CopyInStream(s.buffers.data() + buffer * plan_.chunk, s.out.data() + begin, count,
               cudaMemcpyDeviceToHost, down(slot));
  s.arrived[buffer]->Record(down(slot));
}

template <class Number>
void DevicePipeline<Number>::Wait(std::size_t slot, std::size_t buffer) {
  if (!direct_) {
    slots_[slot].arrived[buffer]->Wait();
  } else if (buffer >= arrived_) {
    slots_[slot].arrived[buffer / PartBuffers()]->Wait();
    arrived_ = (buffer / PartBuffers() + 1) * PartBuffers();
  }
}

template <class Number>
void DevicePipeline<Number>::Finish(std::size_t slot) {
  seconds_ += slots_[slot].stopped.SecondsSince(slots_[slot].started);
}

template class DevicePipeline<float>;
template class DevicePipeline<double>;

}  // namespace retable::treeshap

#endif
