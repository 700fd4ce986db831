#include "algorithms/treeshap/pair_explainer.cuh"

#include <algorithm>

#include "algorithms/treeshap/pair_kernel.cuh"

namespace retable::treeshap {

namespace {

constexpr std::size_t kSharedLimit = 227 * 1024;
constexpr std::size_t kPairBytes = std::size_t{8} << 30;   // fixed-point sums at once
constexpr std::size_t kTableBytes = std::size_t{4} << 30;  // of classes, in the worst case
constexpr std::uint32_t kMostSharedFeatures = 16;
constexpr std::uint32_t kClassesOfItem = 32;

struct DevicePairTape {
  int points = 4;
  PairLaunch rows;  // what does not depend on the rows
  PairUnitLaunch units;
  std::vector<PairSegment> segments;
  std::vector<Unit> unit_list;
  DeviceArray<Float4> words, unit_words;
  DeviceArray<PairSegment> device_segments;
  DeviceArray<Unit> device_units;
  DeviceArray<std::uint32_t> feature_lists, keys;
  std::uint32_t key_words = 0;
};

// Consecutive segments of a tape.
struct PairBatch {
  std::size_t first = 0, count = 0;
  std::uint32_t first_unit = 0, units = 0;
  std::size_t width = 0;  // of one row in the table
};

std::vector<PairBatch> Batches(const DevicePairTape& tape, std::size_t rows) {
  std::vector<PairBatch> batches;
  for (std::size_t s = 0; s < tape.segments.size(); ++s) {
    const PairSegment& segment = tape.segments[s];
    std::size_t width = 0;
    for (std::uint32_t u = 0; u < segment.units; ++u) {
      width += tape.unit_list[segment.first_unit + u].width;
    }
    const bool fits =
        !batches.empty() && (batches.back().width + width) * rows * sizeof(float4) <= kTableBytes;
    if (!fits) batches.push_back({s, 0, segment.first_unit, 0, 0});
    batches.back().count += 1;
    batches.back().units += segment.units;
    batches.back().width += width;
  }
  return batches;
}

// Values, and both triangles, half to each, from the fixed-point sums.
void Scatter(const std::vector<unsigned long long>& sums, std::size_t features, std::size_t groups,
             std::size_t stride, std::size_t rows, double scale, std::span<double> phi,
             std::span<double> matrices) {
  const std::size_t side = features + 1;
  const auto* from = sums.data();
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < features; ++i) {
      for (std::size_t j = 0; j <= i; ++j, from += stride) {
        for (std::size_t r = 0; r < rows; ++r) {
          const double sum = static_cast<double>(static_cast<long long>(from[r])) / scale;
          if (i == j) {
            phi[(r * groups + g) * side + i] = sum;
            continue;
          }
          double* matrix = matrices.data() + (r * groups + g) * side * side;
          matrix[i * side + j] = matrix[j * side + i] = sum / 2;
        }
      }
    }
  }
}

}  // namespace

struct PairsOnDevice::State {
  std::size_t features = 0;
  std::size_t groups = 1;
  double scale = 1;
  std::vector<DevicePairTape> tapes;
  DeviceArray<std::uint32_t> sets, begin;
  DeviceArray<float> thresholds;
  // Grown to the largest call.
  DeviceArray<float> x;
  DeviceArray<unsigned long long> sums;
  DeviceArray<std::uint16_t> ranks, classes;
  DeviceArray<std::uint32_t> members, bases, counters;
  DeviceArray<UnitItem> items;
  DeviceArray<float4> table;

  void Upload(const PairTape& tape) {
    DevicePairTape out;
    out.points = tape.points;
    out.segments = tape.segments;
    out.unit_list = tape.units;
    out.words = DeviceArray<Float4>(std::span<const Float4>(tape.words));
    out.unit_words = DeviceArray<Float4>(std::span<const Float4>(tape.unit_words));
    out.device_segments = DeviceArray<PairSegment>(std::span<const PairSegment>(tape.segments));
    out.device_units = DeviceArray<Unit>(std::span<const Unit>(tape.units));
    out.feature_lists =
        DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(tape.unit_features));
    out.keys = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(tape.unit_keys));
    out.key_words = tape.most_key_words;
    out.rows.words = out.words.data();
    out.rows.sets = sets.data();
    out.rows.features = static_cast<std::uint32_t>(features);
    out.rows.slots = static_cast<std::uint32_t>(tape.slots);
    out.rows.shared_pairs = features <= kMostSharedFeatures ? 1 : 0;
    out.rows.scale = scale;
    if (PairSharedBytes(out.points, out.rows) > kSharedLimit) out.rows.shared_pairs = 0;
    out.units.words = out.unit_words.data();
    out.units.feature_lists = out.feature_lists.data();
    out.units.slots = static_cast<std::uint32_t>(tape.unit_slots);
    out.units.features = tape.most_unit_features;
    out.units.pairs = tape.most_unit_pairs;
    out.units.unit_words = tape.most_unit_words;
    if (PairSharedBytes(out.points, out.rows) > kSharedLimit ||
        PairUnitSharedBytes(out.points, out.units) > kSharedLimit) {
      throw std::invalid_argument("a tree is too deep for interactions on the GPU; use the CPU");
    }
    tapes.push_back(std::move(out));
  }

  void Reserve(const std::vector<PairBatch>& batches, std::size_t rows, std::size_t stride) {
    for (const PairBatch& batch : batches) {
      classes.Reserve(batch.units * stride);
      members.Reserve(batch.units * rows);
      bases.Reserve(batch.units);
      items.Reserve(batch.units * ((rows + kClassesOfItem - 1) / kClassesOfItem));
      table.Reserve(batch.width * rows);
    }
  }

  void RunBatch(const DevicePairTape& tape, const PairBatch& batch, std::uint32_t rows,
                std::uint32_t stride) {
    if (batch.units > 0) {
      CheckCuda(cudaMemsetAsync(counters.data(), 0, kUnitCounters * sizeof(std::uint32_t)),
                "memset");
      GroupingLaunch grouping;
      grouping.units = tape.device_units.data() + batch.first_unit;
      grouping.keys = tape.keys.data();
      grouping.ranks = ranks.data();
      grouping.rows = rows;
      grouping.stride = stride;
      grouping.unit_count = batch.units;
      grouping.key_words = tape.key_words;
      grouping.item_classes = kClassesOfItem;
      grouping.classes = classes.data();
      grouping.members = members.data();
      grouping.bases = bases.data();
      grouping.items = items.data();
      grouping.counters = counters.data();
      LaunchGrouping(grouping, nullptr);
      PairUnitLaunch units = tape.units;
      units.units = grouping.units;
      units.x = x.data();
      units.stride = stride;
      units.members = members.data();
      units.bases = bases.data();
      units.items = items.data();
      units.counters = counters.data();
      units.table = table.data();
      LaunchPairUnits(tape.points, units, nullptr);
    }
    PairLaunch launch = tape.rows;
    launch.segments = tape.device_segments.data() + batch.first;
    launch.segment_count = static_cast<std::uint32_t>(batch.count);
    launch.x = x.data();
    launch.out = sums.data();
    launch.stride = stride;
    launch.first_unit = batch.first_unit;
    launch.classes = classes.data();
    launch.bases = bases.data();
    launch.table = table.data();
    LaunchPairs(tape.points, launch, nullptr);
  }
};

PairsOnDevice::~PairsOnDevice() = default;

PairsOnDevice::PairsOnDevice(const TreeEnsemble& model, std::int32_t unit_leaves)
    : state_(std::make_unique<State>()) {
  const PairTapeSet set = CompilePairs(Annotate(model), unit_leaves);
  State& s = *state_;
  s.features = static_cast<std::size_t>(model.features);
  s.groups = static_cast<std::size_t>(model.groups);
  // |phi_ij| is at most four times the largest |leaf| of each tree: 2^58 units leave room beside
  // it.
  s.scale = set.bound > 0 ? 288230376151711744.0 / set.bound : 1.0;
  s.sets = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(set.sets));
  if (set.ranks.fits()) {
    s.thresholds = DeviceArray<float>(set.ranks.thresholds());
    s.begin = DeviceArray<std::uint32_t>(set.ranks.begin());
  }
  for (const PairTape& tape : set.tapes) s.Upload(tape);
  s.counters.Reserve(kUnitCounters);
}

double PairsOnDevice::Run(const RowBlock& rows, std::span<double> phi, std::span<double> matrices) {
  State& s = *state_;
  const std::size_t f = s.features;
  if (f == 0 || rows.rows == 0 || s.tapes.empty()) return 0;
  const std::size_t per_row = s.groups * f * (f + 1) / 2;
  const std::size_t at_once = std::clamp<std::size_t>(
      kPairBytes / (per_row * sizeof(unsigned long long)) / 32 * 32, 32, kGroupedRows / 32 * 32);
  const std::size_t matrix_size = s.groups * (f + 1) * (f + 1);
  double seconds = 0;
  for (std::size_t begin = 0; begin < rows.rows; begin += at_once) {
    const std::size_t count = std::min(at_once, rows.rows - begin);
    const std::size_t stride = (count + 31) / 32 * 32;
    std::vector<float> x(f * stride, 0.0f);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < f; ++i) x[i * stride + r] = ClampInfinity(rows.row(begin + r)[i]);
    }
    s.x.Upload(x);
    std::vector<unsigned long long> sums(per_row * stride);
    s.sums.Reserve(sums.size());
    s.ranks.Reserve(f * stride);
    for (const DevicePairTape& tape : s.tapes) s.Reserve(Batches(tape, count), count, stride);
    Event start;
    Event stop;
    start.Record(nullptr);
    CheckCuda(cudaMemsetAsync(s.sums.data(), 0, sums.size() * sizeof(sums[0])), "memset");
    const auto device_rows = static_cast<std::uint32_t>(count);
    const auto device_stride = static_cast<std::uint32_t>(stride);
    if (s.begin.size() > 0) {
      LaunchRanks(s.x.data(), s.thresholds.data(), s.begin.data(), static_cast<std::uint32_t>(f),
                  device_rows, device_stride, s.ranks.data(), nullptr);
    }
    for (const DevicePairTape& tape : s.tapes) {
      for (const PairBatch& batch : Batches(tape, count)) {
        s.RunBatch(tape, batch, device_rows, device_stride);
      }
    }
    stop.Record(nullptr);
    seconds += stop.SecondsSince(start);
    s.sums.Download(sums);
    const std::size_t values = s.groups * (f + 1);
    Scatter(sums, f, s.groups, stride, count, s.scale, phi.subspan(begin * values, count * values),
            matrices.subspan(begin * matrix_size, count * matrix_size));
  }
  return seconds;
}

}  // namespace retable::treeshap
