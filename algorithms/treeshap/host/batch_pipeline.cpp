#include "algorithms/treeshap/host/batch_pipeline.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/memory/streaming_copy.hpp"
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
constexpr std::size_t kOneThread = std::size_t{1} << 15;  // values and results of a small call
constexpr std::size_t kSampleChunk = 16;                  // rows
constexpr std::size_t kRowChunk = std::size_t{1} << 12;   // floats
constexpr std::size_t kUploadChunks = 64;                 // that travel at once

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

// How a thread waits for the others: busily while the call is young, since many calls take less
// time than to wake a thread. Later it sleeps for a little, and whichever thread wakes first takes
// the next step. Where several devices share the host that is soon: threads that are always busy
// take the time of those that work (H100, 2026-11-28).
class Patience {
 public:
  explicit Patience(bool shared)
      : busy_until_(std::chrono::steady_clock::now() + (shared ? kBusyShared : kBusyAlone)) {}

  void Wait() const {
    if (std::chrono::steady_clock::now() < busy_until_) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }

 private:
  static constexpr std::chrono::microseconds kBusyAlone{10'000}, kBusyShared{200}, kNap{20};
  std::chrono::steady_clock::time_point busy_until_;
};

// The threads take the steps of a call in one order, each when it is ready: rows of a piece are
// copied before results of the one before are written. One thread, the leader, makes all calls of
// the device, since several would wait for each other; it takes steps too where it would wait for
// them, and never sleeps.
template <class Number>
class PipelineRun {
 public:
  PipelineRun(PipelineDevice<Number>& device, const RowBlock& rows, std::size_t piece_rows,
              int threads, const ResultBlocks& to, std::size_t sampled,
              const PipelineLimits& limits)
      : device_(device),
        rows_(rows),
        threads_(std::min<std::size_t>(
            static_cast<std::size_t>(threads > 0 ? threads : AvailableThreads()), kMostThreads)),
        shared_(threads > 0 && threads < AvailableThreads()),
        to_(to),
        streaming_(OutgrowsCaches(to.results.size_bytes())) {
    plan_.pieces = Parts(rows.rows, piece_rows);
    plan_.piece_rows = Parts(rows.rows, plan_.pieces);
    plan_.sampled = sampled;
    plan_.columns = rows.columns;
    plan_.per_row = to.block * to.expected.size();
    const std::size_t numbers = plan_.piece_rows * plan_.per_row;
    plan_.chunk = std::clamp(Parts(numbers, 2 * threads_), limits.least_chunk, limits.most_chunk);
    plan_.chunk = std::clamp<std::size_t>(numbers, 1, plan_.chunk);
    plan_.buffers = std::min(Parts(numbers, plan_.chunk), limits.buffers);
    const std::size_t uploads = Parts(plan_.piece_rows * plan_.columns, kUploadChunks * kRowChunk);
    for (Slot& slot : slots_) {
      slot.copied = std::vector<std::atomic<std::size_t>>(uploads);
      slot.written = std::vector<std::atomic<std::size_t>>(plan_.buffers);
      slot.fetched = std::vector<std::size_t>(plan_.buffers);
    }
    Append(Kind::kSample, 0, Parts(sampled, kSampleChunk));
    for (std::size_t piece = 0; piece < plan_.pieces; ++piece) {
      Append(Kind::kRows, piece, RowChunks(piece));
      if (piece > 0) Append(Kind::kResults, piece - 1, Chunks(piece - 1));
    }
    Append(Kind::kResults, plan_.pieces - 1, Chunks(plan_.pieces - 1));
  }

  // To wake a thread takes as long as a small call: all are woken at once, or none.
  void Run() {
    device_.Begin(plan_);
    const bool alone = plan_.pieces == 1 && Values(0) + Numbers(0) <= kOneThread;
    const std::size_t workers = alone ? 1 : std::min(threads_, steps_);
    std::atomic<bool> led = false;
    ParallelFor(workers, shared_ || alone ? static_cast<int>(workers) : 0, [&](std::size_t) {
      try {
        const Patience patience(shared_);
        if (!led.exchange(true)) Lead();
        Until([&] { return next_ >= steps_; }, [&] { patience.Wait(); });
      } catch (const Failed&) {  // another thread throws why
      } catch (...) {
        failed_ = true;
        throw;
      }
    });
  }

 private:
  enum class Kind { kSample, kRows, kResults };
  // Steps of one kind and piece, a chunk each.
  struct Group {
    Kind kind;
    std::size_t piece;
    std::size_t first;  // step
  };
  struct Step {
    Kind kind;
    std::size_t piece, chunk;
  };
  struct Slot {
    std::vector<std::atomic<std::size_t>> copied;   // values of each upload
    std::vector<std::atomic<std::size_t>> written;  // how often each buffer's chunk was written
    std::vector<std::size_t> fetched;               // how often a chunk was fetched into it
    std::size_t next = 0;                           // chunk to fetch
    std::atomic<bool> missing = false;              // a value of the piece is NaN
  };
  struct Failed {};

  std::size_t First(std::size_t piece) const { return rows_.rows * piece / plan_.pieces; }
  std::size_t Count(std::size_t piece) const { return First(piece + 1) - First(piece); }
  std::size_t Numbers(std::size_t piece) const { return Count(piece) * plan_.per_row; }
  std::size_t Values(std::size_t piece) const { return Count(piece) * plan_.columns; }
  std::size_t RowChunks(std::size_t piece) const { return Parts(Values(piece), kRowChunk); }
  std::size_t Uploads(std::size_t piece) const { return Parts(RowChunks(piece), kUploadChunks); }
  std::size_t Chunks(std::size_t piece) const { return Parts(Numbers(piece), plan_.chunk); }
  Slot& SlotOf(std::size_t piece) { return slots_[piece % kPipelineSlots]; }

  void Append(Kind kind, std::size_t piece, std::size_t chunks) {
    if (chunks > 0) groups_.push_back({kind, piece, steps_});
    steps_ += chunks;
  }

  void Lead() {
    for (std::size_t piece = 0; piece < plan_.pieces; ++piece) {
      ParallelFor(1, [](std::size_t) {});  // where WithChecks may end the call
      Give(piece);
      if (piece > 0) Take(piece - 1);
    }
    Take(plan_.pieces - 1);
  }

  // Sends a piece as its rows are copied, and begins to fetch its results.
  void Give(std::size_t piece) {
    Slot& slot = SlotOf(piece);
    if (piece == 0 && plan_.sampled > 0) {
      Until([&] { return sampled_ == plan_.sampled; });
      device_.Ask(sample_missing_);
    }
    constexpr std::size_t kUpload = kUploadChunks * kRowChunk;
    for (std::size_t upload = 0; upload < Uploads(piece); ++upload) {
      const std::size_t count = std::min(kUpload, Values(piece) - upload * kUpload);
      Until([&] { return slot.copied[upload] == count; });
      slot.copied[upload] = 0;
      device_.Upload(piece % kPipelineSlots, upload * kUpload, count);
    }
    device_.Start(piece % kPipelineSlots, Count(piece), slot.missing.exchange(false));
    slot.next = 0;
    FetchNext(piece);
  }

  // Fetches chunks of results while there are buffers whose last chunk is written, in turn.
  void FetchNext(std::size_t piece) {
    for (Slot& slot = SlotOf(piece); slot.next < Chunks(piece); ++slot.next) {
      const std::size_t buffer = slot.next % plan_.buffers;
      if (slot.written[buffer].load(std::memory_order_acquire) < slot.fetched[buffer]) return;
      ++slot.fetched[buffer];
      const std::size_t begin = slot.next * plan_.chunk;
      device_.Fetch(piece % kPipelineSlots, buffer, begin,
                    std::min(plan_.chunk, Numbers(piece) - begin));
    }
  }

  // Fetches what is left of a piece's results, and publishes each chunk that has arrived.
  void Take(std::size_t piece) {
    for (std::size_t chunk = 0; chunk < Chunks(piece); ++chunk) {
      Until([&] {
        FetchNext(piece);
        return SlotOf(piece).next > chunk;
      });
      device_.Wait(piece % kPipelineSlots, chunk % plan_.buffers);
      Publish(piece, chunk + 1);
    }
    device_.Finish(piece % kPipelineSlots);
    Publish(piece + 1, 0);
  }

  void Publish(std::size_t pieces, std::size_t chunks) {
    arrived_.store({static_cast<std::uint32_t>(pieces), static_cast<std::uint32_t>(chunks)},
                   std::memory_order_release);
  }

  // Takes steps until the condition holds, or waits.
  template <class Condition, class Wait>
  void Until(const Condition& holds, const Wait& wait) {
    while (!holds()) {
      if (failed_) throw Failed{};
      if (!TakeStep()) wait();
    }
  }
  template <class Condition>
  void Until(const Condition& holds) {
    Until(holds, [] { std::this_thread::yield(); });
  }

  // @return false: the next step is not ready, or there is none
  bool TakeStep() {
    for (std::size_t number = next_; number < steps_;) {
      const Step step = StepAt(number);
      if (!IsReady(step)) return false;
      if (next_.compare_exchange_weak(number, number + 1)) {
        Do(step);
        return true;
      }
    }
    return false;
  }

  Step StepAt(std::size_t number) const {
    const auto behind = std::ranges::upper_bound(groups_, number, {}, &Group::first);
    const Group& group = *(behind - 1);
    return {group.kind, group.piece, number - group.first};
  }

  // Whether the slot's last rows have been used, or the results are here.
  bool IsReady(const Step& step) const {
    const Arrived arrived = arrived_.load(std::memory_order_acquire);
    if (step.kind == Kind::kResults) {
      return arrived.pieces > step.piece ||
             (arrived.pieces == step.piece && arrived.chunks > step.chunk);
    }
    return arrived.pieces + kPipelineSlots > step.piece;
  }

  void Do(const Step& step) {
    if (step.kind == Kind::kSample) {
      CopySample(step.chunk);
    } else if (step.kind == Kind::kRows) {
      CopyChunk(step.piece, step.chunk);
    } else {
      WriteChunk(step.piece, step.chunk);
    }
  }

  void CopySample(std::size_t chunk) {
    const std::size_t begin = chunk * kSampleChunk;
    const std::size_t end = std::min(begin + kSampleChunk, plan_.sampled);
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = rows_.slice(i * Count(0) / plan_.sampled, 1).values;
      if (CopyRows(row.data(), row.size(), device_.Sample() + i * row.size())) {
        sample_missing_ = true;
      }
    }
    sampled_.fetch_add(end - begin);
  }

  void CopyChunk(std::size_t piece, std::size_t chunk) {
    const auto values = rows_.slice(First(piece), Count(piece)).values;
    const std::size_t begin = chunk * kRowChunk;
    const auto part = values.subspan(begin, std::min(kRowChunk, values.size() - begin));
    Slot& slot = SlotOf(piece);
    if (CopyRows(part.data(), part.size(), device_.Rows(piece % kPipelineSlots) + begin)) {
      slot.missing = true;
    }
    slot.copied[chunk / kUploadChunks].fetch_add(part.size());
  }

  void WriteChunk(std::size_t piece, std::size_t chunk) {
    const std::size_t buffer = chunk % plan_.buffers;
    const std::size_t begin = chunk * plan_.chunk;
    const std::size_t size = std::min(plan_.chunk, Numbers(piece) - begin);
    const auto write = streaming_ ? StreamingWrite<Number> : Write<Number>;
    write(device_.Buffer(piece % kPipelineSlots, buffer), begin, size, to_,
          to_.results.data() + First(piece) * plan_.per_row + begin);
    SlotOf(piece).written[buffer].fetch_add(1, std::memory_order_release);
  }

  PipelineDevice<Number>& device_;
  const RowBlock& rows_;
  std::size_t threads_;
  bool shared_;  // other devices have the rest of the host's threads
  const ResultBlocks& to_;
  bool streaming_;
  PipelinePlan plan_;
  std::vector<Group> groups_;
  std::size_t steps_ = 0;
  std::atomic<std::size_t> next_ = 0;  // step
  Slot slots_[kPipelineSlots];
  std::atomic<std::size_t> sampled_ = 0;  // rows
  std::atomic<bool> sample_missing_ = false;
  // Results that are here: of so many pieces, and of the next one so many chunks.
  struct Arrived {
    std::uint32_t pieces, chunks;
  };
  std::atomic<Arrived> arrived_ = Arrived{};
  std::atomic<bool> failed_ = false;  // a thread, which ends the others
};

}  // namespace

template <class Number>
void RunPipeline(PipelineDevice<Number>& device, const RowBlock& rows, std::size_t piece_rows,
                 int threads, const ResultBlocks& to, std::size_t sampled,
                 const PipelineLimits& limits) {
  if (rows.rows == 0) return;
  if (piece_rows == 0) return WriteExpected(to);
  PipelineRun<Number>(device, rows, piece_rows, threads, to, sampled, limits).Run();
}

template void RunPipeline(PipelineDevice<float>&, const RowBlock&, std::size_t, int,
                          const ResultBlocks&, std::size_t, const PipelineLimits&);
template void RunPipeline(PipelineDevice<double>&, const RowBlock&, std::size_t, int,
                          const ResultBlocks&, std::size_t, const PipelineLimits&);

}  // namespace retable::treeshap
