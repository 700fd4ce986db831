#include "algorithms/treeshap/interactions/explainer.cuh"

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/host/batch_pipeline.hpp"
#include "algorithms/treeshap/host/row_kernels.cuh"
#include "algorithms/treeshap/host/side_by_side.cuh"
#include "algorithms/treeshap/interactions/ancestor/kernel.cuh"
#include "algorithms/treeshap/interactions/common/tuning.hpp"
#include "algorithms/treeshap/interactions/derivative/kernel.cuh"
#include "algorithms/treeshap/interactions/matrices.hpp"
#include "algorithms/treeshap/quadrature/tree_parts.hpp"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kClassesOfItem = 32;

constexpr unsigned kExpandThreads = 128;

// A call's sums and the matrices that they become.
struct Expansion {
  const InteractionSum* names = nullptr;
  const std::size_t* begin = nullptr;  // the first name of each output
  const unsigned long long* sums = nullptr;
  std::uint32_t rows = 0, stride = 0;
  double unit = 1;
  const double* expected = nullptr;
  std::uint32_t side = 0, outputs = 0;
  double* matrices = nullptr;  // zeros
};

// InteractionMatrices::Write in device memory, to the same bits: a thread writes a row's matrix of
// an output, name by name. Lanes are rows, neighbours among the sums.
__global__ void __launch_bounds__(kExpandThreads) ExpandSums(Expansion e) {
  const std::uint32_t r = blockIdx.x * kExpandThreads + threadIdx.x;
  const std::uint32_t output = blockIdx.y;
  if (r >= e.rows) return;
  const std::size_t side = e.side;
  double* to = e.matrices + (std::size_t{r} * e.outputs + output) * side * side;
  to[side * side - 1] = e.expected[output];
  for (std::size_t n = e.begin[output]; n < e.begin[output + 1]; ++n) {
    const std::size_t high = e.names[n].high, low = e.names[n].low;
    const double sum =
        static_cast<double>(static_cast<long long>(__ldcs(e.sums + n * e.stride + r))) * e.unit;
    if (high == low) {
      to[high * (side + 1)] += sum;
      continue;
    }
    to[high * side + low] = to[low * side + high] = sum / 2;
    to[high * (side + 1)] -= sum / 2;
    to[low * (side + 1)] -= sum / 2;
  }
}

// Arguments of a call that all its kernels take.
struct InteractionCall {
  const float* x = nullptr;
  const std::uint16_t* ranks = nullptr;
  const std::uint32_t* sets = nullptr;
  std::uint32_t rows = 0, stride = 0;
  bool missing = false, general = false;
  float scale = 1;
  unsigned long long* out = nullptr;
};

// A tape in device memory, with what its kernels write. Tapes run side by side.
struct DeviceTape : TapeStream {
  virtual ~DeviceTape() = default;
  // Bytes that a row may need, and bytes allocated.
  virtual std::size_t BytesOfRow() const = 0;
  virtual std::size_t BytesHeld() const = 0;
  virtual void Reserve(std::uint32_t rows, std::uint32_t stride) = 0;
  // Counters that a launch takes, zero before.
  virtual std::size_t Counters() const = 0;
  virtual void Launch(const InteractionCall& call, std::uint32_t* zeros, cudaStream_t on) = 0;
};

// The tiles of either form.
template <class AnyLaunch, class Tile>
struct TileTape : DeviceTape {
  int points = 4;
  std::size_t left = 0;  // numbers of a row that tiles leave for those above
  AnyLaunch launch;
  DeviceArray<Float4> words;
  DeviceArray<Tile> tiles;
  DeviceArray<float> below;

  // `vectors`: of so many points, that tiles leave.
  template <class Tape>
  TileTape(const Tape& tape, std::size_t vectors)
      : points(tape.points), left(vectors * static_cast<std::size_t>(tape.points)) {
    launch.tape.tiles = tiles.Upload(tape.tiles);
    launch.tape.tile_count = static_cast<std::uint32_t>(tape.tiles.size());
    launch.tape.sizes = tape.sizes;
    launch.tape.words = words.Upload(tape.words);
  }

  std::size_t BytesOfRow() const override { return left * sizeof(float); }
  std::size_t BytesHeld() const override { return below.size() * sizeof(float); }
  void Reserve(std::uint32_t, std::uint32_t stride) override {
    launch.rows.stride = stride;
    launch.output.below = below.Reserve(left * stride);
  }
  std::size_t Counters() const override {
    return 1 + launch.tape.tile_count * std::size_t{launch.rows.stride / 32};
  }

  // Copies the call's arguments into the launch.
  void Fill(const InteractionCall& call, std::uint32_t* progress) {
    launch.general = call.general;
    launch.tape.sets = call.sets;
    launch.rows.x = call.x;
    launch.rows.scale = call.scale;
    launch.output.sums = call.out;
    launch.output.progress = progress;
  }
};

struct DeviceDerivativeTape final : TileTape<DerivativeLaunch, DerivativeTile> {
  explicit DeviceDerivativeTape(const DerivativeTape& tape) : TileTape(tape, tape.vectors) {}

  void Launch(const InteractionCall& call, std::uint32_t* zeros, cudaStream_t on) override {
    Fill(call, zeros);
    LaunchDerivatives(points, launch, on);
  }
};

struct DeviceInteractionTape final : TileTape<InteractionLaunch, InteractionTile> {
  bool wide = false;
  InteractionSubtreeLaunch subtree_launch;
  GroupingLaunch grouping;
  std::size_t subtree_width = 0;
  DeviceArray<Float4> subtree_words;
  DeviceArray<InteractionTile> subtree_tiles;
  DeviceArray<SharedSubtree> device_subtrees;
  DeviceArray<std::uint32_t> subtree_keys;
  DeviceArray<std::uint16_t> classes;
  DeviceArray<std::uint32_t> representatives, bases;
  DeviceArray<SubtreeItem> items;
  DeviceArray<float4> table;

  // In the worst case every row is a row class.
  std::size_t BytesOfRow() const override {
    return TileTape::BytesOfRow() + subtree_width * sizeof(float4) +
           grouping.subtree_count * (sizeof(std::uint16_t) + sizeof(std::uint32_t));
  }
  std::size_t BytesHeld() const override {
    return TileTape::BytesHeld() + table.size() * sizeof(float4);
  }

  explicit DeviceInteractionTape(const InteractionTape& tape)
      : TileTape(tape, tape.tiles.size()), wide(tape.wide), subtree_width(tape.subtree_width) {
    RequireFits(tape.sizes);
    RequireFits(tape.subtree_sizes);
    grouping.subtrees = device_subtrees.Upload(tape.subtrees);
    grouping.keys = subtree_keys.Upload(tape.subtree_keys);
    grouping.subtree_count = static_cast<std::uint32_t>(tape.subtrees.size());
    grouping.most_key_words = tape.most_key_words;
    grouping.classes_per_item = kClassesOfItem;
    subtree_launch.tiles = subtree_tiles.Upload(tape.subtree_tiles);
    subtree_launch.words = subtree_words.Upload(tape.subtree_words);
    subtree_launch.sizes = tape.subtree_sizes;
  }

  // A kernel's own variables need less than the 1 KiB that is left.
  void RequireFits(const InteractionSizes& sizes) const {
    Require(InteractionSharedBytes(points, sizes, 1) <= SharedMemoryLimit() - 1024,
            "too many pairs of features meet; use the CPU");
  }

  void Reserve(std::uint32_t count, std::uint32_t stride) override {
    TileTape::Reserve(count, stride);
    const std::size_t subtree_count = grouping.subtree_count;
    grouping.rows = count;
    grouping.stride = subtree_launch.stride = stride;
    launch.shared.classes = grouping.output.classes = classes.Reserve(subtree_count * stride);
    subtree_launch.representatives = grouping.output.representatives =
        representatives.Reserve(subtree_count * count);
    launch.shared.bases = grouping.output.bases = bases.Reserve(subtree_count);
    subtree_launch.items = grouping.output.items =
        items.Reserve(subtree_count * ((count + kClassesOfItem - 1) / kClassesOfItem));
    launch.shared.table = subtree_launch.table = table.Reserve(subtree_width * count);
  }

  std::size_t Counters() const override { return kSubtreeCounters + TileTape::Counters(); }

  void Launch(const InteractionCall& call, std::uint32_t* zeros, cudaStream_t on) override {
    Fill(call, zeros + kSubtreeCounters);
    subtree_launch.general = grouping.missing = call.missing;
    subtree_launch.x = call.x;
    grouping.ranks = call.ranks;
    grouping.output.counters = subtree_launch.counters = zeros;
    if (grouping.subtree_count > 0) {
      LaunchGrouping(grouping, on);
      LaunchInteractionSubtrees(points, wide, subtree_launch, on);
    }
    LaunchInteractions(points, wide, launch, on);
  }
};

}  // namespace

struct DeviceInteractions::State {
  std::size_t features = 0;
  std::size_t groups = 1;
  double scale = 1;
  std::optional<InteractionMatrices> results;
  std::vector<std::unique_ptr<DeviceTape>> tapes;
  DeviceArray<std::uint32_t> sets, begin;
  DeviceArray<float> thresholds;
  // Arrays grow to the largest call.
  PinnedArray<float> host_rows;
  PinnedArray<std::uint64_t> host_sums;
  DeviceArray<float> rows, x;
  DeviceArray<unsigned long long> sums;
  DeviceArray<std::uint16_t> ranks;
  CudaStream main;
  CudaEvent start, stop, ready;
  // For matrices in device memory.
  DeviceArray<InteractionSum> names;
  DeviceArray<std::size_t> first_name;
  DeviceArray<double> expected;
  DeviceArray<std::uint32_t> missing;
  CudaEvent on_device{cudaEventDisableTiming};  // the last call there

  explicit State(const TreeEnsemble& model)
      : features(static_cast<std::size_t>(model.features)),
        groups(static_cast<std::size_t>(model.groups)) {}

  // Uploads the tapes.
  template <class OnDevice, class TapeSet>
  void Take(TapeSet set) {
    // |phi_ij| is at most four times the largest |leaf| of each tree: sums of 2^58 leave room
    // beside it. The scale is a power of two, a float too, so that products are exact.
    const int exponent = set.bound > 0 ? std::min(57 - std::ilogb(set.bound), 127) : 0;
    scale = std::ldexp(1.0, exponent);
    sets.Upload(set.sets);
    for (const auto& tape : set.tapes) tapes.push_back(std::make_unique<OnDevice>(tape));
    results.emplace(std::move(set.sums), features, groups);
  }

  // As many rows as half of the free memory holds.
  std::size_t RowsAtOnce(std::size_t count) const {
    std::size_t bytes = results->count() * sizeof(unsigned long long);
    std::size_t held = sums.size() * sizeof(unsigned long long);
    for (const auto& tape : tapes) {
      bytes += tape->BytesOfRow();
      held += tape->BytesHeld();
    }
    const std::size_t most = MostGroupedRows() / 32 * 32;
    if (count * bytes <= tuning::kSmallBytes) return std::min(count, most);
    std::size_t free = 0;
    std::size_t total = 0;
    CheckCuda(cudaMemGetInfo(&free, &total), "memory");
    return std::clamp<std::size_t>((free + held) / 2 / bytes / 32 * 32, 32, most);
  }

  // Copies rows into locked memory and on to the device. Returns whether a value is missing.
  bool Upload(const RowBlock& block) {
    const std::size_t count = block.values.size();
    const bool missing = CopyRows(block.values.data(), count, host_rows.Reserve(count));
    CopyInStream(rows.Reserve(count), host_rows.data(), count, cudaMemcpyHostToDevice, main.get());
    return missing;
  }

  // Leaves the sums in host_sums and returns the seconds of device work.
  double Run(const RowBlock& block, std::uint32_t stride) {
    const std::size_t numbers = results->count() * stride;
    host_sums.Reserve(numbers);
    const bool missing_value = Upload(block);
    start.Record(main.get());
    Sum(rows.data(), static_cast<std::uint32_t>(block.rows), stride, missing_value, main.get());
    stop.Record(main.get());
    CopyInStream(reinterpret_cast<unsigned long long*>(host_sums.data()), sums.data(), numbers,
                 cudaMemcpyDeviceToHost, main.get());
    CheckCuda(cudaStreamSynchronize(main.get()), "interactions");
    return stop.SecondsSince(start);
  }

  // Whether a value in device memory is missing, once the stream has got there.
  bool Missing(const float* values, std::size_t count, cudaStream_t stream) {
    ClearInStream(missing.Reserve(1), 1, stream);
    FindMissing(values, count, missing.data(), stream);
    CheckCuda(cudaStreamSynchronize(stream), "rows in device memory");
    std::uint32_t found = 0;
    missing.Download({&found, 1});
    return found != 0;
  }

  // Writes a piece's matrices, behind its sums.
  void Expand(std::uint32_t count, std::uint32_t stride, double* matrices, cudaStream_t stream) {
    const std::size_t side = features + 1;
    ClearInStream(matrices, count * groups * side * side, stream);
    const dim3 grid((count + kExpandThreads - 1) / kExpandThreads, static_cast<unsigned>(groups));
    const Expansion expansion{.names = names.data(),
                              .begin = first_name.data(),
                              .sums = sums.data(),
                              .rows = count,
                              .stride = stride,
                              .unit = 1 / scale,
                              .expected = expected.data(),
                              .side = static_cast<std::uint32_t>(side),
                              .outputs = static_cast<std::uint32_t>(groups),
                              .matrices = matrices};
    ExpandSums<<<grid, kExpandThreads, 0, stream>>>(expansion);
    CheckCuda(cudaGetLastError(), "expanding interactions");
  }

  // Leaves the sums of rows in device memory in `sums`, in the stream.
  void Sum(const float* from, std::uint32_t count, std::uint32_t stride, bool missing_value,
           cudaStream_t stream) {
    x.Reserve(features * stride);
    ranks.Reserve(features * stride);
    // The counters of all tapes lie behind the sums.
    const std::size_t numbers = results->count() * stride;
    std::size_t counters = 0;
    for (const auto& tape : tapes) {
      tape->Reserve(count, stride);
      counters += tape->Counters();
    }
    sums.Reserve(numbers + (counters + 1) / 2);
    const InteractionCall call{.x = x.data(),
                               .ranks = ranks.data(),
                               .sets = sets.data(),
                               .rows = count,
                               .stride = stride,
                               .missing = missing_value,
                               .general = missing_value || sets.size() > 0,
                               .scale = static_cast<float>(scale),
                               .out = sums.data()};
    TransposeRows(from, nullptr, count, static_cast<std::uint32_t>(features), stride, x.data(),
                  stream);
    const std::size_t bytes = numbers * sizeof(std::uint64_t) + counters * sizeof(std::uint32_t);
    CheckCuda(cudaMemsetAsync(sums.data(), 0, bytes, stream), "memset");
    if (begin.size() > 0) {
      LaunchRanks({x.data(), 1, stride}, thresholds.data(), begin.data(),
                  static_cast<std::uint32_t>(features), count, stride, ranks.data(), stream);
    }
    auto* zeros = reinterpret_cast<std::uint32_t*>(sums.data() + numbers);
    RunSideBySide(tapes, ready, stream, [&](DeviceTape& tape, cudaStream_t on) {
      tape.Launch(call, zeros, on);
      zeros += tape.Counters();
    });
  }
};

DeviceInteractions::~DeviceInteractions() = default;

DeviceInteractions::DeviceInteractions(const TreeEnsemble& model, const InteractionOptions& options)
    : state_(std::make_unique<State>(model)) {
  InteractionTapeSet set =
      CompileInteractions(CutTrees(Annotate(model), tuning::kPartLeaves), options);
  if (set.ranks.fits()) {
    state_->thresholds.Upload(set.ranks.thresholds());
    state_->begin.Upload(set.ranks.begin());
  }
  state_->Take<DeviceInteractionTape>(std::move(set));
}

DeviceInteractions::DeviceInteractions(const TreeEnsemble& model, const DerivativeOptions& options)
    : state_(std::make_unique<State>(model)) {
  state_->Take<DeviceDerivativeTape>(
      CompileDerivatives(CutTrees(Annotate(model), tuning::kPartLeaves), options));
}

double DeviceInteractions::Run(const RowBlock& rows, std::span<const double> expected,
                               std::span<double> matrices) {
  State& s = *state_;
  const std::size_t side = s.features + 1;
  if (rows.rows == 0) return 0;
  if (s.features == 0 || s.tapes.empty()) {
    WriteExpected({matrices, side * side, expected});
    return 0;
  }
  s.on_device.Wait();  // the arrays serve one call at a time
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

void DeviceInteractions::RunOnDevice(const DeviceRows& rows, std::span<const double> expected) {
  State& s = *state_;
  const std::size_t side = s.features + 1;
  const auto stream = static_cast<cudaStream_t>(rows.stream);
  if (rows.rows == 0) return;
  s.on_device.Wait();
  const auto upload = [&](auto& to, const auto& from) {
    CopyInStream(to.Reserve(from.size()), from.data(), from.size(), cudaMemcpyHostToDevice, stream);
  };
  upload(s.expected, expected);
  if (s.features == 0 || s.tapes.empty()) {
    ClearInStream(rows.results, rows.rows * s.groups * side * side, stream);
    FinishResults({.results = rows.results,
                   .blocks = rows.rows * s.groups,
                   .block = side * side,
                   .expected = s.expected.data(),
                   .outputs = s.groups},
                  stream);
  } else {
    if (s.first_name.size() == 0) {
      upload(s.names, s.results->names());
      upload(s.first_name, s.results->begin());
    }
    const std::size_t at_once = s.RowsAtOnce(rows.rows);
    for (std::size_t begin = 0; begin < rows.rows; begin += at_once) {
      const auto count = static_cast<std::uint32_t>(std::min(at_once, rows.rows - begin));
      const std::uint32_t stride = (count + 31) / 32 * 32;
      const float* from = rows.values + begin * s.features;
      s.Sum(from, count, stride, s.Missing(from, count * s.features, stream), stream);
      s.Expand(count, stride, rows.results + begin * s.groups * side * side, stream);
    }
  }
  s.on_device.Record(stream);
}

}  // namespace retable::treeshap
