
#include <algorithm>
#include <chrono>
#include <optional>

#include "algorithms/extratrees/published/trainer.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees::published {
namespace {

//! Host memory behind a View.
struct Memory {
  std::vector<float> columns, minimum, maximum, cut;
  std::vector<Cell> nodes;
  std::vector<std::int32_t> batch_pos, length, done, branch, valid, num_valid, feature, left, right,
      best, scratch;
};

View MakeView(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
              std::uint32_t classes, const ForestOptions& options, Sampling sampling, Memory& m) {
  View v = SizesOf(data, classes, options, sampling);
  const std::size_t trees = v.shape.trees;
  const auto take = [](auto& memory, std::size_t count) {
    memory.resize(count);
    return memory.data();
  };
  m.columns = Transposed(data);
  v.data = {data.values, m.columns.data(), labels.data()};
  v.nodes = take(m.nodes, trees * v.capacity * kFields);
  v.progress.batch_pos = take(m.batch_pos, trees * v.shape.rows);
  v.progress.length = take(m.length, trees);
  v.progress.done = take(m.done, trees);
  v.progress.branch = take(m.branch, trees);
  v.scan.minimum = take(m.minimum, trees * v.shape.features);
  v.scan.maximum = take(m.maximum, trees * v.shape.features);
  v.scan.valid = take(m.valid, trees * v.shape.features);
  v.scan.num_valid = take(m.num_valid, trees);
  v.draws.feature = take(m.feature, trees * v.shape.k);
  v.draws.cut = take(m.cut, trees * v.shape.k);
  v.draws.left_count = take(m.left, trees * v.shape.k * classes);
  v.draws.right_count = take(m.right, trees * v.shape.k * classes);
  v.draws.best = take(m.best, trees);
  v.draws.scratch = take(m.scratch, trees * classes);
  return v;
}

class Steps {
 public:
  Steps(View view, Memory& memory) : v_(view), memory_(memory) {}

  void Run(std::int64_t max_steps) {
    ForTrees("kernel_initialize_trees", [&](std::uint32_t t) { InitializeTree(v_, t); });
    std::int32_t longest = 1;
    for (std::int32_t pos = 0; pos < longest; ++pos) {
      if (max_steps > 0 && pos >= max_steps) {
        parts.push_back({"stopped", static_cast<std::uint64_t>(pos), 0});
        return;
      }
      Step(pos);
      longest = *std::max_element(v_.progress.length, v_.progress.length + v_.shape.trees);
      if (static_cast<std::uint32_t>(longest) + 2 > v_.capacity) GrowCapacity();
    }
  }

  const View& view() const { return v_; }
  std::vector<PartTime> parts;

 private:
  void Step(std::int32_t pos) {
    ForTrees("kernel_advance_trees", [&](std::uint32_t t) {
      for (std::uint32_t i = 0; i < v_.shape.rows; ++i) Advance(v_, t, i);
    });
    ForTrees("kernel_refresh_tree_is_done", [&](std::uint32_t t) { RefreshDone(v_, t, pos); });
    ForTrees("kernel_check_node_termination",
             [&](std::uint32_t t) { CheckTermination(v_, t, pos); });
    ForTrees("kernel_collect_min_max", [&](std::uint32_t t) {
      for (std::uint32_t f = 0; f < v_.shape.features; ++f) CollectMinMax(v_, t, f, pos);
    });
    ForTrees("kernel_collect_num_valid_feat", [&](std::uint32_t t) { CollectNumValid(v_, t); });
    ForTrees("kernel_depopulate_valid_feat_idx", [&](std::uint32_t t) {
      for (std::uint32_t f = 0; f < v_.shape.features; ++f) DepopulateValid(v_, t, f);
    });
    ForTrees("kernel_populate_valid_feat_idx", [&](std::uint32_t t) { PopulateValid(v_, t); });
    ForTrees("kernel_populate_feat_cut", [&](std::uint32_t t) {
      if (v_.sampling != Sampling::kUniform) SampleInOrder(v_, t, pos);
      for (std::uint32_t k = 0; k < v_.shape.k; ++k) PopulateFeatCut(v_, t, k, pos);
    });
    ForTrees("kernel_populate_class_counts", [&](std::uint32_t t) {
      for (std::uint32_t k = 0; k < v_.shape.k; ++k) PopulateClassCounts(v_, t, k, pos);
    });
    ForTrees("kernel_place_best_feat_cuts", [&](std::uint32_t t) { PlaceBest(v_, t); });
    ForTrees("kernel_update_trees", [&](std::uint32_t t) { UpdateTree(v_, t, pos); });
  }

  template <class Body>
  void ForTrees(const char* name, const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    ParallelFor(v_.shape.trees, [&](std::size_t t) { body(static_cast<std::uint32_t>(t)); });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    PartTime& part = PartNamed(parts, name);
    ++part.calls;
    part.seconds += time.count();
  }

  //! Doubles M, as the report's trees array grows with the largest tree.
  void GrowCapacity() {
    const std::uint32_t bigger = 2 * v_.capacity;
    std::vector<Cell> nodes(std::size_t{v_.shape.trees} * bigger * kFields);
    for (std::size_t t = 0; t < v_.shape.trees; ++t) {
      std::copy_n(v_.nodes + t * v_.capacity * kFields, std::size_t{v_.capacity} * kFields,
                  nodes.data() + t * bigger * kFields);
    }
    memory_.nodes.swap(nodes);
    v_.nodes = memory_.nodes.data();
    v_.capacity = bigger;
  }

  View v_;
  Memory& memory_;
};

}  // namespace

std::unique_ptr<FittedForest> PublishedCpu::fit(const FeatureMatrix& data, const Targets& targets,
                                                const ForestOptions& options) {
  const std::uint32_t classes = CheckPublished(data, targets, options);
  Memory memory;
  std::optional<Steps> steps;
  WithThreads(threads_, [&] {
    steps.emplace(MakeView(data, targets.labels, classes, options, settings_.sampling, memory),
                  memory);
    steps->Run(settings_.max_steps);
  });
  const View& view = steps->view();
  auto fitted = std::make_unique<HostForest>(ExportForest(view));
  fitted->parts = steps->parts;
  fitted->memory = CountMemory(data.rows, data.columns, view.shape.trees, view.capacity);
  return fitted;
}

RETABLE_REGISTER(ForestTrainer, report,
                 {.name = "report",
                  .summary = "Phang and Tanna's algorithm: one node of every tree a step",
                  .citation = "Phang, Tanna, section IV",
                  .parameters = {{"sampling", std::string("uniform"), "uniform, binomial, normal"},
                                 {"max_steps", std::int64_t{0}, "stop after so many; 0: never"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<PublishedCpu>(
                        Settings{ParseSampling(TextParameter(p, "sampling", "uniform")),
                                 IntParameter(p, "max_steps", 0)},
                        IntParameter(p, "threads", 0));
                  }});

}  // namespace retable::extratrees::published
