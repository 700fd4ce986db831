#include "algorithms/treeshap/host/batch_pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/parallel.hpp"

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
constexpr std::size_t kSmallCall = std::size_t{1} << 20;  // results
constexpr std::size_t kRowChunk = std::size_t{1} << 15;   // floats
constexpr std::size_t kAlone = std::size_t{1} << 17;      // that one thread copies sooner

constexpr std::size_t Parts(std::size_t count, std::size_t part) {
  return (count + part - 1) / part;
}

// Numbers [begin, begin + count) of a piece to their place, with the expected values.
template <class Number>
void Write(const Number* from, std::size_t begin, std::size_t count, const ResultBlocks& to) {
  double* results = to.results.data() + begin;
  std::copy_n(from, count, results);
  const std::size_t outputs = to.expected.size();
  std::size_t output = begin / to.block % outputs;
  for (std::size_t place = to.block - 1 - begin % to.block; place < count; place += to.block) {
    results[place] = to.expected[output];
    output = output + 1 == outputs ? 0 : output + 1;
  }
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
        to_(to) {
    plan_.pieces = Parts(rows.rows, piece_rows);
    plan_.piece_rows = Parts(rows.rows, plan_.pieces);
    plan_.columns = rows.columns;
    plan_.per_row = to.block * to.expected.size();
    const std::size_t numbers = plan_.piece_rows * plan_.per_row;
    plan_.chunk = std::clamp(Parts(numbers, 2 * threads_), limits.least_chunk, limits.most_chunk);
    plan_.chunk = std::min(plan_.chunk, numbers);
    plan_.buffers = std::min(Parts(numbers, plan_.chunk), limits.buffers);
    for (auto& asked : asked_) asked = std::vector<std::atomic<std::size_t>>(plan_.buffers);
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

  // A thread that sleeps takes longer to come than such a call: all are called at once, and those
  // who come in time wait for results.
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
    const bool alone = Count(piece) * plan_.columns <= kAlone;
    Each(RowChunks(piece), alone ? 1 : threads_, [&](std::size_t chunk) { Send(piece, chunk); });
    Start(piece);
  }

  void Send(std::size_t piece, std::size_t chunk) {
    const std::size_t slot = piece % kPipelineSlots;
    const auto values = rows_.slice(First(piece), Count(piece)).values;
    const std::size_t begin = chunk * kRowChunk;
    const std::size_t size = std::min(kRowChunk, values.size() - begin);
    if (CopyRows(values.data() + begin, size, device_.Rows(slot) + begin)) missing_ = true;
    device_.Upload(slot, begin, size);
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
    device_.Wait(piece % kPipelineSlots, 0);
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
    ResultBlocks to = to_;
    to.results = to.results.subspan(First(piece) * plan_.per_row, Numbers(piece));
    Write(device_.Wait(slot, buffer), begin, size, to);
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
          failed_ = true;  // nobody waits for what will not come
          throw;
        }
      }
    });
  }

  PipelineDevice<Number>& device_;
  const RowBlock& rows_;
  std::size_t threads_;
  const ResultBlocks& to_;
  PipelinePlan plan_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> missing_ = false;  // a value of the piece that is sent
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

}  // namespace retable::treeshap
