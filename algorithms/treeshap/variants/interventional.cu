// "Interventional" on the GPU: rows are lanes, leaves are evaluated in order. A leaf needs one bit
// of a background row for each feature of its path, so the background is kept, leaf by leaf, as
// the distinct patterns with their counts. Where a row and a pattern together satisfy the path,
// the features that only the row satisfies gain w(s - 1, n), those that only the
// background satisfies lose w(s, n - 1), s and n being the numbers of either and w(a, b) = a! b! /
// (a + b + 1)!, from a table. All sums in double, each block's in its own slice: the same bits on
// every run. O(M sum over leaves of (features + patterns)). Lundberg et al. 2020, algorithm 3; the
// patterns as in WOODELF (Nadel and Wettenstein 2025).

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/treeshap/host/batch_pipeline.hpp"
#include "algorithms/treeshap/host/row_kernels.cuh"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kBlock = 128;
constexpr std::int32_t kMostFeatures = 64;  // features of a path: bits of a pattern
constexpr std::uint32_t kMissingFollows = 1u << 31;
constexpr std::uint32_t kCategories = 1u << 30;
constexpr std::uint32_t kFeature = kCategories - 1;
constexpr std::size_t kColumnBytes = 96 * 1024;  // most shared memory for sums
constexpr std::size_t kPartialBytes = std::size_t{4} << 30;

struct alignas(16) Condition {
  float lower, upper;     // or the offset of the set of categories
  std::uint32_t feature;  // and flags
  std::uint32_t padding;
};

struct Leaf {
  double value;  // the leaf's, over the number of background rows
  std::uint32_t first_condition, conditions;
  std::uint32_t first_pattern, patterns;
};

struct Pattern {
  unsigned long long follows;
  unsigned long long count;
};

struct LeafRange {
  std::uint32_t first, count;
};

struct InterventionalLaunch {
  struct Model {
    const Condition* conditions;
    const Leaf* leaves;
    const Pattern* patterns;
    const LeafRange* ranges;
    const std::uint32_t* sets;
    const double* weights;  // side x side
  } model;
  const float* x;   // features x stride
  double* partial;  // ranges x features x stride
  std::uint32_t side;
  std::uint32_t features;
  std::uint32_t stride;
  bool shared;  // sums are in shared memory
};

__device__ __forceinline__ bool InSet(const std::uint32_t* sets, std::uint32_t offset, float x) {
  const std::uint32_t head = sets[offset];
  if (!(x >= 0) || x >= static_cast<float>((head & 0x7fffffffu) * 32)) return (head >> 31) != 0;
  const auto category = static_cast<std::uint32_t>(x);
  return ((sets[offset + 1 + category / 32] >> (category % 32)) & 1u) != 0;
}

__device__ __forceinline__ unsigned long long RowPattern(const InterventionalLaunch& p,
                                                         const Leaf& leaf, std::uint32_t row) {
  unsigned long long follows = 0;
  for (std::uint32_t i = 0; i < leaf.conditions; ++i) {
    const Condition c = p.model.conditions[leaf.first_condition + i];
    const float x = __ldg(p.x + static_cast<std::size_t>(c.feature & kFeature) * p.stride + row);
    bool yes = x >= c.lower && x < c.upper;
    if ((c.feature & kCategories) != 0) yes = InSet(p.model.sets, __float_as_uint(c.lower), x);
    if (x != x) yes = (c.feature & kMissingFollows) != 0;
    follows |= static_cast<unsigned long long>(yes) << i;
  }
  return follows;
}

__global__ void __launch_bounds__(kBlock) InterventionalKernel(InterventionalLaunch p) {
  extern __shared__ double sums[];
  const std::uint32_t row = blockIdx.x * kBlock + threadIdx.x;
  double* slice =
      p.partial + static_cast<std::size_t>(blockIdx.y) * p.features * p.stride + PositionOfRow(row);
  // Each lane has its own column: no barrier is needed.
  double* column = p.shared ? sums + threadIdx.x : slice;
  const std::size_t step = p.shared ? kBlock : p.stride;
  if (p.shared) {
    for (std::uint32_t f = 0; f < p.features; ++f) column[f * step] = 0;
  }
  const LeafRange range = p.model.ranges[blockIdx.y];
  for (std::uint32_t l = 0; l < range.count; ++l) {
    const Leaf leaf = p.model.leaves[range.first + l];
    const unsigned long long follows = RowPattern(p, leaf, row);
    const unsigned long long all = leaf.conditions == 64 ? ~0ull : (1ull << leaf.conditions) - 1;
    const unsigned long long needed = all & ~follows;
    const int n = __popcll(needed);
    double loss = 0;
    for (std::uint32_t i = 0; i < leaf.patterns; ++i) {
      const Pattern pattern = p.model.patterns[leaf.first_pattern + i];
      if ((needed & ~pattern.follows) != 0) continue;
      unsigned long long gains = follows & ~pattern.follows;
      const int s = __popcll(gains);
      const auto count = static_cast<double>(pattern.count);
      if (n > 0) loss += count * p.model.weights[s * p.side + n - 1];
      if (s == 0) continue;
      const double gain = leaf.value * count * p.model.weights[(s - 1) * p.side + n];
      for (; gains != 0; gains &= gains - 1) {
        const std::uint32_t index =
            leaf.first_condition + __ffsll(static_cast<long long>(gains)) - 1;
        column[(p.model.conditions[index].feature & kFeature) * step] += gain;
      }
    }
    if (loss == 0) continue;
    for (unsigned long long rest = needed; rest != 0; rest &= rest - 1) {
      const std::uint32_t index = leaf.first_condition + __ffsll(static_cast<long long>(rest)) - 1;
      column[(p.model.conditions[index].feature & kFeature) * step] -= leaf.value * loss;
    }
  }
  if (p.shared) {
    for (std::uint32_t f = 0; f < p.features; ++f)
      slice[f * std::size_t{p.stride}] = column[f * step];
  }
}

class InterventionalOnDevice final : public TreeExplainer, public DeviceExplainer {
 public:
  explicit InterventionalOnDevice(int device) : device_(SelectDevice(device)) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    model_ = model;
    paths_ = ExtractPaths(model);
    std::int32_t most = 0;
    for (const Path& path : paths_.paths) most = std::max(most, path.length - 1);
    if (most > kMostFeatures) {
      throw std::invalid_argument(
          "interventional values on the GPU take paths of at most 64 "
          "distinct features; use the CPU");
    }
    std::stable_sort(paths_.paths.begin(), paths_.paths.end(),
                     [](const Path& a, const Path& b) { return a.group < b.group; });
    UploadConditions();
    UploadWeights(static_cast<std::size_t>(most) + 1);
    PlanRanges();
  }

  void set_background(const RowBlock& background) override {
    ValidateRows(shape_, background);
    if (background.rows == 0) throw std::invalid_argument("the background has no rows");
    expected_.assign(static_cast<std::size_t>(shape_.groups), 0.0);
    for (std::size_t b = 0; b < background.rows; ++b) {
      const auto margin = Predict(model_, background.row(b));
      for (std::size_t g = 0; g < margin.size(); ++g) {
        expected_[g] += margin[g] / static_cast<double>(background.rows);
      }
    }
    std::vector<std::vector<Pattern>> lists(paths_.paths.size());
    ParallelFor(lists.size(), 0,
                [&](std::size_t i) { lists[i] = Patterns(paths_.paths[i], background); });
    std::vector<Pattern> patterns;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      leaves_[i].value = paths_.paths[i].value / static_cast<double>(background.rows);
      leaves_[i].first_pattern = static_cast<std::uint32_t>(patterns.size());
      leaves_[i].patterns = static_cast<std::uint32_t>(lists[i].size());
      patterns.insert(patterns.end(), lists[i].begin(), lists[i].end());
    }
    if (patterns.size() > 0xffffffffu) throw std::invalid_argument("too many background rows");
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    device_patterns_ = DeviceArray<Pattern>(std::span<const Pattern>(patterns));
    device_leaves_ = DeviceArray<Leaf>(std::span<const Leaf>(leaves_));
  }

  Results values(const RowBlock& rows) override { return NewValues(*this, shape_, rows); }

  void values_to(const RowBlock& rows, std::span<double> phi) override {
    ValidateRows(shape_, rows);
    RequireSize(phi.size(), rows.rows * ValuesPerRow(shape_));
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    const ResultBlocks to{phi, features() + 1, expected_};
    seconds_ = 0;
    const std::size_t at_once = Plan();
    if (at_once == 0) {
      WriteExpected(to);
      return;
    }
    seconds_ = pipeline_.Run(rows, at_once, 0, to);
  }

  void values_on_device(const DeviceRows& rows) override {
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    pipeline_.RunOnDevice(rows, features(), Plan(), {{}, features() + 1, expected_});
  }

  void interactions_on_device(const DeviceRows& /*rows*/) override {
    throw std::logic_error("interventional SHAP has no interaction values");
  }

  double device_seconds() const override { return seconds_; }

 private:
  std::size_t features() const { return static_cast<std::size_t>(shape_.features); }

  // Once the device's last call is done. @return rows at once; 0: a model without splits
  std::size_t Plan() const {
    pipeline_.IdleOnDevice();
    if (features() == 0 || ranges_.size() == 0) return 0;
    const std::size_t per_row = ranges_.size() * features() * sizeof(double);
    return std::clamp<std::size_t>(kPartialBytes / per_row / kBlock * kBlock, kBlock, 1u << 16);
  }

  void UploadConditions() {
    std::vector<std::uint32_t> sets;
    std::vector<std::uint32_t> offsets;
    for (const CategorySet& set : paths_.category_sets) {
      offsets.push_back(static_cast<std::uint32_t>(sets.size()));
      sets.push_back(static_cast<std::uint32_t>(set.left.size()) |
                     (set.others_left ? 1u << 31 : 0u));
      sets.insert(sets.end(), set.left.begin(), set.left.end());
    }
    std::vector<Condition> conditions;
    leaves_.clear();
    for (const Path& path : paths_.paths) {
      Leaf leaf{};
      leaf.first_condition = static_cast<std::uint32_t>(conditions.size());
      leaf.conditions = static_cast<std::uint32_t>(path.length - 1);
      for (const PathElement& e : paths_.of(path).subspan(1)) {
        Condition c{e.lower, e.upper, static_cast<std::uint32_t>(e.feature), 0};
        if (e.missing_follows) c.feature |= kMissingFollows;
        if (e.categories >= 0) {
          c.feature |= kCategories;
          c.lower = std::bit_cast<float>(offsets[static_cast<std::size_t>(e.categories)]);
        }
        conditions.push_back(c);
      }
      leaves_.push_back(leaf);
    }
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    sets_ = DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(sets));
    conditions_ = DeviceArray<Condition>(std::span<const Condition>(conditions));
  }

  // w(a, 0) = 1 / (a + 1), w(a, b) = w(a, b - 1) b / (a + b + 1).
  void UploadWeights(std::size_t side) {
    side_ = side;
    std::vector<double> weights(side * side);
    for (std::size_t a = 0; a < side; ++a) {
      weights[a * side] = 1.0 / static_cast<double>(a + 1);
      for (std::size_t b = 1; b < side; ++b) {
        weights[a * side + b] =
            weights[a * side + b - 1] * static_cast<double>(b) / static_cast<double>(a + b + 1);
      }
    }
    weights_ = DeviceArray<double>(std::span<const double>(weights));
  }

  std::vector<Pattern> Patterns(const Path& path, const RowBlock& background) const {
    std::vector<unsigned long long> all;
    for (std::size_t b = 0; b < background.rows; ++b) {
      unsigned long long follows = 0;
      for (std::int32_t i = 1; i < path.length; ++i) {
        const PathElement& e = paths_.elements[path.begin + static_cast<std::size_t>(i)];
        const float x = background.row(b)[static_cast<std::size_t>(e.feature)];
        if (Follows(paths_, e, x)) follows |= 1ull << (i - 1);
      }
      all.push_back(follows);
    }
    std::sort(all.begin(), all.end());
    std::vector<Pattern> patterns;
    for (const unsigned long long follows : all) {
      if (patterns.empty() || patterns.back().follows != follows) patterns.push_back({follows, 0});
      ++patterns.back().count;
    }
    return patterns;
  }

  // Cuts each group's leaves into ranges; uploads them and the order of their sums. Ranges depend
  // on the model alone, so results are bitwise independent of the number of rows.
  void PlanRanges() {
    const std::size_t per_range = std::max<std::size_t>(32, paths_.paths.size() / 128);
    std::vector<LeafRange> ranges;
    std::vector<RangeSums> sums;
    for (std::size_t at = 0; at < paths_.paths.size();) {
      const std::size_t first = at;
      const std::int32_t group = paths_.paths[at].group;
      std::vector<std::int32_t> features;
      while (at < paths_.paths.size() && paths_.paths[at].group == group &&
             at - first < per_range) {
        for (const PathElement& element : paths_.of(paths_.paths[at])) {
          if (element.feature >= 0) features.push_back(element.feature);
        }
        ++at;
      }
      std::sort(features.begin(), features.end());
      features.erase(std::unique(features.begin(), features.end()), features.end());
      ranges.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(at - first)});
      sums.push_back({group, std::move(features)});
    }
    ranges_ = DeviceArray<LeafRange>(std::span<const LeafRange>(ranges));
    sums_.Plan(sums, static_cast<std::uint32_t>(shape_.features),
               static_cast<std::uint32_t>(shape_.groups));
  }

  void Explain(const DeviceBatch& batch) {
    const std::uint32_t stride = (batch.count + kBlock - 1) / kBlock * kBlock;
    x_.Reserve(features() * stride);
    TransposeRows(batch.rows, nullptr, batch.count, static_cast<std::uint32_t>(features()), stride,
                  x_.data(), batch.stream);
    partial_.Reserve(sums_.size(stride));
    InterventionalLaunch launch{};
    launch.model.conditions = conditions_.data();
    launch.model.leaves = device_leaves_.data();
    launch.model.patterns = device_patterns_.data();
    launch.model.ranges = ranges_.data();
    launch.model.sets = sets_.data();
    launch.model.weights = weights_.data();
    launch.x = x_.data();
    launch.partial = partial_.data();
    launch.side = static_cast<std::uint32_t>(side_);
    launch.features = static_cast<std::uint32_t>(features());
    launch.stride = stride;
    const std::size_t bytes = features() * kBlock * sizeof(double);
    launch.shared = bytes <= kColumnBytes;
    const std::size_t dynamic = launch.shared ? bytes : 0;
    if (!launch.shared) sums_.Clear(partial_.data(), stride, batch.stream);
    AllowSharedMemory(InterventionalKernel, dynamic);
    const dim3 grid(stride / kBlock, static_cast<unsigned>(ranges_.size()));
    InterventionalKernel<<<grid, kBlock, dynamic, batch.stream>>>(launch);
    CheckCuda(cudaGetLastError(), "interventional kernel");
    sums_.Add(partial_.data(), nullptr, stride, batch.count, true, batch.out, batch.stream);
  }

  int device_;
  TreeEnsemble shape_;  // features and groups alone
  TreeEnsemble model_;
  PathList paths_;
  std::vector<Leaf> leaves_;
  std::vector<double> expected_;
  std::size_t side_ = 1;
  DeviceArray<Condition> conditions_;
  DeviceArray<Leaf> device_leaves_;
  DeviceArray<Pattern> device_patterns_;
  DeviceArray<LeafRange> ranges_;
  DeviceArray<std::uint32_t> sets_;
  PartialSums sums_;
  DeviceArray<double> weights_, partial_;
  DeviceArray<float> x_;
  // Results travel as doubles: they agree with the CPU's to twelve digits.
  DevicePipeline<double> pipeline_{false, [this](const DeviceBatch& batch) { Explain(batch); }};
  double seconds_ = 0;
};

}  // namespace

RETABLE_REGISTER(TreeExplainer, interventional_cuda,
                 {.name = "Interventional",
                  .device = Device::kCuda,
                  .summary = "exact interventional SHAP against the background's patterns",
                  .citation = "Lundberg et al. 2020, algorithm 3; Nadel and Wettenstein 2025",
                  .parameters = {{"device", std::int64_t{0}, "index of the GPU"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<TreeExplainer> {
                    return std::make_unique<InterventionalOnDevice>(
                        static_cast<int>(IntegerParameter(p, "device", 0)));
                  }});

}  // namespace retable::treeshap
