#include "baselines/treeshap/rapids_gpu_tree_shap.hpp"

#if defined(RETABLE_HAS_GPUTREESHAP)

#include <GPUTreeShap/gpu_treeshap.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "algorithms/treeshap/host/device_pipeline.hpp"
#include "algorithms/treeshap/published/paths.hpp"

namespace retable::baselines::treeshap {

namespace {

using namespace retable::treeshap;

using Condition = gpu_treeshap::XgboostSplitCondition;
using Element = gpu_treeshap::PathElement<Condition>;
using Allocator = thrust::device_allocator<int>;
using Elements = thrust::device_vector<Element>;
using Sizes = thrust::device_vector<std::size_t>;

// Rows in device memory, as the library reads them.
class DeviceRows {
 public:
  DeviceRows(const float* data, std::size_t rows, std::size_t columns)
      : data_(data), rows_(rows), columns_(columns) {}
  __host__ __device__ std::size_t NumRows() const { return rows_; }
  __host__ __device__ std::size_t NumCols() const { return columns_; }
  __device__ float GetElement(std::size_t row, std::size_t column) const {
    return data_[row * columns_ + column];
  }

 private:
  const float* data_;
  std::size_t rows_, columns_;
};

std::vector<Element> Convert(const PathList& list) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<Element> elements;
  elements.reserve(list.elements.size());
  for (std::size_t p = 0; p < list.paths.size(); ++p) {
    const Path& path = list.paths[p];
    const auto value = static_cast<float>(path.value);
    for (const PathElement& e : list.of(path)) {
      if (e.categories >= 0) {
        throw std::invalid_argument("RAPIDS GPUTreeShap takes numerical splits alone");
      }
      const bool bias = e.feature < 0;
      const float upper = bias ? infinity : std::max(e.lower, e.upper);
      const Condition condition(bias ? -infinity : e.lower, upper, bias || e.missing_follows);
      elements.emplace_back(p, e.feature, path.group, condition, e.zero_fraction, value);
    }
  }
  return elements;
}

class Rapids final : public TreeExplainer {
 public:
  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    expected_ = ExpectedMargins(model);
    const std::vector<Element> elements = Convert(ExtractPaths(model));
    Elements device(elements.begin(), elements.end());
    elements_.clear();
    bins_.clear();
    gpu_treeshap::detail::PreprocessPaths<Allocator, Condition>(&device, &elements_, &bins_);
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    Run(rows, {phi, side(), expected_}, [&](const DeviceRows& x, double* out) {
      gpu_treeshap::detail::ComputeShap(x, bins_, elements_, expected_.size(), out);
    });
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    Run(rows, {matrices, side() * side(), expected_}, [&](const DeviceRows& x, double* out) {
      gpu_treeshap::detail::ComputeShapInteractions(x, bins_, elements_, expected_.size(), out);
    });
  }

  double device_seconds() const override { return seconds_; }

 private:
  using Compute = std::function<void(const DeviceRows&, double*)>;

  void Run(const RowBlock& rows, const ResultBlocks& to, const Compute& compute) {
    compute_ = &compute;
    seconds_ = 0;
    pipeline_.Run(rows, elements_.empty() ? 0 : RowsPerPiece(to.block * expected_.size()), 0, to);
  }

  // The library works in the default stream.
  bool Explain(const DeviceBatch& batch) {
    CheckCuda(cudaStreamSynchronize(batch.stream), "rows");
    start_.Record(nullptr);
    (*compute_)(DeviceRows(batch.rows, batch.count, static_cast<std::size_t>(shape_.features)),
                batch.out);
    CheckCuda(cudaGetLastError(), "RAPIDS GPUTreeShap");
    stop_.Record(nullptr);
    seconds_ += stop_.SecondsSince(start_);
    return false;
  }

  std::vector<double> expected_;
  Elements elements_;
  Sizes bins_;
  const Compute* compute_ = nullptr;  // the current call's
  CudaEvent start_, stop_;
  DevicePipeline<float> pipeline_{true,
                                  [this](const DeviceBatch& batch) { return Explain(batch); }};
  double seconds_ = 0;
};

}  // namespace

bool RapidsIsHere() {
  return true;
}

std::unique_ptr<TreeExplainer> MakeRapids() {
  return std::make_unique<Rapids>();
}

}  // namespace retable::baselines::treeshap

#endif
