#include "algorithms/treeshap/host/batch_pipeline.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/memory/streaming_copy.hpp"
#include "base/parallel.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/treeshap/host/row_kernels.cuh"
#endif

namespace retable::treeshap {

bool CopyRows(const float* from, std::size_t count, float* to) {
  std::uint32_t missing = 0;
  for (std::size_t i = 0; i < count; ++i) {  // without branches
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    missing |= magnitude > 0x7f800000u ? 1u : 0u;
    to[i] = std::bit_cast<float>(bits - (magnitude == 0x7f800000u ? 1u : 0u));
  }
  return missing != 0;
}

namespace {

constexpr std::size_t kMostThreads = 16;  // they keep up with the bus; more wait for each other
constexpr std::size_t kSmallCall = std::size_t{1} << 21;        // results
constexpr std::size_t kRowChunk = std::size_t{1} << 15;         // floats
constexpr std::size_t kUploadChunks = 8;                        // that travel at once
constexpr std::size_t kOneThreadCopies = std::size_t{1} << 17;  // that one thread copies sooner

constexpr std::size_t Parts(std::size_t count, std::size_t part) {
  return (count + part - 1) / part;
}

// Numbers [begin, begin + count) of a piece, with the expected values.
template <class Number>
void Write(const Number* from, std::size_t begin, std::size_t count, const ResultBlocks& to,
           double* results) {
  std::copy_n(from, count, results);
  const std::size_t outputs = to.expected.size();
  std::size_t output = begin / to.block % outputs;
  for (std::size_t place = to.block - 1 - begin % to.block; place < count; place += to.block) {
    results[place] = to.expected[output];
    output = output + 1 == outputs ? 0 : output + 1;
  }
}

// The same past the caches, by way of a part that stays in them.
template <class Number>
void StreamingWrite(const Number* from, std::size_t begin, std::size_t count,
                    const ResultBlocks& to, double* results) {
  std::array<double, 512> part;
  for (std::size_t at = 0; at < count; at += part.size()) {
    const std::size_t size = std::min(part.size(), count - at);
    Write(from + at, begin + at, size, to, part.data());
    StreamingCopy(part.data(), size, results + at);
  }
  FinishStreaming();
}

template <class Number>
class PipelineRun {
 public:
  PipelineRun(PipelineDevice<Number>& device, const RowBlock& rows, std::size_t piece_rows,
              int threads, const ResultBlocks& to, const PipelineLimits& limits)
      : device_(device),
        rows_(rows),
        threads_(std::min<std::size_t>(
            static_cast<std::size_t>(threads > 0 ? threads : AvailableThreads()), kMostThreads)),
        to_(to),
        streaming_(OutgrowsCaches(to.results.size_bytes())) {
    plan_.pieces = Parts(rows.rows, piece_rows);
    plan_.piece_rows = Parts(rows.rows, plan_.pieces);
    plan_.columns = rows.columns;
    plan_.per_row = to.block * to.expected.size();
    const std::size_t numbers = plan_.piece_rows * plan_.per_row;
    plan_.chunk = std::clamp(Parts(numbers, 2 * threads_), limits.least_chunk, limits.most_chunk);
    plan_.chunk = std::clamp<std::size_t>(numbers, 1, plan_.chunk);
    plan_.buffers = std::min(Parts(numbers, plan_.chunk), limits.buffers);
    for (auto& asked : asked_) asked = std::vector<std::atomic<std::size_t>>(plan_.buffers);
    copied_ = std::vector<std::atomic<std::size_t>>(
        Parts(plan_.piece_rows * plan_.columns, kRowChunk * kUploadChunks));
  }

  void Run() {
    device_.Begin(plan_);
    if (plan_.pieces == 1 && Numbers(0) <= kSmallCall) {
      RunSmall();
      return;
    }
    for (std::size_t piece = 0; piece < plan_.pieces; ++piece) {
      Give(piece);
      if (piece > 0) Take(piece - 1);
    }
    Take(plan_.pieces - 1);
  }

 private:
  std::size_t First(std::size_t piece) const { return rows_.rows * piece / plan_.pieces; }
  std::size_t Count(std::size_t piece) const { return First(piece + 1) - First(piece); }
  std::size_t Numbers(std::size_t piece) const { return Count(piece) * plan_.per_row; }

  std::size_t RowChunks(std::size_t piece) const {
    return Parts(Count(piece) * plan_.columns, kRowChunk);
  }
  std::size_t Chunks(std::size_t piece) const { return Parts(Numbers(piece), plan_.chunk); }

  // Waking a worker outlasts a small call: all are woken at once and wait for results.
  void RunSmall() {
    const std::size_t rows = RowChunks(0);
    std::atomic<std::size_t> sent = 0;
    Each(rows + Chunks(0), std::max(rows, Chunks(0)), [&](std::size_t step) {
      if (step >= rows) {
        TakeChunk(0, step - rows);
        return;
      }
      Send(0, step);
      if (sent.fetch_add(1) + 1 == rows) Start(0);
    });
    device_.Finish(0);
  }

  void Give(std::size_t piece) {
    const bool alone = Count(piece) * plan_.columns <= kOneThreadCopies;
    Each(RowChunks(piece), alone ? 1 : threads_, [&](std::size_t chunk) { Send(piece, chunk); });
    Start(piece);
  }

  // Several chunks travel at once: threads that ask at the same time wait for each other.
  void Send(std::size_t piece, std::size_t chunk) {
    const std::size_t slot = piece % kPipelineSlots;
    const auto values = rows_.slice(First(piece), Count(piece)).values;
    const auto begin_of = [&](std::size_t c) { return std::min(c * kRowChunk, values.size()); };
    const std::size_t begin = begin_of(chunk);
    if (CopyRows(values.data() + begin, begin_of(chunk + 1) - begin, device_.Rows(slot) + begin)) {
      missing_ = true;
    }
    const std::size_t upload = chunk / kUploadChunks;
    const std::size_t first = upload * kUploadChunks;
    const std::size_t last = std::min(first + kUploadChunks, RowChunks(piece));
    if (copied_[upload].fetch_add(1) + 1 < last - first) return;
    copied_[upload] = 0;
    device_.Upload(slot, begin_of(first), begin_of(last) - begin_of(first));
  }

  // Asks for as many chunks of results as there are buffers.
  void Start(std::size_t piece) {
    const std::size_t slot = piece % kPipelineSlots;
    device_.Start(slot, Count(piece), missing_.exchange(false));
    for (auto& asked : asked_[slot]) asked = 0;
    for (std::size_t c = 0; c < std::min(Chunks(piece), plan_.buffers); ++c) Ask(piece, c);
  }

  // Chunks go to buffers in turn.
  void Ask(std::size_t piece, std::size_t chunk) {
    const std::size_t slot = piece % kPipelineSlots;
    const std::size_t begin = chunk * plan_.chunk;
    const std::size_t size = std::min(plan_.chunk, Numbers(piece) - begin);
    device_.Fetch(slot, chunk % plan_.buffers, begin, size);
    asked_[slot][chunk % plan_.buffers].fetch_add(1, std::memory_order_release);
  }

  // Threads are called when the first results are here.
  void Take(std::size_t piece) {
    if (Chunks(piece) > 0) device_.Wait(piece % kPipelineSlots, 0);
    Each(Chunks(piece), threads_, [&](std::size_t chunk) { TakeChunk(piece, chunk); });
    device_.Finish(piece % kPipelineSlots);
  }

  void TakeChunk(std::size_t piece, std::size_t chunk) {
    const std::size_t slot = piece % kPipelineSlots;
    const std::size_t buffer = chunk % plan_.buffers;
    while (asked_[slot][buffer].load(std::memory_order_acquire) <= chunk / plan_.buffers) {
      if (failed_) return;
      std::this_thread::yield();
    }
    const std::size_t begin = chunk * plan_.chunk;
    const std::size_t size = std::min(plan_.chunk, Numbers(piece) - begin);
    const auto write = streaming_ ? StreamingWrite<Number> : Write<Number>;
    write(device_.Wait(slot, buffer), begin, size, to_,
          to_.results.data() + First(piece) * plan_.per_row + begin);
    if (chunk + plan_.buffers < Chunks(piece)) Ask(piece, chunk + plan_.buffers);
  }

  // Threads take the chunks in their order: whoever must ask for a later one is at work already.
  template <class Body>
  void Each(std::size_t chunks, std::size_t workers, const Body& body) {
    workers = std::min({workers, chunks, threads_});
    std::atomic<std::size_t> next = 0;
    ParallelFor(workers, workers == 1 ? 1 : 0, [&](std::size_t) {
      for (std::size_t chunk; !failed_ && (chunk = next.fetch_add(1)) < chunks;) {
        try {
          body(chunk);
        } catch (...) {
          failed_ = true;  // releases the waiting threads
          throw;
        }
      }
    });
  }

  PipelineDevice<Number>& device_;
  const RowBlock& rows_;
  std::size_t threads_;
  const ResultBlocks& to_;
  bool streaming_;
  PipelinePlan plan_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> missing_ = false;             // a value of the piece that is sent
  std::vector<std::atomic<std::size_t>> copied_;  // chunks of each upload
  // How often each buffer has been asked to be filled.
  std::vector<std::atomic<std::size_t>> asked_[kPipelineSlots];
};

}  // namespace

template <class Number>
void RunPipeline(PipelineDevice<Number>& device, const RowBlock& rows, std::size_t piece_rows,
                 int threads, const ResultBlocks& to, const PipelineLimits& limits) {
  if (rows.rows == 0) return;
  PipelineRun<Number>(device, rows, std::max<std::size_t>(1, piece_rows), threads, to, limits)
      .Run();
}

template void RunPipeline(PipelineDevice<float>&, const RowBlock&, std::size_t, int,
                          const ResultBlocks&, const PipelineLimits&);
template void RunPipeline(PipelineDevice<double>&, const RowBlock&, std::size_t, int,
                          const ResultBlocks&, const PipelineLimits&);

void WriteExpected(const ResultBlocks& to) {
  ParallelFor(to.results.size() / to.block, 0, [&](std::size_t m) {
    const auto block = to.results.subspan(m * to.block, to.block);
    std::fill(block.begin(), block.end(), 0.0);
    block.back() = to.expected[m % to.expected.size()];
  });
}

#if defined(RETABLE_HAS_CUDA)

// Few rows or results: a kernel reads them from the host's memory or writes them there, which takes
// less time than to begin the copies of all chunks. H100, 2026-11-25.
constexpr std::size_t kFewNumbers = std::size_t{1} << 21;

template <class Number>
DevicePipeline<Number>::DevicePipeline(bool zeros, std::function<bool(const DeviceBatch&)> explain)
    : zeros_(zeros), explain_(std::move(explain)) {
  CheckCuda(cudaGetDevice(&device_), "cudaGetDevice");
}

// What is under way must not outlive the memory it goes to.
template <class Number>
DevicePipeline<Number>::~DevicePipeline() {
  if (under_way_) cudaDeviceSynchronize();
}

template <class Number>
double DevicePipeline<Number>::Run(const RowBlock& rows, std::size_t piece_rows, int threads,
                                   const ResultBlocks& to) {
  seconds_ = 0;
  RunPipeline<Number>(*this, rows, piece_rows, threads, to);
  under_way_ = false;
  return seconds_;
}

template <class Number>
void DevicePipeline<Number>::RunOnDevice(const DeviceRows& rows, std::size_t columns,
                                         std::size_t piece_rows, const ResultBlocks& to) {
  Select();
  const auto stream = static_cast<cudaStream_t>(rows.stream);
  const std::size_t per_row = to.block * to.expected.size();
  CheckCuda(cudaMemcpyAsync(expected_.Reserve(to.expected.size()), to.expected.data(),
                            to.expected.size_bytes(), cudaMemcpyHostToDevice, stream),
            "upload");
  if (piece_rows == 0 || zeros_) {
    CheckCuda(cudaMemsetAsync(rows.results, 0, rows.rows * per_row * sizeof(double), stream),
              "memset");
  }
  const std::size_t pieces = piece_rows == 0 ? 0 : Parts(rows.rows, piece_rows);
  const auto first = [&](std::size_t piece) { return rows.rows * piece / pieces; };
  std::vector<std::uint32_t> missing(pieces);
  missing_.Reserve(pieces);
  CheckCuda(cudaMemsetAsync(missing_.data(), 0, pieces * sizeof(std::uint32_t), stream), "memset");
  for (std::size_t p = 0; p < pieces; ++p) {
    FindMissing(rows.values + first(p) * columns, (first(p + 1) - first(p)) * columns,
                missing_.data() + p, stream);
  }
  // Kernels for rows without missing values are others: the host has to know.
  CheckCuda(cudaStreamSynchronize(stream), "rows in device memory");
  missing_.Download(missing);
  for (std::size_t p = 0; p < pieces; ++p) {
    explain_({rows.values + first(p) * columns, static_cast<std::uint32_t>(first(p + 1) - first(p)),
              missing[p] != 0, rows.results + first(p) * per_row, nullptr, stream});
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
  const std::size_t numbers = plan.piece_rows * plan.per_row;
  direct_ = std::is_same_v<Number, float> && plan.pieces == 1 && numbers <= kFewNumbers &&
            numbers <= plan.buffers * plan.chunk && slots_[0].buffers.pinned();
  few_rows_ = plan.pieces == 1 && plan.piece_rows * plan.columns <= kFewNumbers &&
              slots_[0].host_rows.pinned();
  under_way_ = true;
}

template <class Number>
void DevicePipeline<Number>::Upload(std::size_t slot, std::size_t begin, std::size_t count) {
  if (few_rows_) return;
  Select();
  CheckCuda(cudaMemcpyAsync(slots_[slot].rows.data() + begin, slots_[slot].host_rows.data() + begin,
                            count * sizeof(float), cudaMemcpyHostToDevice, up()),
            "upload");
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
  if (zeros_) CheckCuda(cudaMemsetAsync(out, 0, numbers * sizeof(double), main_.get()), "memset");
  if (few_rows_) FetchRows(s.host_rows.data(), rows * plan_.columns, s.rows.data(), main_.get());
  s.started.Record(main_.get());
  const bool done = explain_(
      {s.rows.data(), static_cast<std::uint32_t>(rows), missing, out, rounded, main_.get()});
  s.stopped.Record(main_.get());
  if constexpr (narrow) {
    if (!done) RoundResults(out, numbers, direct_ ? s.buffers.data() : s.out.data(), main_.get());
  }
  if (!alone || direct_) s.ready.Record(main_.get());
  if (!alone) CheckCuda(cudaStreamWaitEvent(s.down.get(), s.ready.get()), "wait");
}

template <class Number>
void DevicePipeline<Number>::Fetch(std::size_t slot, std::size_t buffer, std::size_t begin,
                                   std::size_t count) {
  if (direct_) return;
  Select();
  Slot& s = slots_[slot];
  CheckCuda(cudaMemcpyAsync(s.buffers.data() + buffer * plan_.chunk, s.out.data() + begin,
                            count * sizeof(Number), cudaMemcpyDeviceToHost, down(slot)),
            "download");
  s.arrived[buffer]->Record(down(slot));
}

template <class Number>
const Number* DevicePipeline<Number>::Wait(std::size_t slot, std::size_t buffer) {
  (direct_ ? slots_[slot].ready : *slots_[slot].arrived[buffer]).Wait();
  return slots_[slot].buffers.data() + buffer * plan_.chunk;
}

template <class Number>
void DevicePipeline<Number>::Finish(std::size_t slot) {
  seconds_ += slots_[slot].stopped.SecondsSince(slots_[slot].started);
}

template class DevicePipeline<float>;
template class DevicePipeline<double>;

#endif

}  // namespace retable::treeshap
