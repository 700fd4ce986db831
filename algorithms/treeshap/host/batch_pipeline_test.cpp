// Pieces, chunks, rings and threads of a call, on a device that is played by host memory.

#include "algorithms/treeshap/host/batch_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/parallel.hpp"

namespace retable::treeshap {
namespace {

// Result i of a row is the sum of the row's values plus i; the last of each block is nonsense.
template <class Number>
class Played final : public PipelineDevice<Number> {
 public:
  explicit Played(int fails_at = -1) : fails_at_(fails_at) {}

  void Begin(const PipelinePlan& plan) override {
    plan_ = plan;
    for (Slot& slot : slots_) {
      slot.host_rows.assign(plan.piece_rows * plan.columns, -1);
      slot.rows.assign(plan.piece_rows * plan.columns, -1);
      slot.buffers.assign(plan.buffers * plan.chunk, -1);
    }
    sample_.assign(plan.sampled * plan.columns, -1);
  }
  float* Sample() override { return sample_.data(); }
  void Ask(bool missing) override {
    asked_missing = missing;
    asked = sample_;
  }
  float* Rows(std::size_t slot) override { return slots_[slot].host_rows.data(); }
  void Upload(std::size_t slot, std::size_t begin, std::size_t count) override {
    Slot& s = slots_[slot];
    std::copy_n(s.host_rows.begin() + static_cast<std::ptrdiff_t>(begin), count,
                s.rows.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  void Start(std::size_t slot, std::size_t rows, bool missing) override {
    Slot& s = slots_[slot];
    EXPECT_EQ(s.left, 0u) << "results of an earlier piece are still on their way";
    s.left = rows * plan_.per_row;
    s.results.clear();
    bool found = false;
    for (std::size_t r = 0; r < rows; ++r) {
      Number sum = 0;
      for (std::size_t c = 0; c < plan_.columns; ++c) {
        const float x = s.rows[r * plan_.columns + c];
        found = found || std::isnan(x);
        EXPECT_FALSE(std::isinf(x));
        sum += std::isnan(x) ? Number{100} : Number{x};
      }
      for (std::size_t i = 0; i < plan_.per_row; ++i) {
        s.results.push_back(sum + static_cast<Number>(i));
      }
    }
    EXPECT_EQ(missing, found);
    ++pieces;
  }
  void Fetch(std::size_t slot, std::size_t buffer, std::size_t begin, std::size_t count) override {
    if (fetched_++ == fails_at_) throw std::runtime_error("the bus");
    Slot& s = slots_[slot];
    ASSERT_LE(count, plan_.chunk);
    std::copy_n(s.results.begin() + static_cast<std::ptrdiff_t>(begin), count,
                s.buffers.begin() + static_cast<std::ptrdiff_t>(buffer * plan_.chunk));
    s.left -= count;
  }
  void Wait(std::size_t, std::size_t) override {}
  const Number* Buffer(std::size_t slot, std::size_t buffer) override {
    return slots_[slot].buffers.data() + buffer * plan_.chunk;
  }
  void Finish(std::size_t slot) override { EXPECT_EQ(slots_[slot].left, 0u); }

  std::size_t pieces = 0;
  std::vector<float> asked;  // the sample
  bool asked_missing = false;

 private:
  struct Slot {
    std::vector<float> host_rows, rows;
    std::vector<Number> results, buffers;
    std::atomic<std::size_t> left = 0;
  };
  PipelinePlan plan_;
  std::vector<float> sample_;
  Slot slots_[kPipelineSlots];
  std::atomic<int> fetched_ = 0;
  int fails_at_;
};

struct Case {
  std::size_t rows, columns, outputs, piece_rows, sampled = 0;
};

// The sample has the rows at even distances of the first piece.
template <class Number>
void ExpectSample(const Case& c, const std::vector<float>& values, const Played<Number>& device) {
  const std::size_t first = c.rows / ((c.rows + c.piece_rows - 1) / c.piece_rows);
  std::vector<float> want;
  bool missing = false;
  for (std::size_t i = 0; i < c.sampled; ++i) {
    for (std::size_t j = 0; j < c.columns; ++j) {
      const float x = values[i * first / c.sampled * c.columns + j];
      missing = missing || std::isnan(x);
      want.push_back(std::isnan(x) ? -7 : ClampInfinity(x));
    }
  }
  std::vector<float> got = device.asked;
  std::ranges::replace_if(
      got, [](float x) { return std::isnan(x); }, -7.0f);
  EXPECT_EQ(got, want);
  EXPECT_EQ(device.asked_missing, missing);
}

template <class Number>
void ExpectAll(const Case& c, int threads, const PipelineLimits& limits) {
  std::vector<float> values(c.rows * c.columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  if (c.rows > 3) values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  if (c.rows > 5) values.back() = std::numeric_limits<float>::infinity();
  std::vector<double> expected(c.outputs);
  for (std::size_t g = 0; g < c.outputs; ++g) expected[g] = 0.1 * static_cast<double>(g + 1);
  const std::size_t block = c.columns + 1;
  std::vector<double> got(c.rows * c.outputs * block, -7.0);
  Played<Number> device;
  RunPipeline<Number>(device, {values, c.rows, c.columns}, c.piece_rows, threads,
                      {got, block, expected}, c.sampled, limits);
  if (c.sampled > 0) ExpectSample(c, values, device);
  EXPECT_EQ(device.pieces, (c.rows + c.piece_rows - 1) / c.piece_rows);
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < c.rows; ++r) {
    Number sum = 0;
    for (std::size_t i = 0; i < c.columns; ++i) {
      const float x = values[r * c.columns + i];
      sum += std::isnan(x) ? Number{100} : Number{ClampInfinity(x)};
    }
    for (std::size_t i = 0; i < c.outputs * block; ++i) {
      const double want = (i + 1) % block == 0 ? expected[i / block]
                                               : static_cast<double>(sum + static_cast<Number>(i));
      wrong += got[r * c.outputs * block + i] == want ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0u) << c.rows << " rows of " << c.columns << ", " << threads << " threads";
}

TEST(Pieces, EveryNumberComesToItsPlace) {
  const Case cases[] = {
      {0, 3, 1, 5},
      {1, 3, 2, 5},
      {17, 3, 2, 5},
      {1, 1, 1, 1},
      {60000, 8, 1, 21001},   // several chunks of rows and results a piece
      {9000, 20, 3, 9000},    // one piece
      {17600, 20, 3, 17600},  // and no small call
      {300, 784, 2, 140},
      {65537, 8, 1, 32769},      // the second piece has an upload more than the first
      {9000, 20, 3, 9000, 768},  // with samples, the last of more rows than there are
      {30000, 5, 1, 9001, 100},
      {11, 2, 1, 11, 19}};
  for (const Case& c : cases) {
    for (const int threads : {1, 2, 0}) {
      ExpectAll<float>(c, threads, {});
      ExpectAll<float>(c, threads, {1, 500, 3});  // rings are passed through many times
      ExpectAll<double>(c, threads, {100, 5000, 4});
    }
  }
}

TEST(Pieces, RowsAloneAreSent) {
  for (const std::size_t piece : {20000, 3000}) {
    const std::vector<float> values(20000 * 8, 1.0f);
    Played<double> device;
    RunPipeline<double>(device, {values, 20000, 8}, piece, 2, {});
    EXPECT_EQ(device.pieces, (20000 + piece - 1) / piece);
  }
}

TEST(Pieces, AnErrorEndsTheCall) {
  std::vector<float> values(20000 * 8);
  std::vector<double> got(20000 * 9);
  const std::vector<double> expected = {0.0};
  for (const int at : {0, 2, 5}) {
    Played<float> device(at);
    EXPECT_THROW(RunPipeline<float>(device, {values, 20000, 8}, 9000, 2, {got, 9, expected}),
                 std::runtime_error);
  }
}

TEST(Pieces, ACheckEndsTheCallBetweenPieces) {
  const std::vector<float> values(30000 * 8);
  std::vector<double> got(30000 * 9);
  const std::vector<double> expected = {0.0};
  Played<float> device;
  int checks = 0;
  const auto check = [&] {
    if (++checks == 3) throw std::runtime_error("stop");
  };
  const auto call = [&] {
    RunPipeline<float>(device, {values, 30000, 8}, 10000, 1, {got, 9, expected});
  };
  EXPECT_THROW(WithChecks(check, call), std::runtime_error);
  EXPECT_EQ(device.pieces, 1u);  // a check of the loop over threads, then one a piece
}

TEST(Pieces, ExpectedValuesAlone) {
  std::vector<double> got(12, 7.0);
  const std::vector<double> expected = {1.0, 2.0};
  Played<float> device;
  RunPipeline<float>(device, {std::vector<float>(4), 2, 2}, 0, 1, {got, 3, expected});
  EXPECT_EQ(got, (std::vector<double>{0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(device.pieces, 0u);
}

}  // namespace
}  // namespace retable::treeshap
