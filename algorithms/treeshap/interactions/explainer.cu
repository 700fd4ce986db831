#include "algorithms/treeshap/interactions/explainer.cuh"

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/treeshap/host/device_pipeline.cuh"
#include "algorithms/treeshap/interactions/ancestor/kernel.cuh"
#include "algorithms/treeshap/interactions/derivative/kernel.cuh"
#include "algorithms/treeshap/interactions/matrices.hpp"

namespace retable::treeshap {

namespace {

constexpr std::size_t kSharedLimit = 226 * 1024;  // beside a kernel's own few words
constexpr std::uint32_t kClassesOfItem = 32;
constexpr std::size_t kFewBytes = std::size_t{1} << 28;  // that any device has

// What all kernels of a call take.
struct PairCall {
  const float* x = nullptr;
  const std::uint16_t* ranks = nullptr;
  const std::uint32_t* sets = nullptr;
  std::uint32_t rows = 0, stride = 0;
  bool missing = false, general = false;
  float scale[2] = {1, 1};
  unsigned long long* out = nullptr;
};

// A tape in device memory, with what its kernels write: sizes run side by side.
struct DeviceTape {
  CudaStream stream;
  CudaEvent done;

  virtual ~DeviceTape() = default;
  // The most that a row may need, and what is held.
  virtual std::size_t BytesOfRow() const = 0;
  virtual std::size_t BytesHeld() const = 0;
  virtual void Reserve(std::uint32_t rows, std::uint32_t stride) = 0;
  virtual void Launch(const PairCall& call) = 0;

 protected:
  static void Clear(DeviceArray<std::uint32_t>& counts, std::size_t count, cudaStream_t stream) {
    CheckCuda(cudaMemsetAsync(counts.data(), 0, count * sizeof(std::uint32_t), stream), "memset");
  }
};

// The part of a launch that is the call's.
template <class AnyLaunch>
void Fill(const PairCall& call, AnyLaunch& launch) {
  launch.general = call.general;
  launch.sets = call.sets;
  launch.x = call.x;
  launch.out = call.out;
}

struct DeviceDerivativeTape final : DeviceTape {
  int points = 4;
  DerivativeLaunch launch;
  std::size_t vectors = 0;
  DeviceArray<Float4> words;
  DeviceArray<DerivativePart> parts;
  DeviceArray<float> below;
  DeviceArray<std::uint32_t> progress;

  explicit DeviceDerivativeTape(const DerivativeTape& tape)
      : points(tape.points),
        vectors(tape.vectors),
        words(std::span<const Float4>(tape.words)),
        parts(std::span<const DerivativePart>(tape.parts)) {
    launch.parts = parts.data();
    launch.count = static_cast<std::uint32_t>(tape.parts.size());
    launch.sizes = tape.sizes;
    launch.words = words.data();
  }

  std::size_t BytesOfRow() const override {
    return vectors * static_cast<std::size_t>(points) * sizeof(float);
  }
  std::size_t BytesHeld() const override { return below.size() * sizeof(float); }

  void Reserve(std::uint32_t, std::uint32_t stride) override {
    launch.stride = stride;
    launch.below = below.Reserve(vectors * static_cast<std::size_t>(points) * stride);
    launch.progress = progress.Reserve(ProgressCount());
  }

  std::size_t ProgressCount() const { return 1 + launch.count * std::size_t{launch.stride / 32}; }

  void Launch(const PairCall& call) override {
    Fill(call, launch);
    launch.scale = call.scale[0] * call.scale[1];
    Clear(progress, ProgressCount(), stream.get());
    LaunchDerivatives(points, launch, stream.get());
  }
};

struct DevicePairTape final : DeviceTape {
  int points = 4;
  bool wide = false;
  PairLaunch rows;  // what depends on neither level nor rows
  PairUnitLaunch units;
  GroupingLaunch grouping;
  std::size_t unit_width = 0, part_count = 0;
  DeviceArray<Float4> words, unit_words;
  DeviceArray<PairPart> parts, unit_parts;
  DeviceArray<SharedSubtree> device_units;
  DeviceArray<std::uint32_t> unit_keys;
  DeviceArray<std::uint16_t> classes;
  DeviceArray<std::uint32_t> members, bases, counters;
  DeviceArray<SubtreeItem> items;
  DeviceArray<float4> table;
  DeviceArray<float> below;
  DeviceArray<std::uint32_t> progress;

  // Every row a class of its own.
  std::size_t BytesOfRow() const override {
    return unit_width * sizeof(float4) +
           grouping.subtree_count * (sizeof(std::uint16_t) + sizeof(std::uint32_t)) +
           part_count * static_cast<std::size_t>(points) * sizeof(float);
  }

  std::size_t BytesHeld() const override {
    return table.size() * sizeof(float4) + below.size() * sizeof(float);
  }

  explicit DevicePairTape(const PairTape& tape)
      : points(tape.points),
        wide(tape.wide),
        unit_width(tape.unit_width),
        part_count(tape.parts.size()),
        words(std::span<const Float4>(tape.words)),
        unit_words(std::span<const Float4>(tape.unit_words)),
        parts(std::span<const PairPart>(tape.parts)),
        unit_parts(std::span<const PairPart>(tape.unit_parts)),
        device_units(std::span<const SharedSubtree>(tape.units)),
        unit_keys(std::span<const std::uint32_t>(tape.unit_keys)) {
    counters.Reserve(kSubtreeCounters);
    RequireFits(tape.sizes);
    RequireFits(tape.unit_sizes);
    rows.parts = parts.data();
    rows.count = static_cast<std::uint32_t>(part_count);
    rows.sizes = tape.sizes;
    rows.words = words.data();
    grouping.subtrees = device_units.data();
    grouping.keys = unit_keys.data();
    grouping.subtree_count = static_cast<std::uint32_t>(tape.units.size());
    grouping.most_key_words = tape.most_key_words;
    grouping.classes_per_item = kClassesOfItem;
    grouping.output.counters = counters.data();
    units.parts = unit_parts.data();
    units.words = unit_words.data();
    units.sizes = tape.unit_sizes;
    units.counters = counters.data();
  }

  void RequireFits(const PairSizes& sizes) const {
    if (PairSharedBytes(points, sizes, 1) > kSharedLimit) {
      throw std::invalid_argument("too many pairs of features meet; use the CPU");
    }
  }

  void Reserve(std::uint32_t count, std::uint32_t stride) override {
    const std::size_t unit_count = grouping.subtree_count;
    grouping.rows = count;
    grouping.stride = units.stride = rows.stride = stride;
    rows.classes = grouping.output.classes = classes.Reserve(unit_count * stride);
    units.members = grouping.output.representatives = members.Reserve(unit_count * count);
    rows.bases = grouping.output.bases = bases.Reserve(unit_count);
    units.items = grouping.output.items =
        items.Reserve(unit_count * ((count + kClassesOfItem - 1) / kClassesOfItem));
    rows.table = units.table = table.Reserve(unit_width * count);
    rows.below = below.Reserve(part_count * static_cast<std::size_t>(points) * stride);
    rows.progress = progress.Reserve(ProgressCount());
  }

  std::size_t ProgressCount() const { return 1 + part_count * (rows.stride / 32); }

  void Launch(const PairCall& call) override {
    Fill(call, rows);
    rows.scale[0] = call.scale[0];
    rows.scale[1] = call.scale[1];
    units.general = grouping.missing = call.missing;
    units.x = call.x;
    grouping.ranks = call.ranks;
    Clear(progress, ProgressCount(), stream.get());
    if (grouping.subtree_count > 0) {
      Clear(counters, kSubtreeCounters, stream.get());
      LaunchGrouping(grouping, stream.get());
      LaunchPairUnits(points, wide, units, stream.get());
    }
    LaunchPairs(points, wide, rows, stream.get());
  }
};

}  // namespace

struct PairsOnDevice::State {
  std::size_t features = 0;
  std::size_t groups = 1;
  double scale = 1;  // the product of:
  float scales[2] = {1, 1};
  std::optional<PairResults> results;
  std::vector<std::unique_ptr<DeviceTape>> tapes;
  DeviceArray<std::uint32_t> sets, begin;
  DeviceArray<float> thresholds;
  // Grown to the largest call.
  PinnedArray<float> host_rows;
  PinnedArray<std::uint64_t> host_sums;
  DeviceArray<float> rows, x;
  DeviceArray<unsigned long long> sums;
  DeviceArray<std::uint16_t> ranks;
  CudaStream main;
  CudaEvent start, stop, ready;

  explicit State(const TreeEnsemble& model)
      : features(static_cast<std::size_t>(model.features)),
        groups(static_cast<std::size_t>(model.groups)) {}

  // Uploads the tapes.
  template <class OnDevice, class TapeSet>
  void Take(TapeSet set) {
    // |phi_ij| is at most four times the largest |leaf| of each tree: 2^58 units leave room beside
    // it. A power of two that is a float, in two factors: products of a float are exact.
    const int exponent = set.bound > 0 ? std::min(57 - std::ilogb(set.bound), 127) : 0;
    scale = std::ldexp(1.0, exponent);
    scales[0] = std::ldexp(1.0f, exponent / 2);
    scales[1] = std::ldexp(1.0f, exponent - exponent / 2);
    sets = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(set.sets));
    for (const auto& tape : set.tapes) tapes.push_back(std::make_unique<OnDevice>(tape));
    results.emplace(std::move(set.sums), features, groups);
  }

  // As many as half of the memory there is will hold; to ask for it takes longer than a small call.
  std::size_t RowsAtOnce(std::size_t count) const {
    std::size_t bytes = results->count() * sizeof(unsigned long long);
    std::size_t held = sums.size() * sizeof(unsigned long long);
    for (const auto& tape : tapes) {
      bytes += tape->BytesOfRow();
      held += tape->BytesHeld();
    }
    constexpr std::size_t most = kGroupedRows / 32 * 32;
    if (count * bytes <= kFewBytes) return std::min(count, most);
    std::size_t free = 0;
    std::size_t total = 0;
    CheckCuda(cudaMemGetInfo(&free, &total), "memory");
    return std::clamp<std::size_t>((free + held) / 2 / bytes / 32 * 32, 32, most);
  }

  // Into locked memory, and on to the device. Whether a value is missing.
  bool Upload(const RowBlock& block) {
    const std::size_t count = block.values.size();
    const bool missing = CopyRows(block.values.data(), count, host_rows.Reserve(count));
    CheckCuda(cudaMemcpyAsync(rows.Reserve(count), host_rows.data(), count * sizeof(float),
                              cudaMemcpyHostToDevice, main.get()),
              "upload");
    return missing;
  }

  // Seconds of device work; the sums are in host_sums.
  double Run(const RowBlock& block, std::uint32_t stride) {
    const auto count = static_cast<std::uint32_t>(block.rows);
    const std::size_t numbers = results->count() * stride;
    sums.Reserve(numbers);
    host_sums.Reserve(numbers);
    x.Reserve(features * stride);
    ranks.Reserve(features * stride);
    for (const auto& tape : tapes) tape->Reserve(count, stride);
    const bool missing = Upload(block);
    const PairCall call{.x = x.data(),
                        .ranks = ranks.data(),
                        .sets = sets.data(),
                        .rows = count,
                        .stride = stride,
                        .missing = missing,
                        .general = missing || sets.size() > 0,
                        .scale = {scales[0], scales[1]},
                        .out = sums.data()};
    start.Record(main.get());
    TransposeRows(rows.data(), nullptr, count, static_cast<std::uint32_t>(features), stride,
                  x.data(), main.get());
    CheckCuda(cudaMemsetAsync(sums.data(), 0, numbers * sizeof(std::uint64_t), main.get()),
              "memset");
    if (begin.size() > 0) {
      LaunchRanks(x.data(), thresholds.data(), begin.data(), static_cast<std::uint32_t>(features),
                  count, stride, ranks.data(), main.get());
    }
    ready.Record(main.get());
    for (const auto& tape : tapes) {
      CheckCuda(cudaStreamWaitEvent(tape->stream.get(), ready.get()), "wait");
      tape->Launch(call);
      tape->done.Record(tape->stream.get());
    }
    for (const auto& tape : tapes) {
      CheckCuda(cudaStreamWaitEvent(main.get(), tape->done.get()), "wait");
    }
    stop.Record(main.get());
    CheckCuda(cudaMemcpyAsync(host_sums.data(), sums.data(), numbers * sizeof(std::uint64_t),
                              cudaMemcpyDeviceToHost, main.get()),
              "download");
    CheckCuda(cudaStreamSynchronize(main.get()), "interactions");
    return stop.SecondsSince(start);
  }
};

PairsOnDevice::~PairsOnDevice() = default;

PairsOnDevice::PairsOnDevice(const TreeEnsemble& model, const PairOptions& options)
    : state_(std::make_unique<State>(model)) {
  PairTapeSet set = CompilePairs(Annotate(model), options);
  if (set.ranks.fits()) {
    state_->thresholds = DeviceArray<float>(set.ranks.thresholds());
    state_->begin = DeviceArray<std::uint32_t>(set.ranks.begin());
  }
  state_->Take<DevicePairTape>(std::move(set));
}

PairsOnDevice::PairsOnDevice(const TreeEnsemble& model, const DerivativeOptions& options)
    : state_(std::make_unique<State>(model)) {
  state_->Take<DeviceDerivativeTape>(CompileDerivatives(Annotate(model), options));
}

double PairsOnDevice::Run(const RowBlock& rows, std::span<const double> expected,
                          std::span<double> matrices) {
  State& s = *state_;
  const std::size_t side = s.features + 1;
  if (rows.rows == 0) return 0;
  if (s.features == 0 || s.tapes.empty()) {
    WriteExpected({matrices, side * side, expected});
    return 0;
  }
  const std::size_t at_once = s.RowsAtOnce(rows.rows);
  const std::size_t size = s.groups * side * side;
  double seconds = 0;
  for (std::size_t begin = 0; begin < rows.rows; begin += at_once) {
    const std::size_t count = std::min(at_once, rows.rows - begin);
    const std::size_t stride = (count + 31) / 32 * 32;
    seconds += s.Run(rows.slice(begin, count), static_cast<std::uint32_t>(stride));
    s.results->Write({s.host_sums.data(), count, stride, s.scale}, expected,
                     matrices.subspan(begin * size, count * size));
  }
  return seconds;
}

}  // namespace retable::treeshap
