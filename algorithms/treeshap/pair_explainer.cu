#include "algorithms/treeshap/pair_explainer.cuh"

#include <algorithm>

#include "algorithms/treeshap/pair_kernel.cuh"

namespace retable::treeshap {

namespace {

constexpr std::size_t kSharedLimit = 227 * 1024;
constexpr std::size_t kPairBytes = std::size_t{8} << 30;  // fixed-point sums at once
constexpr std::uint32_t kMostSharedFeatures = 20;

struct DevicePairTape {
  int points = 4;
  int slots = 0;
  int positions = 0;
  std::uint32_t segment_count = 0;
  DeviceArray<PairNode> nodes;
  DeviceArray<float> tables, t;
  DeviceArray<PairOp> ops;
  DeviceArray<PairSegment> segments;
};

// Both triangles from the fixed-point sums; half to each.
void Scatter(const std::vector<unsigned long long>& sums, std::size_t features, std::size_t groups,
             std::size_t stride, std::size_t rows, double scale, std::span<double> matrices) {
  const std::size_t side = features + 1;
  const std::size_t pairs = features * (features - 1) / 2;
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 1; i < features; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto* from = sums.data() + (g * pairs + i * (i - 1) / 2 + j) * stride;
        for (std::size_t r = 0; r < rows; ++r) {
          const double half = static_cast<double>(static_cast<long long>(from[r])) / scale / 2;
          double* matrix = matrices.data() + (r * groups + g) * side * side;
          matrix[i * side + j] += half;
          matrix[j * side + i] += half;
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
  DeviceArray<std::uint32_t> sets;

  PairLaunch Geometry(const DevicePairTape& tape) const {
    PairLaunch launch;
    launch.features = static_cast<std::uint32_t>(features);
    launch.slots = static_cast<std::uint32_t>(tape.slots);
    launch.positions = static_cast<std::uint32_t>(std::max(tape.positions, 1));
    launch.shared_pairs = features <= kMostSharedFeatures ? 1 : 0;
    if (PairSharedBytes(tape.points, launch) > kSharedLimit) launch.shared_pairs = 0;
    return launch;
  }
};

PairsOnDevice::~PairsOnDevice() = default;

PairsOnDevice::PairsOnDevice(const TreeEnsemble& model) : state_(std::make_unique<State>()) {
  const PairTapeSet set = CompilePairs(Annotate(model));
  state_->features = static_cast<std::size_t>(model.features);
  state_->groups = static_cast<std::size_t>(model.groups);
  // |phi_ij| is at most four times the largest |leaf| of each tree: 2^58 units leave room beside
  // it.
  state_->scale = set.bound > 0 ? 288230376151711744.0 / set.bound : 1.0;
  state_->sets = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(set.sets));
  for (const PairTape& tape : set.tapes) {
    DevicePairTape out;
    out.points = tape.points;
    out.slots = tape.slots;
    out.positions = tape.positions;
    out.segment_count = static_cast<std::uint32_t>(tape.segments.size());
    out.nodes = DeviceArray<PairNode>(std::span<const PairNode>(tape.nodes));
    out.tables = DeviceArray<float>(std::span<const float>(tape.tables));
    out.t = DeviceArray<float>(std::span<const float>(tape.t));
    out.ops = DeviceArray<PairOp>(std::span<const PairOp>(tape.ops));
    out.segments = DeviceArray<PairSegment>(std::span<const PairSegment>(tape.segments));
    if (PairSharedBytes(out.points, state_->Geometry(out)) > kSharedLimit) {
      throw std::invalid_argument("a tree is too deep for interactions on the GPU; use the CPU");
    }
    state_->tapes.push_back(std::move(out));
  }
}

double PairsOnDevice::Run(const RowBlock& rows, std::span<double> matrices) {
  const std::size_t f = state_->features;
  if (f < 2 || rows.rows == 0 || state_->tapes.empty()) return 0;
  const std::size_t per_row = state_->groups * f * (f - 1) / 2 * sizeof(unsigned long long);
  const std::size_t at_once = std::max<std::size_t>(32, kPairBytes / per_row / 32 * 32);
  const std::size_t matrix_size = state_->groups * (f + 1) * (f + 1);
  double seconds = 0;
  for (std::size_t begin = 0; begin < rows.rows; begin += at_once) {
    const std::size_t count = std::min(at_once, rows.rows - begin);
    const std::size_t stride = (count + 31) / 32 * 32;
    std::vector<float> x(f * stride, 0.0f);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t i = 0; i < f; ++i) x[i * stride + r] = ClampInfinity(rows.row(begin + r)[i]);
    }
    const DeviceArray<float> device_x{std::span<const float>(x)};
    std::vector<unsigned long long> sums(per_row / sizeof(unsigned long long) * stride);
    DeviceArray<unsigned long long> device_sums(sums.size());
    Event start;
    Event stop;
    start.Record(nullptr);
    CudaCheck(cudaMemsetAsync(device_sums.data(), 0, sums.size() * sizeof(sums[0])), "memset");
    for (const DevicePairTape& tape : state_->tapes) {
      PairLaunch launch = state_->Geometry(tape);
      launch.nodes = tape.nodes.data();
      launch.tables = tape.tables.data();
      launch.t = tape.t.data();
      launch.ops = tape.ops.data();
      launch.segments = tape.segments.data();
      launch.sets = state_->sets.data();
      launch.x = device_x.data();
      launch.out = device_sums.data();
      launch.stride = static_cast<std::uint32_t>(stride);
      launch.segment_count = tape.segment_count;
      launch.scale = state_->scale;
      LaunchPairs(tape.points, launch, nullptr);
    }
    stop.Record(nullptr);
    seconds += stop.SecondsSince(start);
    device_sums.Download(sums);
    Scatter(sums, f, state_->groups, stride, count, state_->scale,
            matrices.subspan(begin * matrix_size, count * matrix_size));
  }
  return seconds;
}

}  // namespace retable::treeshap
