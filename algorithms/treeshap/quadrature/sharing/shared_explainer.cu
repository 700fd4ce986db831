#include "algorithms/treeshap/quadrature/sharing/shared_explainer.cuh"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/treeshap/host/row_kernels.cuh"
#include "algorithms/treeshap/host/side_by_side.cuh"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"
#include "algorithms/treeshap/quadrature/cuda/tape_ranges.hpp"
#include "algorithms/treeshap/quadrature/sharing/sort_rows.cuh"

namespace retable::treeshap {

namespace {

constexpr std::size_t RangesOf(std::size_t chunks) {
  return std::clamp<std::size_t>(chunks / kChunksPerRange, kMinBatchRanges, kMaxBatchRanges);
}

struct Batch {
  std::uint32_t first_subtree = 0;
  std::uint32_t subtrees = 0;
  std::uint32_t first_range = 0;
  std::uint32_t ranges = 0;
  std::uint32_t first_partial = 0;  // of the round's ranges
  std::size_t width = 0;            // of one row in the table: the subtrees' widths
};

// A tape with what its kernels write: tapes run side by side.
struct SharedTape : TapeStream, TapeSizes {
  DeviceArray<Float4> words, subtree_words;
  DeviceArray<SharedSubtree> subtrees;
  DeviceArray<std::uint32_t> feature_lists, keys;
  DeviceArray<TapeRange> ranges;
  std::vector<RangeSums> range_sums;
  std::vector<Batch> batches;
  // Grown to the largest batch.
  DeviceArray<std::uint16_t> classes;
  DeviceArray<std::uint32_t> representatives, bases, counters;
  DeviceArray<SubtreeItem> items;
  DeviceArray<float4> table;

  void Reserve(std::uint32_t rows, std::uint32_t stride) {
    const auto per_item = static_cast<std::uint32_t>(32 * ClassesPerLane(points));
    for (const Batch& batch : batches) {
      classes.Reserve(std::size_t{batch.subtrees} * stride);
      representatives.Reserve(std::size_t{batch.subtrees} * rows);
      bases.Reserve(batch.subtrees);
      items.Reserve(std::size_t{batch.subtrees} * ((rows + per_item - 1) / per_item));
      table.Reserve(batch.width * rows);
    }
    counters.Reserve(kSubtreeCounters);
  }
};

// Cuts the segments of a tape into batches, and these into ranges. `columns`: of sums, written
// once.
void PlanBatches(const Tape& tape, bool columns, SharedTape& out) {
  const std::size_t most_ranges = RangesOf(tape.words.size() / tape::kChunk);
  TapeRanges plan;
  for (std::span<const TapeSegment> rest(tape.segments); !rest.empty();) {
    const auto next = std::ranges::find_if(
        rest, [&](const TapeSegment& segment) { return segment.batch != rest[0].batch; });
    const auto segments = rest.first(static_cast<std::size_t>(next - rest.begin()));
    Batch batch;
    batch.first_subtree = static_cast<std::uint32_t>(segments[0].first_subtree);
    batch.first_range = static_cast<std::uint32_t>(plan.ranges.size());
    std::size_t chunks = 0;
    for (const TapeSegment& segment : segments) {
      chunks += segment.chunks;
      batch.subtrees += static_cast<std::uint32_t>(segment.subtrees);
    }
    for (std::uint32_t u = 0; u < batch.subtrees; ++u) {
      batch.width += tape.subtrees[batch.first_subtree + u].width;
    }
    plan.Append(segments, (chunks + most_ranges - 1) / most_ranges, columns);
    batch.ranges = static_cast<std::uint32_t>(plan.ranges.size()) - batch.first_range;
    out.batches.push_back(batch);
    rest = rest.subspan(segments.size());
  }
  out.ranges.Upload(plan.ranges);
  out.range_sums = std::move(plan.sums);
}

// Some rows and some subtrees of a tape, by which a call finds out whether its rows are alike.
class RowSample {
 public:
  //! `keys`: the tape's on the device
  void Choose(const Tape& tape, const DeviceArray<std::uint32_t>& keys) {
    std::vector<SharedSubtree> chosen;
    const std::size_t all = tape.subtrees.size();
    const std::size_t count = std::min<std::size_t>(all, kSampledSubtrees);
    width_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back(tape.subtrees[i * all / count]);
      width_ += chosen.back().width;
    }
    subtrees_ = DeviceArray<SharedSubtree>(std::span<const SharedSubtree>(chosen));
    launch_.keys = keys.data();
    launch_.rows = launch_.stride = kSampledRows;
    launch_.subtree_count = static_cast<std::uint32_t>(count);
    launch_.most_key_words = tape.max_key_words;
    launch_.classes_per_item = kSampledRows;
    launch_.output = {classes_.Reserve(count * kSampledRows),
                      representatives_.Reserve(count * kSampledRows), bases_.Reserve(count),
                      items_.Reserve(count), counters_.Zeros(kSubtreeCounters)};
    launch_.subtrees = subtrees_.data();
  }

  //! Enqueues the grouping of kSampledRows of the rows, spread evenly.
  void Ask(const DeviceBatch& rows, std::uint32_t features, const float* thresholds,
           const std::uint32_t* begin) {
    if (spread_over_ != rows.count) {
      std::vector<std::uint32_t> spread(kSampledRows);
      for (std::size_t i = 0; i < kSampledRows; ++i) {
        spread[i] = static_cast<std::uint32_t>(i * rows.count / kSampledRows);
      }
      spread_.Upload(spread);
      spread_over_ = rows.count;
    }
    launch_.ranks = ranks_.Reserve(std::size_t{features} * kSampledRows);
    launch_.missing = rows.missing;
    LaunchRanks({rows.rows, features, 1, spread_.data()}, thresholds, begin, features, kSampledRows,
                kSampledRows, ranks_.data(), rows.stream);
    LaunchGrouping(launch_, rows.stream);
    CopyInStream(found_.Reserve(kSubtreeCounters), counters_.data(), kSubtreeCounters,
                 cudaMemcpyDeviceToHost, rows.stream);
    answered_.Record(rows.stream);
    ClearInStream(counters_.data(), kSubtreeCounters, rows.stream);
  }

  //! Waits for it. @return row classes over rows, the mean of the subtrees by their widths
  double ClassShare() const {
    answered_.Wait();
    return found_.data()[kTableGroups] / (static_cast<double>(width_) * kSampledRows);
  }

 private:
  GroupingLaunch launch_;
  std::size_t width_ = 0;  // of all subtrees in the table
  std::uint32_t spread_over_ = 0;
  DeviceArray<SharedSubtree> subtrees_;
  DeviceArray<std::uint32_t> spread_, representatives_, bases_, counters_;
  DeviceArray<std::uint16_t> classes_, ranks_;
  DeviceArray<SubtreeItem> items_;
  PinnedArray<std::uint32_t> found_;
  CudaEvent answered_{cudaEventDisableTiming};
};

}  // namespace

struct SharedQuadrature::State {
  std::uint32_t features = 0, groups = 1;
  AccumulatorLayout layout = AccumulatorLayout::kPerFeature;
  bool usable = false;
  std::vector<std::unique_ptr<SharedTape>> tapes;
  std::vector<PartialSums> rounds;  // a batch of every tape that has one left
  DeviceArray<float> thresholds;
  DeviceArray<std::uint32_t> begin;
  DeviceArray<std::uint16_t> ranks;
  DeviceArray<double> partial;
  CudaEvent ready;
  RowSample sample;
  // The rows in the order of some trees' leaves.
  OrderTrees order_trees;  // nodes on the device
  DeviceArray<OrderNode> order_nodes;
  DeviceArray<std::uint32_t> order_keys, order;

  void PlanRounds() {
    std::size_t count = 0;
    for (const auto& tape : tapes) count = std::max(count, tape->batches.size());
    for (std::size_t r = 0; r < count; ++r) {
      std::vector<RangeSums> ranges;
      for (const auto& tape : tapes) {
        if (r >= tape->batches.size()) continue;
        Batch& batch = tape->batches[r];
        batch.first_partial = static_cast<std::uint32_t>(ranges.size());
        const auto first = tape->range_sums.begin() + batch.first_range;
        ranges.insert(ranges.end(), first, first + batch.ranges);
      }
      PartialSums round;
      round.Plan(ranges, features, groups, layout == AccumulatorLayout::kSlots);
      rounds.push_back(std::move(round));
    }
  }

  void Reserve(std::uint32_t rows, std::uint32_t stride) {
    ranks.Reserve(std::size_t{features} * stride);
    for (const auto& tape : tapes) tape->Reserve(rows, stride);
    for (const PartialSums& round : rounds) partial.Reserve(round.size(stride));
  }

  void RunBatch(SharedTape& tape, const Batch& batch, const PartialSums& round, const float* x,
                std::uint32_t rows, std::uint32_t stride, KernelVariant variant,
                cudaStream_t stream) {
    if (batch.subtrees > 0) RunSubtrees(tape, batch, x, rows, stride, variant, stream);
    QuadratureLaunch launch;
    launch.sizes.features = features;
    launch.sizes.columns = tape.accumulator_slots;
    launch.variant = variant;
    launch.variant.shares = true;
    ChooseSharedMemory(tape.points, tape.stack_slots, launch);
    launch.tape.words = tape.words.data();
    launch.tape.ranges = tape.ranges.data() + batch.first_range;
    launch.sizes.range_count = batch.ranges;
    launch.x = x;
    if (layout == AccumulatorLayout::kSlots) {
      launch.sums.columns = reinterpret_cast<float*>(partial.data());
    } else {
      launch.sums.partial = partial.data() + std::size_t{batch.first_partial} * features * stride;
    }
    launch.sums.lists = round.lists();
    launch.sums.list_begin = round.list_begin() + batch.first_partial;
    launch.sizes.stride = stride;
    launch.first_subtree = batch.first_subtree;
    launch.shared.classes = tape.classes.data();
    launch.shared.bases = tape.bases.data();
    launch.shared.table = tape.table.data();
    LaunchQuadrature(tape.points, launch, stream);
  }

  void RunSubtrees(SharedTape& tape, const Batch& batch, const float* x, std::uint32_t rows,
                   std::uint32_t stride, KernelVariant variant, cudaStream_t stream) {
    ClearInStream(tape.counters.data(), kSubtreeCounters, stream);
    SubtreeLaunch launch;
    launch.tapes = {tape.subtrees.data() + batch.first_subtree, tape.subtree_words.data(),
                    tape.feature_lists.data()};
    launch.x = x;
    launch.stride = stride;
    launch.sizes = {static_cast<std::uint32_t>(tape.subtree_stack_slots), tape.max_subtree_features,
                    tape.max_subtree_words};
    launch.missing = variant.general;
    ChooseTeams(tape.points, launch);
    launch.representatives = tape.representatives.data();
    launch.items = tape.items.data();
    launch.counters = tape.counters.data();
    launch.table = tape.table.data();
    GroupingLaunch grouping;
    grouping.subtrees = launch.tapes.subtrees;
    grouping.keys = tape.keys.data();
    grouping.ranks = ranks.data();
    grouping.rows = rows;
    grouping.stride = stride;
    grouping.subtree_count = batch.subtrees;
    grouping.most_key_words = tape.max_key_words;
    grouping.classes_per_item =
        static_cast<std::uint32_t>(32 * ClassesPerLane(tape.points)) * launch.team_warps;
    grouping.missing = variant.general;
    grouping.output = {tape.classes.data(), tape.representatives.data(), tape.bases.data(),
                       tape.items.data(), tape.counters.data()};
    LaunchGrouping(grouping, stream);
    LaunchSubtrees(tape.points, launch, stream);
  }
};

SharedQuadrature::~SharedQuadrature() = default;

bool SharedQuadrature::usable() const {
  return state_->usable;
}

SharedQuadrature::SharedQuadrature(const AnnotatedModel& model, std::int32_t subtree_leaves)
    : state_(std::make_unique<State>()) {
  state_->features = static_cast<std::uint32_t>(model.features);
  state_->groups = static_cast<std::uint32_t>(model.groups);
  TapeOptions options;
  options.subtree_leaves = subtree_leaves;
  state_->layout = ChooseAccumulatorLayout(model.features);
  options.batch_width = kTableBytes / (kGroupedRows * sizeof(Float4));
  options.segment_words = kSharedSegmentWords;  // what ranges are made of: they shall be even
  if (state_->layout == AccumulatorLayout::kSlots) {
    options.segment_words =
        std::max<std::size_t>(512, SplitCount(model) * 3 / 2 / kSlottedSegments);
  }
  // Few tapes: each is a chain of kernels of its own.
  options.points = {4, 6, 8};
  TapeSet set = CompileTapes(model, options);
  if (!set.ranks.fits()) return;
  state_->thresholds.Upload(set.ranks.thresholds());
  state_->begin.Upload(set.ranks.begin());
  // Where classes have few contributions, one tree is enough: each more takes time to sort.
  state_->order_trees =
      ChooseOrder(model, state_->layout == AccumulatorLayout::kSlots ? kOrderTrees : 1);
  state_->order_nodes.Upload(state_->order_trees.nodes);
  for (const Tape& tape : set.tapes) {
    auto out = std::make_unique<SharedTape>();
    static_cast<TapeSizes&>(*out) = tape;
    out->words.Upload(tape.words);
    out->subtree_words.Upload(tape.subtree_words);
    out->subtrees.Upload(tape.subtrees);
    out->feature_lists.Upload(tape.subtree_features);
    out->keys.Upload(tape.subtree_keys);
    PlanBatches(tape, state_->layout == AccumulatorLayout::kSlots, *out);
    state_->usable = state_->usable || !tape.subtrees.empty();
    state_->tapes.push_back(std::move(out));
  }
  state_->PlanRounds();
  if (!state_->usable || model.features <= kMostAlwaysShared) return;  // nobody asks
  const auto most = std::ranges::max_element(set.tapes, {},
                                             [](const Tape& tape) { return tape.subtrees.size(); });
  state_->sample.Choose(*most,
                        state_->tapes[static_cast<std::size_t>(most - set.tapes.begin())]->keys);
}

void SharedQuadrature::Ask(const DeviceBatch& rows) {
  State& s = *state_;
  s.sample.Ask(rows, s.features, s.thresholds.data(), s.begin.data());
}

bool SharedQuadrature::AreAlike() const {
  return state_->sample.ClassShare() <= kMostClasses;
}

const std::uint32_t* SharedQuadrature::OrderRows(const DeviceBatch& piece) {
  State& s = *state_;
  OrderLaunch launch;
  launch.nodes = s.order_nodes.data();
  std::copy_n(s.order_trees.roots, kOrderTrees, launch.roots);
  launch.trees = s.order_trees.count;
  launch.bits = s.order_trees.bits;
  launch.rows = piece.rows;
  launch.count = piece.count;
  launch.features = s.features;
  launch.keys = s.order_keys.Reserve(kGroupedRows);
  launch.order = s.order.Reserve(kGroupedRows);
  LaunchRowOrder(launch, piece.stream);
  return s.order.data();
}

bool SharedQuadrature::Run(const float* x, std::uint32_t stride, KernelVariant variant,
                           const DeviceBatch& to) {
  State& s = *state_;
  const std::uint32_t rows = to.count;
  const cudaStream_t stream = to.stream;
  float* const rounded = s.rounds.size() == 1 ? to.rounded : nullptr;
  s.Reserve(rows, stride);
  LaunchRanks({x, 1, stride}, s.thresholds.data(), s.begin.data(), s.features, rows, stride,
              s.ranks.data(), stream);
  for (std::size_t r = 0; r < s.rounds.size(); ++r) {
    const PartialSums& round = s.rounds[r];
    RunSideBySide(s.tapes, s.ready, stream, [&](SharedTape& tape, cudaStream_t own) {
      if (r >= tape.batches.size()) return;
      s.RunBatch(tape, tape.batches[r], round, x, rows, stride, variant, own);
    });
    round.Add(s.partial.data(), s.order.data(), stride, rows, r == 0, to.out, rounded, stream);
  }
  return rounded != nullptr;
}

}  // namespace retable::treeshap
