// GPUTreeShap as published: one path element a lane, paths packed into warps, EXTEND and UNWOUNDSUM
// by shuffles, contributions added in double by atomics. Paths up to 32 elements with the bias.
// Each warp keeps its bin and loops over rows. Mitchell et al. 2022, listing 2 and algorithms 2
// and 3.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/host/device_pipeline.hpp"
#include "algorithms/treeshap/host/sharded_explainer.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/published/bin_packing.hpp"
#include "algorithms/treeshap/published/path_steps.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kBlock = 256;
constexpr std::uint32_t kRowsPerWarp = 1024;
constexpr std::uint32_t kRowsPerWarpInteractions = 100;

// One lane of a bin. `length` = 0: idle.
struct LaneElement {
  std::int32_t feature = -1;
  float lower = 0, upper = 0;
  float zero = 1;
  float value = 0;
  std::int32_t set = -1;  // offset of the category set, or -1
  std::uint16_t group = 0;
  std::uint8_t start = 0;   // first lane of the path
  std::uint8_t length = 0;  // elements of the path
  std::uint8_t missing = 1;
  std::uint8_t longest = 0;  // longest path of the bin
};

struct Problem {
  const LaneElement* lanes;
  std::size_t bins;
  const std::uint32_t* sets;
  const float* rows;
  std::uint32_t row_count;
  std::uint32_t columns;
  std::uint32_t groups;
  double* out;
};

__device__ float OneFraction(const LaneElement& e, const Problem& p, std::uint32_t row) {
  if (e.feature < 0) return 1;
  float x = __ldg(p.rows + static_cast<std::size_t>(row) * p.columns + e.feature);
  if (x != x) return e.missing != 0 ? 1.0f : 0.0f;
  if (e.set >= 0) return InSet([&](auto i) { return p.sets[i]; }, e.set, x) ? 1.0f : 0.0f;
  constexpr float limit = std::numeric_limits<float>::max();
  x = fminf(fmaxf(x, -limit), limit);
  return x >= e.lower && x < e.upper ? 1.0f : 0.0f;
}

// 1 / k. Divisions would be bound by the unit for reciprocals, of half the rate of shuffles and
// an eighth of that of multiplications.
struct Inverses {
  float of[kWarp + 1] = {0};
  constexpr Inverses() {
    for (int k = 1; k <= kWarp; ++k) of[k] = 1.0f / static_cast<float>(k);
  }
};
__constant__ Inverses kInverse;

// What a lane's part of EXTEND and UNWOUNDSUM takes from a path of `length` elements, whatever the
// row.
struct LanePath {
  int i;           // the lane's place in the path
  int length;      // elements
  float shrink;    // zero / length
  float unfollow;  // length / zero, or 0
  float own_term;  // of a sum without an element that the row does not follow: 1 / (length - 1 - i)

  __device__ LanePath(const LaneElement& e, int elements)
      : i(static_cast<int>(threadIdx.x % kWarp) - e.start),
        length(max(elements, 1)),
        shrink(e.zero * kInverse.of[length]),
        unfollow(e.zero > 0 ? static_cast<float>(length) / e.zero : 0),
        own_term(i < length - 1 ? kInverse.of[length - 1 - i] : 0) {}
};

// Parallel EXTEND over all elements of the path but `skip`; lane i ends with the weight of i.
__device__ float ExtendPath(const LaneElement& e, const LanePath& path, float one, int longest,
                            int skip) {
  float weight = path.i == 0 ? 1.0f : 0.0f;
  const auto i = static_cast<float>(path.i);
  for (int k = 1; k < longest; ++k) {
    const int source = e.start + (k < skip ? k : k + 1);
    const float zero_k = __shfl_sync(kAll, e.zero, source);
    const float one_k = __shfl_sync(kAll, one, source);
    const float left = __shfl_up_sync(kAll, weight, 1);
    const float extended =
        ExtendStep(weight, left, i, static_cast<float>(k), kInverse.of[k + 1], zero_k, one_k);
    if (k < path.length) weight = extended;
  }
  return weight;
}

// Parallel UNWOUNDSUM: each lane takes its own element out. Elements that the row does not follow
// need one sum, the same for all of a path.
__device__ float UnwindPath(const LaneElement& e, const LanePath& path, float weight, float one,
                            int longest) {
  const int last = e.start + path.length - 1;
  FollowedSum<float> followed{__shfl_sync(kAll, weight, last)};
  const auto length = static_cast<float>(path.length);
  float shrunk = 0;
  for (int j = longest - 2; j >= 0; --j) {
    const float w = __shfl_sync(kAll, weight, e.start + j);
    if (j <= path.length - 2) {
      shrunk += path.shrink;
      followed.Add(w, length * kInverse.of[j + 1], shrunk);
    }
  }
  float others = weight * path.own_term;
  for (int step = 1; step < longest; step *= 2) {
    const float up = __shfl_up_sync(kAll, others, step);
    if (path.i >= step) others += up;
  }
  others = __shfl_sync(kAll, others, last);
  return one != 0 ? followed.total : others * path.unfollow;
}

__global__ void __launch_bounds__(kBlock) ShapKernel(Problem p) {
  const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x) / kWarp;
  const std::size_t bin = warp % p.bins;
  const auto batch = static_cast<std::uint32_t>(warp / p.bins);
  const std::uint32_t begin = batch * kRowsPerWarp;
  if (begin >= p.row_count) return;
  const std::uint32_t end = min(begin + kRowsPerWarp, p.row_count);
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const LaneElement e = p.lanes[bin * kWarp + lane];
  const LanePath path(e, e.length);
  const int longest = __shfl_sync(kAll, e.longest, 0);
  for (std::uint32_t row = begin; row < end; ++row) {
    const float one = OneFraction(e, p, row);
    const float weight = ExtendPath(e, path, one, longest, kWarp);
    const float sum = UnwindPath(e, path, weight, one, longest);
    if (e.feature >= 0) {
      atomicAdd(p.out + (static_cast<std::size_t>(row) * p.groups + e.group) * (p.columns + 1) +
                    e.feature,
                static_cast<double>(sum * (one - e.zero) * e.value));
    }
  }
}

__global__ void __launch_bounds__(kBlock) ShapInteractionsKernel(Problem p) {
  const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x) / kWarp;
  const std::size_t bin = warp % p.bins;
  const auto batch = static_cast<std::uint32_t>(warp / p.bins);
  const std::uint32_t begin = batch * kRowsPerWarpInteractions;
  if (begin >= p.row_count) return;
  const std::uint32_t end = min(begin + kRowsPerWarpInteractions, p.row_count);
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const LaneElement e = p.lanes[bin * kWarp + lane];
  const LanePath path(e, e.length - 1);
  const int longest = __shfl_sync(kAll, e.longest, 0);
  const std::size_t side = p.columns + 1;
  for (std::uint32_t row = begin; row < end; ++row) {
    const float one = OneFraction(e, p, row);
    for (int j = 1; j < longest; ++j) {
      // The path without element j; a path without a j adds nothing.
      const float weight = ExtendPath(e, path, one, longest, j);
      const float sum = UnwindPath(e, path, weight, one, longest);
      const int source = min(e.start + j, kWarp - 1);
      const float one_j = __shfl_sync(kAll, one, source);
      const float zero_j = __shfl_sync(kAll, e.zero, source);
      const int feature_j = __shfl_sync(kAll, e.feature, source);
      if (e.feature >= 0 && j < e.length && path.i != j) {
        const float value = sum * (one - e.zero) * (one_j - zero_j) * e.value * 0.5f;
        atomicAdd(
            p.out +
                ((static_cast<std::size_t>(row) * p.groups + e.group) * side + e.feature) * side +
                feature_j,
            static_cast<double>(value));
      }
    }
  }
}

class GpuTreeShap final : public TreeExplainer {
 public:
  //! `gpus`: number of GPUs that share the host's threads.
  GpuTreeShap(int device, int gpus, Packing packing)
      : device_(SelectDevice(device)),
        threads_of_host_(std::max(1, AvailableThreads() / gpus)),
        packing_(packing) {}

  void prepare(const TreeEnsemble& model) override {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    Validate(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    expected_ = ExpectedMargins(model);
    const PathList list = ExtractPaths(model);
    std::vector<std::int32_t> lengths;
    for (const Path& path : list.paths) {
      Require(path.length <= kWarp,
              "GPUTreeShap takes paths of at most 31 distinct features, one has ", path.length - 1,
              "; use Quadrature");
      lengths.push_back(path.length);
    }
    const Bins bins = Pack(packing_, lengths);
    std::vector<std::uint32_t> sets;
    const std::vector<std::uint32_t> offsets = AppendSets(list.category_sets, sets);
    std::vector<LaneElement> lanes(bins.count() * kWarp);
    for (std::size_t b = 0; b < bins.count(); ++b) FillBin(list, bins, b, offsets, lanes);
    bins_ = bins.count();
    lanes_ = DeviceArray<LaneElement>(std::span<const LaneElement>(lanes));
    sets_ = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(sets));
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    seconds_ = Run(rows, {phi, side(), expected_}, kRowsPerWarp, ShapKernel);
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    const Results phi = values(rows);
    seconds_ += Run(rows, {matrices, side() * side(), expected_}, kRowsPerWarpInteractions,
                    ShapInteractionsKernel);
    FillInteractionDiagonal(static_cast<std::size_t>(shape_.features), phi, matrices);
  }

  double device_seconds() const override { return seconds_; }

  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool interactions) const override {
    return {{"FMA fp32", static_cast<double>(rows) * PathFlops(model, interactions, true)}};
  }

 private:
  static void FillBin(const PathList& list, const Bins& bins, std::size_t b,
                      const std::vector<std::uint32_t>& offsets, std::vector<LaneElement>& lanes) {
    std::size_t lane = b * kWarp;
    std::int32_t longest = 0;
    for (std::size_t i = bins.offsets[b]; i < bins.offsets[b + 1]; ++i) {
      const Path& path = list.paths[bins.items[i]];
      longest = std::max(longest, path.length);
      const std::size_t start = lane;
      for (const PathElement& element : list.of(path)) {
        LaneElement& out = lanes[lane++];
        out.feature = element.feature;
        out.lower = element.lower;
        out.upper = element.upper;
        out.zero = static_cast<float>(element.zero_fraction);
        out.value = static_cast<float>(path.value);
        if (element.categories >= 0) {
          const auto set = static_cast<std::size_t>(element.categories);
          out.set = static_cast<std::int32_t>(offsets[set]);
        }
        out.group = static_cast<std::uint16_t>(path.group);
        out.start = static_cast<std::uint8_t>(start - b * kWarp);
        out.length = static_cast<std::uint8_t>(path.length);
        out.missing = element.missing_follows ? 1 : 0;
      }
    }
    lanes[b * kWarp].longest = static_cast<std::uint8_t>(longest);
  }

  double Run(const RowBlock& rows, const ResultBlocks& to, std::uint32_t rows_per_warp,
             void (*kernel)(Problem)) {
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    rows_per_warp_ = rows_per_warp;
    kernel_ = kernel;
    const std::size_t piece = bins_ == 0 ? 0 : RowsPerPiece(to.block * expected_.size());
    return pipeline_.Run(rows, piece, threads_of_host_, to);
  }

  bool Explain(const DeviceBatch& batch) {
    const Problem problem{lanes_.data(),
                          bins_,
                          sets_.data(),
                          batch.rows,
                          batch.count,
                          static_cast<std::uint32_t>(shape_.features),
                          static_cast<std::uint32_t>(shape_.groups),
                          batch.out};
    const std::size_t warps = bins_ * ((batch.count + rows_per_warp_ - 1) / rows_per_warp_);
    const std::size_t blocks = (warps * kWarp + kBlock - 1) / kBlock;
    kernel_<<<static_cast<unsigned>(blocks), kBlock, 0, batch.stream>>>(problem);
    CheckCuda(cudaGetLastError(), "GPUTreeShap kernel");
    return false;
  }

  int device_;
  int threads_of_host_;
  Packing packing_;
  std::vector<double> expected_;
  std::size_t bins_ = 0;
  DeviceArray<LaneElement> lanes_;
  DeviceArray<std::uint32_t> sets_;
  // State of the current call.
  std::uint32_t rows_per_warp_ = 0;
  void (*kernel_)(Problem) = nullptr;
  DevicePipeline<float> pipeline_{true,
                                  [this](const DeviceBatch& batch) { return Explain(batch); }};
  double seconds_ = 0;
};

}  // namespace

RETABLE_REGISTER(TreeExplainer, gpu_tree_shap,
                 {.name = "GPUTreeShap",
                  .device = Device::kCuda,
                  .summary = "one path element a lane, shuffles; as published",
                  .citation = "Mitchell et al. 2022, listing 2, algorithms 2 and 3",
                  .parameters = {{"device", std::int64_t{0}, "index of the (first) GPU"},
                                 {"gpus", std::int64_t{1}, "GPUs the rows are shared by"},
                                 {"packing", std::string("BFD"), "None, NF, FFD or BFD"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<TreeExplainer> {
                    std::vector<std::unique_ptr<TreeExplainer>> shards;
                    const int first = IntParameter(p, "device", 0);
                    const Packing packing = PackingByName(TextParameter(p, "packing", "BFD"));
                    const int gpus = IntParameter(p, "gpus", 1, 1);
                    for (int i = 0; i < gpus; ++i) {
                      shards.push_back(std::make_unique<GpuTreeShap>(first + i, gpus, packing));
                    }
                    return ShardRows(std::move(shards));
                  }});

}  // namespace retable::treeshap
