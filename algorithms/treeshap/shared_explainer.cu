#include "algorithms/treeshap/shared_explainer.cuh"

#include <algorithm>
#include <span>
#include <vector>

namespace retable::treeshap {

namespace {

constexpr std::size_t kTableBytes = std::size_t{8} << 30;  // of classes, in the worst case
// Ranges of a batch: times 40 blocks of rows, four waves; fewer where a range's sums are wide.
constexpr std::size_t RangesOf(std::uint32_t features) {
  return features > 96 ? 12 : 54;
}

struct Batch {
  std::uint32_t first_unit = 0;
  std::uint32_t units = 0;
  std::uint32_t first_range = 0;
  std::uint32_t ranges = 0;
  std::uint32_t first_order = 0;
  std::uint32_t first_group = 0;  // of its groups + 1 entries
  std::size_t width = 0;          // of one row in the table: the units' widths
};

struct SharedTape {
  int points = 4;
  int slots = 0, unit_slots = 0;
  std::uint32_t unit_features = 0, key_words = 0, unit_length = 0;
  DeviceArray<Float4> words, unit_words;
  DeviceArray<Unit> units;
  DeviceArray<std::uint32_t> feature_lists, keys, order, group_begin;
  DeviceArray<TapeRange> ranges;
  std::vector<Batch> batches;
};

// A node of the tree that orders the rows.
struct OrderNode {
  std::int32_t feature;  // -1: a leaf, `left` is its number
  float threshold;
  std::int32_t left, right;
  std::int32_t missing_left;
};

constexpr std::uint32_t kOrderThreads = 1024;
constexpr std::uint32_t kMostBuckets = 8192;

__global__ void FindLeaves(const OrderNode* tree, const float* rows, std::uint32_t count,
                           std::uint32_t features, std::uint16_t* leaf) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count) return;
  OrderNode at = tree[0];
  while (at.feature >= 0) {
    const float x = rows[static_cast<std::size_t>(row) * features + at.feature];
    const bool left = x != x ? at.missing_left != 0 : x < at.threshold;
    at = tree[left ? at.left : at.right];
  }
  leaf[row] = static_cast<std::uint16_t>(at.left);
}

// A counting sort by one block. Rows of one leaf come in any order: no result depends on it. A lane
// carries two neighbouring places: these hold rows 32 apart, so that the rows that a warp reads at
// once are next to each other.
__global__ void __launch_bounds__(kOrderThreads)
    SortByLeaf(const std::uint16_t* leaf, std::uint32_t count, std::uint32_t* order) {
  __shared__ std::uint32_t buckets[kMostBuckets];
  __shared__ std::uint32_t totals[kOrderThreads];
  for (std::uint32_t i = threadIdx.x; i < kMostBuckets; i += kOrderThreads) buckets[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < count; i += kOrderThreads)
    atomicAdd(buckets + leaf[i], 1u);
  __syncthreads();
  constexpr std::uint32_t kEach = kMostBuckets / kOrderThreads;
  std::uint32_t* mine = buckets + threadIdx.x * kEach;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < kEach; ++i) sum += mine[i];
  totals[threadIdx.x] = sum;
  __syncthreads();
  for (std::uint32_t step = 1; step < kOrderThreads; step *= 2) {
    const std::uint32_t before = threadIdx.x >= step ? totals[threadIdx.x - step] : 0;
    __syncthreads();
    totals[threadIdx.x] += before;
    __syncthreads();
  }
  std::uint32_t begin = totals[threadIdx.x] - sum;
  for (std::uint32_t i = 0; i < kEach; ++i) {
    const std::uint32_t size = mine[i];
    mine[i] = begin;
    begin += size;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < count; i += kOrderThreads) {
    const std::uint32_t rank = atomicAdd(buckets + leaf[i], 1u);
    const std::uint32_t within = rank % 64;
    const bool whole = rank - within + 64 <= count;
    order[whole ? rank - within + within % 32 * 2 + within / 32 : rank] = i;
  }
}

std::vector<OrderNode> OrderTree(const AnnotatedTree& tree) {
  std::vector<OrderNode> nodes;
  std::int32_t leaves = 0;
  const auto count = static_cast<std::int32_t>(tree.nodes.size() + 1) / 2;
  for (const AnnotatedNode& node : tree.nodes) {
    if (node.feature >= 0) {
      nodes.push_back({node.feature, node.threshold, node.left, node.right, node.missing_left});
    } else {
      // Neighbouring leaves share a bucket where there are more leaves than buckets.
      const std::int64_t bucket = std::int64_t{leaves++} * kMostBuckets / std::max(count, 1);
      nodes.push_back({-1, 0, static_cast<std::int32_t>(bucket), -1, 0});
    }
  }
  return nodes;
}

// The segments of a tape cut into batches and these into ranges.
class BatchPlanner {
 public:
  BatchPlanner(const Tape& tape, const AnnotatedModel& model)
      : tape_(tape),
        groups_(model.groups),
        most_ranges_(RangesOf(static_cast<std::uint32_t>(model.features))) {}

  void Run(SharedTape& out) {
    for (std::size_t first = 0; first < tape_.segments.size();) {
      std::size_t width = 0;
      std::size_t last = first;
      while (last < tape_.segments.size()) {
        const std::size_t more = Width(tape_.segments[last]);
        if (last > first && (width + more) * kGroupedRows * sizeof(Float4) > kTableBytes) break;
        width += more;
        ++last;
      }
      AddBatch(first, last, width, out);
      first = last;
    }
    out.ranges = DeviceArray<TapeRange>(std::span<const TapeRange>(ranges_));
    out.order = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(order_));
    out.group_begin = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(group_begin_));
  }

 private:
  std::size_t Width(const TapeSegment& segment) const {
    std::size_t width = 0;
    for (std::size_t u = 0; u < segment.units; ++u) {
      width += ClassWidth(tape_.points, tape_.units[segment.first_unit + u].own);
    }
    return width;
  }

  void AddBatch(std::size_t first, std::size_t last, std::size_t width, SharedTape& out) {
    Batch batch;
    batch.first_unit = static_cast<std::uint32_t>(tape_.segments[first].first_unit);
    batch.width = width;
    batch.first_range = static_cast<std::uint32_t>(ranges_.size());
    batch.first_order = static_cast<std::uint32_t>(order_.size());
    batch.first_group = static_cast<std::uint32_t>(group_begin_.size());
    std::size_t chunks = 0;
    for (std::size_t s = first; s < last; ++s) chunks += tape_.segments[s].chunks;
    const std::size_t per_range =
        std::max<std::size_t>(1, (chunks + most_ranges_ - 1) / most_ranges_);
    std::vector<std::int32_t> groups;
    for (std::size_t s = first; s < last; ++s) {
      const TapeSegment& segment = tape_.segments[s];
      batch.units += static_cast<std::uint32_t>(segment.units);
      const bool open = !groups.empty() && groups.back() == segment.group &&
                        ranges_.back().chunks + segment.chunks <= per_range;
      if (!open) {
        ranges_.push_back({static_cast<std::uint32_t>(segment.first_chunk), 0});
        groups.push_back(segment.group);
      }
      ranges_.back().chunks += static_cast<std::uint32_t>(segment.chunks);
    }
    batch.ranges = static_cast<std::uint32_t>(groups.size());
    group_begin_.push_back(0);
    for (std::int32_t g = 0; g < groups_; ++g) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i] == g) order_.push_back(static_cast<std::uint32_t>(i));
      }
      group_begin_.push_back(static_cast<std::uint32_t>(order_.size()) - batch.first_order);
    }
    out.batches.push_back(batch);
  }

  const Tape& tape_;
  std::int32_t groups_;
  std::size_t most_ranges_;
  std::vector<TapeRange> ranges_;
  std::vector<std::uint32_t> order_, group_begin_;
};

}  // namespace

struct SharedQuadrature::State {
  std::uint32_t features = 0, groups = 1;
  bool usable = false;
  std::vector<SharedTape> tapes;
  DeviceArray<float> thresholds;
  DeviceArray<std::uint32_t> begin;
  // Grown to the largest batch.
  DeviceArray<std::uint16_t> ranks, classes;
  DeviceArray<std::uint32_t> members, bases, counters;
  DeviceArray<UnitItem> items;
  DeviceArray<float4> table;
  DeviceArray<double> partial;
  // The first tree, and the rows in the order of its leaves.
  DeviceArray<OrderNode> order_tree;
  DeviceArray<std::uint16_t> leaves;
  DeviceArray<std::uint32_t> order;

  void Reserve(std::uint32_t rows, std::uint32_t stride) {
    ranks.Reserve(std::size_t{features} * stride);
    for (const SharedTape& tape : tapes) {
      const auto per_item = static_cast<std::uint32_t>(32 * RowsPerLane(tape.points));
      for (const Batch& batch : tape.batches) {
        classes.Reserve(std::size_t{batch.units} * stride);
        members.Reserve(std::size_t{batch.units} * rows);
        bases.Reserve(batch.units);
        items.Reserve(std::size_t{batch.units} * ((rows + per_item - 1) / per_item));
        table.Reserve(batch.width * rows);
        partial.Reserve(std::size_t{batch.ranges} * features * stride);
      }
    }
    counters.Reserve(kUnitCounters);
  }

  void RunBatch(const SharedTape& tape, const Batch& batch, const float* x, std::uint32_t rows,
                std::uint32_t stride, KernelKind kind, double* out, cudaStream_t stream) {
    CheckCuda(cudaMemsetAsync(counters.data(), 0, kUnitCounters * sizeof(std::uint32_t), stream),
              "memset");
    CheckCuda(
        cudaMemsetAsync(partial.data(), 0,
                        std::size_t{batch.ranges} * features * stride * sizeof(double), stream),
        "memset");
    if (batch.units > 0) Units(tape, batch, x, rows, stride, kind, stream);
    QuadratureLaunch launch;
    launch.features = features;
    launch.kind = kind;
    launch.rows_per_lane = SharedRowsPerLane(tape.points, kind);
    PlaceStack(tape.points, tape.slots, launch);
    launch.words = tape.words.data();
    launch.ranges = tape.ranges.data() + batch.first_range;
    launch.range_count = batch.ranges;
    launch.x = x;
    launch.partial = partial.data();
    launch.stride = stride;
    launch.first_unit = batch.first_unit;
    launch.classes = classes.data();
    launch.bases = bases.data();
    launch.table = table.data();
    LaunchQuadrature(tape.points, launch, stream);
    LaunchReduce(partial.data(), tape.order.data() + batch.first_order,
                 tape.group_begin.data() + batch.first_group, order.data(), features, stride, rows,
                 groups, out, stream);
  }

  void Units(const SharedTape& tape, const Batch& batch, const float* x, std::uint32_t rows,
             std::uint32_t stride, KernelKind kind, cudaStream_t stream) {
    GroupingLaunch grouping;
    grouping.units = tape.units.data() + batch.first_unit;
    grouping.keys = tape.keys.data();
    grouping.ranks = ranks.data();
    grouping.rows = rows;
    grouping.stride = stride;
    grouping.unit_count = batch.units;
    grouping.key_words = tape.key_words;
    grouping.item_classes = static_cast<std::uint32_t>(32 * RowsPerLane(tape.points));
    grouping.missing = kind != KernelKind::kPlain && kind != KernelKind::kPlainMany;
    grouping.classes = classes.data();
    grouping.members = members.data();
    grouping.bases = bases.data();
    grouping.items = items.data();
    grouping.counters = counters.data();
    LaunchGrouping(grouping, stream);
    UnitLaunch units;
    units.units = grouping.units;
    units.words = tape.unit_words.data();
    units.feature_lists = tape.feature_lists.data();
    units.x = x;
    units.stride = stride;
    units.slots = static_cast<std::uint32_t>(tape.unit_slots);
    units.features = tape.unit_features;
    units.unit_words = tape.unit_length;
    units.missing = grouping.missing;
    units.members = members.data();
    units.bases = bases.data();
    units.items = items.data();
    units.counters = counters.data();
    units.table = table.data();
    LaunchUnits(tape.points, units, stream);
  }
};

SharedQuadrature::~SharedQuadrature() = default;

bool SharedQuadrature::usable() const {
  return state_->usable;
}

SharedQuadrature::SharedQuadrature(const AnnotatedModel& model, TapeOptions options,
                                   std::int32_t unit_leaves)
    : state_(std::make_unique<State>()) {
  state_->features = static_cast<std::uint32_t>(model.features);
  state_->groups = static_cast<std::uint32_t>(model.groups);
  options.unit_leaves = unit_leaves;
  options.segment_words = 512;
  // Few tapes: each is a chain of kernels of its own.
  options.points = {4, 6, 8};
  TapeSet set = CompileTapes(model, options);
  if (!set.ranks.fits()) return;
  state_->thresholds = DeviceArray<float>(set.ranks.thresholds());
  state_->begin = DeviceArray<std::uint32_t>(set.ranks.begin());
  if (!model.trees.empty()) {
    const auto nodes = OrderTree(model.trees[0]);
    state_->order_tree = DeviceArray<OrderNode>(std::span<const OrderNode>(nodes));
  }
  for (const Tape& tape : set.tapes) {
    SharedTape out;
    out.points = tape.points;
    out.slots = tape.slots;
    out.unit_slots = tape.unit_slots;
    out.unit_features = tape.most_unit_features;
    out.key_words = tape.most_key_words;
    out.unit_length = tape.most_unit_words;
    out.words = DeviceArray<Float4>(std::span<const Float4>(tape.words));
    out.unit_words = DeviceArray<Float4>(std::span<const Float4>(tape.unit_words));
    out.units = DeviceArray<Unit>(std::span<const Unit>(tape.units));
    out.feature_lists =
        DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(tape.unit_features));
    out.keys = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(tape.unit_keys));
    BatchPlanner(tape, model).Run(out);
    state_->usable = state_->usable || !tape.units.empty();
    state_->tapes.push_back(std::move(out));
  }
}

const std::uint32_t* SharedQuadrature::OrderRows(const float* rows, std::uint32_t count,
                                                 cudaStream_t stream) {
  State& s = *state_;
  s.leaves.Reserve(kGroupedRows);
  s.order.Reserve(kGroupedRows);
  FindLeaves<<<(count + 63) / 64, 64, 0, stream>>>(s.order_tree.data(), rows, count, s.features,
                                                   s.leaves.data());
  SortByLeaf<<<1, kOrderThreads, 0, stream>>>(s.leaves.data(), count, s.order.data());
  CheckCuda(cudaGetLastError(), "order of rows");
  return s.order.data();
}

void SharedQuadrature::Run(const float* x, std::uint32_t rows, std::uint32_t stride,
                           KernelKind kind, double* out, cudaStream_t stream) {
  State& s = *state_;
  s.Reserve(rows, stride);
  LaunchRanks(x, s.thresholds.data(), s.begin.data(), s.features, rows, stride, s.ranks.data(),
              stream);
  for (const SharedTape& tape : s.tapes) {
    for (const Batch& batch : tape.batches) {
      s.RunBatch(tape, batch, x, rows, stride, kind, out, stream);
    }
  }
}

}  // namespace retable::treeshap
