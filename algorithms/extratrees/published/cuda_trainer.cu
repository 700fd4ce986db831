#include <deque>

#include "algorithms/extratrees/published/growth.hpp"
#include "algorithms/extratrees/tuning.cuh"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"

namespace retable::extratrees::published {
namespace {

__device__ std::uint32_t Index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

template <auto kFunction, class... Position>
__global__ void ForTrees(View v, Position... position) {
  if (Index() < v.shape.trees) kFunction(v, Index(), position...);
}

//! grid.y is the tree.
template <auto kFunction, Each kEach, class... Position>
__global__ void ForElements(View v, Position... position) {
  if (Index() < CountOf(kEach, v.shape)) kFunction(v, blockIdx.y, Index(), position...);
}

__global__ void get_max_tree_length(View v, std::int32_t* longest) {
  std::int32_t most = 0;
  for (std::uint32_t t = 0; t < v.shape.trees; ++t) most = max(most, v.progress.length[t]);
  *longest = most;
}
__global__ void kernel_raw_predict(View v, std::int32_t* classes) {
  if (Index() >= v.shape.rows) return;
  const std::size_t at = std::size_t{blockIdx.y} * v.shape.rows + Index();
  classes[at] = v.Node(blockIdx.y, v.progress.batch_pos[at])[kClass].integer;
}

//! Times the launches of a step with events between them; read once a step.
class StepClock {
 public:
  void Begin() {
    names_.clear();
    events_[0].Record();
  }
  void Mark(const char* name) {
    names_.push_back(name);
    if (events_.size() <= names_.size()) events_.emplace_back();
    events_[names_.size()].Record();
  }
  void End() {
    events_[names_.size()].Wait();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      AddTo(parts, names_[i], events_[i + 1].SecondsSince(events_[i]));
    }
  }
  std::vector<PartTime> parts;

 private:
  std::deque<CudaEvent> events_{1};
  std::vector<const char*> names_;
};

class Gpu {
 public:
  Gpu(const FeatureMatrix& data, std::span<const std::uint32_t> labels, const View& sizes)
      : view(sizes) {
    const std::vector<float> columns = Transposed(data);
    clock.Begin();
    view.data.lines = memory_.lines.Upload({data.values, columns.size()});
    clock.Mark("[CUDA_memcpy_HtoD]");
    view.data.columns = memory_.columns.Upload(columns);
    clock.Mark("[CUDA_memcpy_HtoD]");
    view.data.labels = memory_.labels.Upload(labels);
    clock.Mark("[CUDA_memcpy_HtoD]");
    clock.End();
    const auto take = [](auto& array, std::size_t count) { return array.Zeros(count); };
    Reserve(memory_, take, view);
  }

  template <auto kFunction, Each kEach, class... Position>
  void Run(Rule<kFunction, kEach>, Position... position) {
    if constexpr (kEach == Each::kTree) {
      const std::uint32_t blocks = (view.shape.trees + kTreeThreads - 1) / kTreeThreads;
      ForTrees<kFunction><<<blocks, kTreeThreads>>>(view, position...);
    } else {
      ForElements<kFunction, kEach>
          <<<Grid(CountOf(kEach, view.shape)), kThreads>>>(view, position...);
    }
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }

  std::int32_t Longest() {
    get_max_tree_length<<<1, 1>>>(view, longest_.data());
    RETABLE_CUDA_CHECK(cudaGetLastError());
    clock.Mark("get_max_tree_length");
    std::int32_t longest = 0;
    longest_.Download({&longest, 1});
    clock.Mark("[CUDA_memcpy_DtoH]");
    return longest;
  }

  void GrowCapacity() {
    const std::uint32_t bigger = 2 * view.capacity;
    DeviceArray<Cell> nodes;
    nodes.Zeros(std::size_t{view.shape.trees} * bigger * kFields);
    const std::size_t width = std::size_t{view.capacity} * kFields * sizeof(Cell);
    clock.Begin();
    RETABLE_CUDA_CHECK(cudaMemcpy2DAsync(nodes.data(), 2 * width, view.nodes, width, width,
                                         view.shape.trees, cudaMemcpyDeviceToDevice));
    clock.Mark("[CUDA_memcpy_DtoD]");
    clock.End();
    memory_.nodes.swap(nodes);
    view.nodes = memory_.nodes.data();
    view.capacity = bigger;
  }

  //! Runs the training rows through the trees (the last kernels of table II) and copies the trees.
  std::unique_ptr<FittedForest> Finish(const TrainingRows& host_data) {
    clock.Begin();
    Run(Rule<GoToLeaf, Each::kRow>());
    clock.Mark("kernel_traverse_trees");
    const DeviceArray<std::int32_t> classes(std::size_t{view.shape.trees} * view.shape.rows);
    kernel_raw_predict<<<Grid(view.shape.rows), kThreads>>>(view, classes.data());
    RETABLE_CUDA_CHECK(cudaGetLastError());
    clock.Mark("kernel_raw_predict");
    clock.End();
    std::vector<Cell> nodes(std::size_t{view.shape.trees} * view.capacity * kFields);
    std::vector<std::int32_t> length(view.shape.trees);
    memory_.nodes.Download(nodes);
    memory_.length.Download(length);
    View host = view;
    host.nodes = nodes.data();
    host.progress.length = length.data();
    host.data = host_data;
    return Fitted(host, std::move(clock.parts));
  }

  View view;
  StepClock clock;

 private:
  dim3 Grid(std::uint32_t n) const { return dim3((n + kThreads - 1) / kThreads, view.shape.trees); }

  Memory<DeviceArray> memory_;
  DeviceArray<std::int32_t> longest_{1};
};

}  // namespace

std::unique_ptr<FittedForest> PublishedCuda::fit(const FeatureMatrix& data, const Targets& targets,
                                                 const ForestOptions& options) {
  Gpu gpu(data, targets.labels, CheckPublished(data, targets, options, settings_.sampling));
  GrowTrees(gpu, settings_.max_steps);
  return gpu.Finish({data.values, nullptr, targets.labels.data()});
}

RETABLE_REGISTER(
    ForestTrainer, report,
    {.name = "report",
     .device = Device::kCuda,
     .summary = "Phang and Tanna's algorithm and kernels: one node of every tree a step",
     .citation = "Phang, Tanna, section IV",
     .parameters = {{"sampling", std::string("uniform"), "uniform, binomial, normal"},
                    {"max_steps", std::int64_t{0}, "stop after so many; 0: never"}},
     .make = [](const Parameters& p) {
       return std::make_unique<PublishedCuda>(
           Settings{ParseSampling(TextParameter(p, "sampling", "uniform")),
                    IntParameter(p, "max_steps", 0)});
     }});

}  // namespace retable::extratrees::published
