// "Quadrature" on the GPU: the tape resident on the device, lanes are rows. Deterministic: a block
// owns its slice of the partial sums and these are added in a fixed order, by a schedule that
// depends on the model, the number of rows and whether they are alike.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/host/device_pipeline.hpp"
#include "algorithms/treeshap/host/row_kernels.cuh"
#include "algorithms/treeshap/host/sharded_explainer.hpp"
#include "algorithms/treeshap/host/side_by_side.cuh"
#include "algorithms/treeshap/interactions/explainer.cuh"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/cuda/launch.hpp"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"
#include "algorithms/treeshap/quadrature/cuda/tape_ranges.hpp"
#include "algorithms/treeshap/quadrature/sharing/shared_explainer.cuh"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"
#include "algorithms/treeshap/quadrature/tree_parts.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// A tape in device memory with its stream.
struct DeviceValueTape : TapeStream {
  Tape tape;
  DeviceArray<Float4> words;
  DeviceArray<TapeRange> ranges;
  std::size_t first_range = 0, range_count = 0;  // of the plan's
  std::size_t chunks = 0;
};

class DeviceQuadrature final : public TreeExplainer {
 public:
  //! `gpus`: how many of them share the host's threads.
  DeviceQuadrature(int device, int gpus, int threads, int share)
      : device_(SelectDevice(device)),
        threads_of_host_(std::max(1, AvailableThreads() / gpus)),
        threads_(threads),
        share_(share) {
    Require(threads == 0 || threads == 32 || threads == 64 || threads == 128,
            "threads is 0 (chosen), 32, 64 or 128");
  }

  void prepare(const TreeEnsemble& model) override {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    AnnotatedModel whole;
    ParallelFor(2, [&](std::size_t i) {
      if (i == 0) whole = Annotate(model);
      if (i == 1) model_ = model;
    });
    expected_ = whole.expected;
    for (auto& pairs : pairs_) pairs.reset();
    shape_.features = model.features;
    shape_.groups = model.groups;
    leaves_ = SplitCount(whole) + whole.trees.size();
    const bool small = leaves_ < kMinSharedLeaves;
    shared_.reset();
    const bool shares = share_ > 0 || (share_ < 0 && !small);
    TapeSet set;
    ParallelFor(2, [&](std::size_t i) {
      if (i == 0 && shares) {
        CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
        const std::int32_t leaves = share_ > 0 ? share_ : SharedSubtreeLeaves(whole.features);
        shared_ = std::make_unique<SharedQuadrature>(whole, leaves);
        if (!shared_->usable()) shared_.reset();
      }
      if (i == 1) {
        const AnnotatedModel annotated = CutTrees(
            whole, small ? kLeavesOfSmallPart : std::max(kLeavesOfPart, leaves_ / kPartsOfModel));
        TapeOptions options;
        options.segment_words = SegmentWords(annotated);
        if (small) OneTape(annotated, options);
        set = CompileTapes(annotated, options);
      }
    });
    categorical_ = !set.sets.empty();
    layout_ = set.layout;
    sets_ = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(set.sets));
    tapes_.clear();
    segments_ = 0;
    planned_ = 0;
    for (Tape& tape : set.tapes) {
      segments_ += tape.segments.size();
      auto on_device = std::make_unique<DeviceValueTape>();
      on_device->words.Upload(tape.words);
      on_device->tape = std::move(tape);
      on_device->chunks = on_device->tape.words.size() / tape::kChunk;
      tapes_.push_back(std::move(on_device));
    }
    RequireStackFits();
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    const ResultBlocks to{phi, features() + 1, expected_};
    const std::size_t at_once = Plan(rows.rows);
    seconds_ = pipeline_.Run(rows, at_once, threads_of_host_, to, asks_ ? kSampledRows : 0);
  }

  void values_on_device(const DeviceRows& rows) override {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    const std::size_t at_once = Plan(rows.rows);
    pipeline_.RunOnDevice(rows, features(), at_once, {{}, features() + 1, expected_});
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    seconds_ = Pairs(rows.rows).Run(rows, expected_, matrices);
  }

  void interactions_on_device(const DeviceRows& rows) override {
    Pairs(rows.rows).RunOnDevice(rows, expected_);
  }

  double device_seconds() const override { return seconds_; }

 private:
  // Plans a call once the device's last one is done. @return rows at once; 0: a model without
  // splits
  std::size_t Plan(std::size_t rows) {
    pipeline_.IdleOnDevice();
    if (tapes_.empty() || features() == 0) return 0;
    shares_ = Shares(rows);
    asks_ = shares_ && share_ < 0 && shape_.features > kMostAlwaysShared;
    const std::size_t at_once = RowsAtOnce(rows);
    if (!shares_ || asks_) MakePlan(at_once);
    return at_once;
  }

  // For so many rows, compiled at first use; their device is the current one.
  DeviceInteractions& Pairs(std::size_t rows) {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    const bool many = rows >= kMinSharedRows;
    std::unique_ptr<DeviceInteractions>& pairs = pairs_[many ? 1 : 0];
    if (pairs == nullptr) {
      const bool small = leaves_ < kManyLeaves;
      DerivativeOptions by_derivatives;
      if (small) by_derivatives.tile_leaves = 32;  // enough parts for all blocks
      pairs = ByDerivatives(many, small)
                  ? std::make_unique<DeviceInteractions>(model_, by_derivatives)
                  : std::make_unique<DeviceInteractions>(model_, Tiles(many));
    }
    return *pairs;
  }

  // Small models need small segments to spread over the blocks, large ones long segments.
  static std::size_t SegmentWords(const AnnotatedModel& model) {
    const std::size_t nodes = SplitCount(model);
    const std::size_t least =
        std::clamp(nodes * 7 / kSmallModelSegments, kLeastSegmentWords, std::size_t{256});
    if (ChooseAccumulatorLayout(model.features) == AccumulatorLayout::kSlots) {
      return std::max(least, nodes * 7 / kSlottedSegments);
    }
    return std::clamp<std::size_t>(nodes * 4 / 1024, least, 8192);
  }

  // Trees of all numbers of points in passes of the largest: launches side by side would take
  // longer than the points.
  static void OneTape(const AnnotatedModel& model, TapeOptions& options) {
    int most = 0;
    for (const AnnotatedTree& tree : model.trees) {
      most = std::max(most, FloatPoints(tree));
    }
    options.points = {Passes(most, options.points).front()};
  }

  // Few rows are seldom alike. Sums for the pairs of a subtree's features are in shared memory:
  // small subtrees where there are many.
  InteractionOptions Tiles(bool many) const {
    InteractionOptions options;
    if (share_ >= 0) {
      options.subtree_leaves = share_;
    } else if (many) {
      options = {.subtree_leaves = shape_.features <= 64 ? 16 : 8,
                 .tile_leaves = 97,
                 .tile_interactions = 160};
    }
    return options;
  }

  // Vectors of more features leave room for too few warps, and many rows are seldom all unlike.
  bool ByDerivatives(bool many, bool small) const {
    return share_ < 0 && !many && shape_.features <= (small ? derivatives::kMostFeatures : 10);
  }

  bool Shares(std::size_t rows) const {
    return shared_ != nullptr && (share_ > 0 || rows >= kMinSharedRows);
  }

  std::size_t features() const { return static_cast<std::size_t>(shape_.features); }

  // Few segments: each is a range, so that the order of summation depends on the model alone.
  std::size_t RangesFor(std::size_t rows) const {
    if (segments_ <= kFewSegments) return segments_;
    const std::size_t blocks = std::max<std::size_t>(1, rows / kRowPadding);
    // Sums with slots are written at the end of each segment, however many make a range.
    const std::size_t finer = layout_ == AccumulatorLayout::kSlots ? 2 : 1;
    return std::max<std::size_t>(tapes_.size(), finer * kTargetBlocks / blocks);
  }

  // Rows whose partial sums fit the memory set aside for them. Of a million rows some travel while
  // others are explained.
  std::size_t RowsAtOnce(std::size_t rows) const {
    std::size_t count = std::min<std::size_t>(std::max<std::size_t>(rows, 1), kMaxRowsAtOnce);
    const std::size_t numbers = features() + ValuesPerRow(shape_);  // that travel with a row
    if (rows * numbers >= kNumbersOfTwoPieces && leaves_ <= numbers * kLeavesOfTwoPieces) {
      count = std::min(count, (rows + 1) / 2);
    }
    if (shares_) {
      count = std::min<std::size_t>(count, MostGroupedRows());
      if (!asks_) return count;  // else perhaps without sharing
    }
    while (count > kRowPadding && count * BytesOfRow(count) > kPartialBytes) count /= 2;
    return count;
  }

  // Of sums and results, where so many rows are explained at once.
  std::size_t BytesOfRow(std::size_t rows) const {
    const std::size_t results = 2 * ValuesPerRow(shape_);  // as doubles, and as floats twice
    if (layout_ == AccumulatorLayout::kPerFeature) {
      return (RangesFor(rows) * features() + results) * sizeof(double);
    }
    std::size_t columns = 0;
    for (const auto& tape : tapes_) {
      for (const TapeSegment& segment : tape->tape.segments) columns += segment.features.size();
    }
    return columns * sizeof(float) + results * sizeof(double);
  }

  QuadratureLaunch Geometry(const DeviceValueTape& tape, KernelVariant variant,
                            std::size_t rows) const {
    QuadratureLaunch launch;
    launch.sizes.features = static_cast<std::uint32_t>(shape_.features);
    launch.sizes.columns = tape.tape.accumulator_slots;
    launch.variant = variant;
    launch.sizes.threads = static_cast<std::uint32_t>(
        threads_ > 0 ? threads_ : (rows >= Tuned(kRowsOfWideBlocks) ? kWideBlock : kNarrowBlock));
    ChooseSharedMemory(tape.tape.points, tape.tape.stack_slots, launch);
    return launch;
  }

  void RequireStackFits() const {
    for (const auto& tape : tapes_) {
      const KernelVariant variant{.general = true, .layout = layout_};
      const QuadratureLaunch launch = Geometry(*tape, variant, 1);
      Require(QuadratureSharedBytes(tape->tape.points, launch) <= SharedMemoryLimit(),
              "a tree needs ", tape->tape.stack_slots,
              " stack slots, more than shared memory holds; use the CPU");
    }
  }

  bool Explain(const DeviceBatch& piece) {
    const std::uint32_t stride = (piece.count + kRowPadding - 1) / kRowPadding * kRowPadding;
    x_.Reserve(features() * stride);
    const KernelVariant variant{.general = categorical_ || piece.missing, .layout = layout_};
    // Later pieces are taken for like the first.
    if (std::exchange(asks_, false)) {
      if (!piece.asked) shared_->Ask(piece);
      shares_ = shared_->AreAlike();
    }
    TransposeRows(piece.rows, shares_ ? shared_->OrderRows(piece) : nullptr, piece.count,
                  static_cast<std::uint32_t>(shape_.features), stride, x_.data(), piece.stream);
    if (shares_) return shared_->Run(x_.data(), stride, variant, piece);
    partial_.Reserve(sums_.size(stride));
    RunRows(variant, stride, piece);
    return piece.rounded != nullptr;
  }

  // Uploads the ranges and plans the order of summation, unless that is how it was.
  void MakePlan(std::size_t rows) {
    const std::size_t wanted = RangesFor(rows);
    if (planned_ == wanted) return;
    planned_ = 0;
    std::size_t chunks = 0;
    for (const auto& tape : tapes_) chunks += tape->chunks;
    std::vector<RangeSums> sums;
    for (const auto& tape : tapes_) {
      // As many as there are chunks: each segment alone.
      const std::size_t target = segments_ <= kFewSegments
                                     ? tape->chunks
                                     : std::max<std::size_t>(1, wanted * tape->chunks / chunks);
      TapeRanges plan;
      plan.Append(tape->tape.segments, (tape->chunks + target - 1) / target,
                  layout_ == AccumulatorLayout::kSlots);
      tape->first_range = sums.size();
      tape->range_count = plan.sums.size();
      sums.insert(sums.end(), plan.sums.begin(), plan.sums.end());
      tape->ranges.Upload(plan.ranges);
    }
    sums_.Plan(sums, static_cast<std::uint32_t>(shape_.features),
               static_cast<std::uint32_t>(shape_.groups), layout_ == AccumulatorLayout::kSlots);
    planned_ = wanted;
  }

  // Every node for every row.
  void RunRows(KernelVariant variant, std::uint32_t stride, const DeviceBatch& piece) {
    const bool slots = layout_ == AccumulatorLayout::kSlots;
    RunSideBySide(tapes_, ready_, piece.stream, [&](DeviceValueTape& tape, cudaStream_t stream) {
      QuadratureLaunch launch = Geometry(tape, variant, piece.count);
      launch.tape.words = tape.words.data();
      launch.tape.ranges = tape.ranges.data();
      launch.tape.sets = sets_.data();
      launch.x = x_.data();
      launch.sums.partial = partial_.data() + (slots ? 0 : tape.first_range * features() * stride);
      launch.sums.columns = reinterpret_cast<float*>(partial_.data());
      launch.sums.lists = sums_.lists();
      launch.sums.list_begin = sums_.list_begin() + tape.first_range;
      launch.sizes.stride = stride;
      launch.sizes.range_count = static_cast<std::uint32_t>(tape.range_count);
      LaunchQuadrature(tape.tape.points, launch, stream);
    });
    sums_.Add(partial_.data(), nullptr, stride, piece.count, true, piece.out, piece.rounded,
              piece.stream);
  }

  int device_;
  int threads_of_host_;
  int threads_;
  int share_;
  std::unique_ptr<SharedQuadrature> shared_;
  bool categorical_ = false;
  AccumulatorLayout layout_ = AccumulatorLayout::kPerFeature;
  std::size_t leaves_ = 0;
  TreeEnsemble model_;                            // for interactions, compiled at first use
  std::unique_ptr<DeviceInteractions> pairs_[2];  // for few rows and for many
  std::vector<double> expected_;
  std::vector<std::unique_ptr<DeviceValueTape>> tapes_;
  DeviceArray<std::uint32_t> sets_;
  PartialSums sums_;
  std::size_t segments_ = 0;
  std::size_t planned_ = 0;  // ranges, 0: none
  bool shares_ = false;      // the call that runs
  bool asks_ = false;        // whether its rows are alike is not known yet
  DeviceArray<float> x_;
  DeviceArray<double> partial_;
  CudaEvent ready_;
  DevicePipeline<float> pipeline_{false,
                                  [this](const DeviceBatch& piece) { return Explain(piece); },
                                  [this](const DeviceBatch& sample) { shared_->Ask(sample); }};
  double seconds_ = 0;
};

}  // namespace

RETABLE_REGISTER(
    TreeExplainer, quadrature_cuda,
    {.name = "Quadrature",
     .device = Device::kCuda,
     .summary = "exact Gauss-Legendre tree SHAP by sibling recurrence, lanes are rows",
     .citation = "Owen 1972; Wettenstein, Mitchell, Yu 2026; annotated_model.hpp",
     .parameters = {{"device", std::int64_t{0}, "index of the (first) GPU"},
                    {"gpus", std::int64_t{1}, "GPUs the rows are shared by"},
                    {"threads", std::int64_t{0}, "threads a block: 0 (chosen), 32, 64 or 128"},
                    {"share", std::int64_t{-1},
                     "leaves of the largest subtree shared by like rows; 0: none, -1: chosen"}},
     .make = [](const Parameters& p) -> std::unique_ptr<TreeExplainer> {
       std::vector<std::unique_ptr<TreeExplainer>> parts;
       const int first = IntParameter(p, "device", 0);
       const int gpus = IntParameter(p, "gpus", 1, 1);
       for (int i = 0; i < gpus; ++i) {
         parts.push_back(std::make_unique<DeviceQuadrature>(
             first + i, gpus, IntParameter(p, "threads", 0), IntParameter(p, "share", -1, -1)));
       }
       return ShardRows(std::move(parts));
     }});

}  // namespace retable::treeshap
