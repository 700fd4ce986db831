#include <deque>

#include "algorithms/extratrees/published/trainer.hpp"
#include "algorithms/extratrees/tuning.cuh"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"

namespace retable::extratrees::published {
namespace {

__device__ std::uint32_t Index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

// ---- the report's kernels, by name. grid.y is the tree where a thread is an element of one.

__global__ void kernel_initialize_trees(View v) {
  if (Index() < v.shape.trees) InitializeTree(v, Index());
}
__global__ void kernel_initialize_batch_pos(View v) {
  if (Index() < v.shape.rows)
    v.progress.batch_pos[std::size_t{blockIdx.y} * v.shape.rows + Index()] = 0;
}
__global__ void kernel_advance_trees(View v) {
  if (Index() < v.shape.rows) Advance(v, blockIdx.y, Index());
}
__global__ void kernel_refresh_tree_is_done(View v, std::int32_t pos) {
  if (Index() < v.shape.trees) RefreshDone(v, Index(), pos);
}
__global__ void kernel_check_node_termination(View v, std::int32_t pos) {
  if (Index() < v.shape.trees) CheckTermination(v, Index(), pos);
}
__global__ void kernel_collect_min_max(View v, std::int32_t pos) {
  if (Index() < v.shape.features) CollectMinMax(v, blockIdx.y, Index(), pos);
}
__global__ void kernel_collect_num_valid_feat(View v) {
  if (Index() < v.shape.trees) CollectNumValid(v, Index());
}
__global__ void kernel_depopulate_valid_feat_idx(View v) {
  if (Index() < v.shape.features) DepopulateValid(v, blockIdx.y, Index());
}
__global__ void kernel_populate_valid_feat_idx(View v) {
  if (Index() < v.shape.trees) PopulateValid(v, Index());
}
__global__ void kernel_sample_in_order(View v, std::int32_t pos) {
  if (Index() < v.shape.trees) SampleInOrder(v, Index(), pos);
}
__global__ void kernel_populate_feat_cut(View v, std::int32_t pos) {
  if (Index() < v.shape.k) PopulateFeatCut(v, blockIdx.y, Index(), pos);
}
__global__ void kernel_populate_class_counts(View v, std::int32_t pos) {
  if (Index() < v.shape.k) PopulateClassCounts(v, blockIdx.y, Index(), pos);
}
__global__ void kernel_place_best_feat_cuts(View v) {
  if (Index() < v.shape.trees) PlaceBest(v, Index());
}
__global__ void kernel_update_trees(View v, std::int32_t pos) {
  if (Index() < v.shape.trees) UpdateTree(v, Index(), pos);
}
__global__ void get_max_tree_length(View v, std::int32_t* longest) {
  std::int32_t most = 0;
  for (std::uint32_t t = 0; t < v.shape.trees; ++t) most = max(most, v.progress.length[t]);
  *longest = most;
}
__global__ void kernel_traverse_trees(View v) {
  if (Index() < v.shape.rows) {
    v.progress.batch_pos[std::size_t{blockIdx.y} * v.shape.rows + Index()] =
        Traverse(v, blockIdx.y, Index());
  }
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
      PartTime& part = PartNamed(parts, names_[i]);
      ++part.calls;
      part.seconds += events_[i + 1].SecondsSince(events_[i]);
    }
  }
  std::vector<PartTime> parts;

 private:
  std::deque<CudaEvent> events_{1};
  std::vector<const char*> names_;
};

class PublishedFit {
 public:
  PublishedFit(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
               std::uint32_t classes, const ForestOptions& options, Sampling sampling)
      : v_(SizesOf(data, classes, options, sampling)) {
    const std::vector<float> columns = Transposed(data);
    clock.Begin();
    v_.data.lines = lines_.Upload({data.values, columns.size()});
    clock.Mark("[CUDA_memcpy_HtoD]");
    v_.data.columns = columns_.Upload(columns);
    clock.Mark("[CUDA_memcpy_HtoD]");
    v_.data.labels = labels_.Upload(labels);
    clock.Mark("[CUDA_memcpy_HtoD]");
    const std::size_t trees = v_.shape.trees;
    v_.nodes = nodes_.Zeros(trees * v_.capacity * kFields);
    v_.progress.batch_pos = batch_pos_.Reserve(trees * v_.shape.rows);
    v_.scan.minimum = minimum_.Reserve(trees * v_.shape.features);
    v_.scan.maximum = maximum_.Reserve(trees * v_.shape.features);
    v_.scan.valid = valid_.Reserve(trees * v_.shape.features);
    v_.draws.feature = feature_.Reserve(trees * v_.shape.k);
    v_.draws.cut = cut_.Reserve(trees * v_.shape.k);
    v_.draws.left_count = left_.Reserve(trees * v_.shape.k * classes);
    v_.draws.right_count = right_.Reserve(trees * v_.shape.k * classes);
    v_.draws.scratch = scratch_.Reserve(trees * classes);
    std::int32_t* small = small_.Reserve(5 * trees + 1);
    v_.progress.length = small;
    v_.progress.done = small + trees;
    v_.progress.branch = small + 2 * trees;
    v_.scan.num_valid = small + 3 * trees;
    v_.draws.best = small + 4 * trees;
    longest_ = small + 5 * trees;
    clock.End();
  }

  void Run(std::int64_t max_steps) {
    clock.Begin();
    Launch("kernel_initialize_trees",
           [&] { kernel_initialize_trees<<<Trees(), kTreeThreads>>>(v_); });
    Launch("kernel_initialize_batch_pos",
           [&] { kernel_initialize_batch_pos<<<Grid(v_.shape.rows), kThreads>>>(v_); });
    clock.End();
    std::int32_t longest = 1;
    for (std::int32_t pos = 0; pos < longest; ++pos) {
      if (max_steps > 0 && pos >= max_steps) {
        clock.parts.push_back({"stopped", static_cast<std::uint64_t>(pos), 0});
        return;
      }
      longest = Step(pos);
      if (static_cast<std::uint32_t>(longest) + 2 > v_.capacity) GrowCapacity();
    }
  }

  //! Runs the training rows through the trees (the last kernels of table II) and copies the trees.
  Forest Finish(const FeatureMatrix& data, std::span<const std::uint32_t> labels) {
    clock.Begin();
    Launch("kernel_traverse_trees",
           [&] { kernel_traverse_trees<<<Grid(v_.shape.rows), kThreads>>>(v_); });
    DeviceArray<std::int32_t> classes;
    std::int32_t* raw = classes.Reserve(std::size_t{v_.shape.trees} * v_.shape.rows);
    Launch("kernel_raw_predict",
           [&] { kernel_raw_predict<<<Grid(v_.shape.rows), kThreads>>>(v_, raw); });
    clock.End();
    std::vector<Cell> nodes(std::size_t{v_.shape.trees} * v_.capacity * kFields);
    std::vector<std::int32_t> length(v_.shape.trees);
    nodes_.Download(nodes);
    RETABLE_CUDA_CHECK(
        cudaMemcpy(length.data(), v_.progress.length, 4 * length.size(), cudaMemcpyDeviceToHost));
    View host = v_;
    host.nodes = nodes.data();
    host.progress.length = length.data();
    host.data.lines = data.values;
    host.data.labels = labels.data();
    return ExportForest(host);
  }

  const View& view() const { return v_; }
  StepClock clock;

 private:
  dim3 Grid(std::uint32_t n) const { return dim3((n + kThreads - 1) / kThreads, v_.shape.trees); }
  std::uint32_t Trees() const { return (v_.shape.trees + kTreeThreads - 1) / kTreeThreads; }

  template <class Body>
  void Launch(const char* name, const Body& body) {
    body();
    RETABLE_CUDA_CHECK(cudaGetLastError());
    clock.Mark(name);
  }

  std::int32_t Step(std::int32_t pos) {
    clock.Begin();
    Launch("kernel_advance_trees",
           [&] { kernel_advance_trees<<<Grid(v_.shape.rows), kThreads>>>(v_); });
    Launch("kernel_refresh_tree_is_done",
           [&] { kernel_refresh_tree_is_done<<<Trees(), kTreeThreads>>>(v_, pos); });
    Launch("kernel_check_node_termination",
           [&] { kernel_check_node_termination<<<Trees(), kTreeThreads>>>(v_, pos); });
    Launch("kernel_collect_min_max",
           [&] { kernel_collect_min_max<<<Grid(v_.shape.features), kThreads>>>(v_, pos); });
    Launch("kernel_collect_num_valid_feat",
           [&] { kernel_collect_num_valid_feat<<<Trees(), kTreeThreads>>>(v_); });
    Launch("kernel_depopulate_valid_feat_idx",
           [&] { kernel_depopulate_valid_feat_idx<<<Grid(v_.shape.features), kThreads>>>(v_); });
    Launch("kernel_populate_valid_feat_idx",
           [&] { kernel_populate_valid_feat_idx<<<Trees(), kTreeThreads>>>(v_); });
    Launch("kernel_populate_feat_cut", [&] {
      if (v_.sampling != Sampling::kUniform) {
        kernel_sample_in_order<<<Trees(), kTreeThreads>>>(v_, pos);
      }
      kernel_populate_feat_cut<<<Grid(v_.shape.k), kThreads>>>(v_, pos);
    });
    Launch("kernel_populate_class_counts",
           [&] { kernel_populate_class_counts<<<Grid(v_.shape.k), kThreads>>>(v_, pos); });
    Launch("kernel_place_best_feat_cuts",
           [&] { kernel_place_best_feat_cuts<<<Trees(), kTreeThreads>>>(v_); });
    Launch("kernel_update_trees", [&] { kernel_update_trees<<<Trees(), kTreeThreads>>>(v_, pos); });
    Launch("get_max_tree_length", [&] { get_max_tree_length<<<1, 1>>>(v_, longest_); });
    std::int32_t longest = 0;
    RETABLE_CUDA_CHECK(cudaMemcpy(&longest, longest_, 4, cudaMemcpyDeviceToHost));
    clock.Mark("[CUDA_memcpy_DtoH]");
    clock.End();
    return longest;
  }

  void GrowCapacity() {
    const std::uint32_t bigger = 2 * v_.capacity;
    DeviceArray<Cell> nodes;
    nodes.Zeros(std::size_t{v_.shape.trees} * bigger * kFields);
    const std::size_t width = std::size_t{v_.capacity} * kFields * sizeof(Cell);
    clock.Begin();
    RETABLE_CUDA_CHECK(cudaMemcpy2DAsync(nodes.data(), 2 * width, v_.nodes, width, width,
                                         v_.shape.trees, cudaMemcpyDeviceToDevice));
    clock.Mark("[CUDA_memcpy_DtoD]");
    clock.End();
    nodes_.swap(nodes);
    v_.nodes = nodes_.data();
    v_.capacity = bigger;
  }

  View v_;
  std::int32_t* longest_ = nullptr;
  DeviceArray<float> lines_, columns_, minimum_, maximum_, cut_;
  DeviceArray<std::uint32_t> labels_;
  DeviceArray<Cell> nodes_;
  DeviceArray<std::int32_t> batch_pos_, valid_, feature_, left_, right_, scratch_, small_;
};

}  // namespace

std::unique_ptr<FittedForest> PublishedCuda::fit(const FeatureMatrix& data, const Targets& targets,
                                                 const ForestOptions& options) {
  const std::uint32_t classes = CheckPublished(data, targets, options);
  PublishedFit fit(data, targets.labels, classes, options, settings_.sampling);
  fit.Run(settings_.max_steps);
  auto fitted = std::make_unique<HostForest>(fit.Finish(data, targets.labels));
  fitted->parts = fit.clock.parts;
  fitted->memory =
      CountMemory(data.rows, data.columns, fit.view().shape.trees, fit.view().capacity);
  return fitted;
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
