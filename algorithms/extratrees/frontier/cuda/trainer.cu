#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <iterator>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/frontier/cuda/device_forest.cuh"
#include "base/cuda/devices.hpp"

namespace retable::extratrees {

using namespace frontier;

namespace frontier {

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Entries of each queue and of the pool.
struct Capacity {
  std::uint64_t nodes, ids, large, block, warp, subtrees, mixed, cuts, sums, values, gains;

  std::uint64_t Bytes() const {
    return nodes * (2 * sizeof(HotNode) + sizeof(ColdNode) + kExportBytes) * 5 / 4 +
           sums * sizeof(NodeSums) + (values + gains) * 16 + ids * 8 +
           (2 * (large + block + warp) + subtrees + mixed) * sizeof(Task) + cuts;
  }
};

void ReserveBuffers(const Capacity& c, Buffers& b) {
  b.hot.Reserve(c.nodes);
  b.cold.Reserve(c.nodes);
  b.ids[0].Reserve(c.ids);
  b.ids[1].Reserve(c.ids);
  for (auto& parity : b.queue) {
    parity[0].Reserve(c.large);
    parity[1].Reserve(c.block);
    parity[2].Reserve(c.warp);
  }
  b.subtrees.Reserve(c.subtrees);
  b.mixed.Reserve(c.mixed);
  b.large_cuts.Reserve(c.cuts);
  b.counters.Reserve(kCounters);
  if (c.sums > 0) b.sums.Reserve(c.sums);
  if (c.values > 0) b.leaf_values.Reserve(c.values);
  if (c.gains > 0) b.gains.Reserve(c.gains);
}

template <class T>
void UploadAll(DeviceArray<T>& to, const std::vector<T>& from) {
  if (!from.empty()) to.Upload(from);
}

void UploadTargets(const EncodedMatrix& m, Buffers& b) {
  UploadAll(b.weight, m.targets.weight);
  UploadAll(b.sum, m.targets.sum);
  UploadAll(b.squares, m.targets.squares);
  UploadAll(b.target, m.targets.value);
  UploadAll(b.draw_up_to, m.draw_up_to);
  if (m.plain || m.regression) return;
  std::vector<std::int64_t> class_weight(m.classes, 0);
  for (std::uint32_t c = 0; c < m.classes; ++c) {
    for (std::uint32_t i = m.class_start[c]; i < m.class_start[c + 1]; ++i) {
      class_weight[c] += m.targets.weight[i];
    }
  }
  UploadAll(b.class_weight, class_weight);
}

void UploadData(const EncodedMatrix& m, Buffers& b) {
  std::vector<std::uint16_t> class_of(m.rows);
  for (std::uint32_t c = 0; !m.regression && c < m.classes; ++c) {
    std::fill(class_of.begin() + m.class_start[c], class_of.begin() + m.class_start[c + 1],
              static_cast<std::uint16_t>(c));
  }
  b.lines.Upload({m.line_codes.get(), m.CodeBytes()});
  b.columns.Reserve(m.CodeBytes());
  UploadAll(b.values, m.values);
  UploadAll(b.table_start, m.table_start);
  UploadAll(b.class_start, m.class_start);
  b.class_of.Upload(class_of);
  UploadTargets(m, b);
}

template <class Code>
GrowResult GrowTyped(const EncodedMatrix& m, const ForestOptions& options,
                     const FrontierSteps& steps, std::uint32_t first_tree, std::uint32_t trees,
                     bool first_batch, Buffers& b, DeviceArray<NodeFacts>& facts) {
  Code* lines = reinterpret_cast<Code*>(b.lines.data());
  Code* columns = reinterpret_cast<Code*>(b.columns.data());
  if (first_batch) PrepareCodes<Code>(lines, columns, m.columns, m.rows);
  const std::uint32_t k = ResolveMaxFeatures(options.max_features, m.columns, m.regression);
  const Problem<Code> p{
      .data = {columns, lines, b.values.data(), b.table_start.data(), b.class_of.data(),
               b.class_start.data()},
      .sizes = {m.rows, m.columns, m.classes, k, first_tree, trees},
      .rules = {options.seed, Limits(options, m.rows), options.constant_rule, steps},
      .targets = {m.plain, m.regression, m.has_missing, m.targets.scale, b.weight.data(),
                  b.sum.data(), b.squares.data(), b.target.data(),
                  options.bootstrap ? nullptr : b.class_weight.data()},
      .pool = {.sums = b.sums.data(),
               .hot = b.hot.data(),
               .cold = b.cold.data(),
               .ids = {b.ids[0].data(), b.ids[1].data()},
               .counters = b.counters.data(),
               .next = {},
               .leaf_weights = nullptr,
               .leaf_values = b.leaf_values.data(),
               .large_cuts = b.large_cuts.data(),
               .gains = options.max_leaf_nodes > 0 ? b.gains.data() : nullptr}};
  return GrowBatch<Code>(p, b, options.bootstrap,
                         m.draw_up_to.empty() ? nullptr : b.draw_up_to.data(), facts);
}

// Grows a batch and copies its nodes out of the working pool, at their true size.
DeviceTrees GrowTrees(const EncodedMatrix& m, const ForestOptions& options,
                      const FrontierSteps& steps, std::uint32_t first_tree, std::uint32_t trees,
                      bool first_batch, Buffers& b) {
  const auto grow = m.are_values ? GrowTyped<std::uint32_t> : GrowTyped<std::uint8_t>;
  DeviceTrees kept;
  const GrowResult grown = grow(m, options, steps, first_tree, trees, first_batch, b, kept.facts);
  kept.trees = trees;
  kept.nodes = grown.nodes;
  const auto copy = [](auto& to, const auto& from, std::size_t count) {
    if (count == 0) return;
    RETABLE_CUDA_CHECK(cudaMemcpyAsync(to.Reserve(count), from.data(), count * sizeof(*from.data()),
                                       cudaMemcpyDeviceToDevice));
  };
  copy(kept.hot, b.hot, grown.nodes);
  kept.leaf_value_count = m.regression ? grown.nodes : std::size_t{grown.mixed} * m.classes;
  copy(kept.leaf_values, b.leaf_values, kept.leaf_value_count);
  RETABLE_CUDA_CHECK(cudaDeviceSynchronize());
  return kept;
}

// Steps that the rule or the sizes allow: the other kernels serve every case.
FrontierSteps AllowedSteps(FrontierSteps steps, const ForestOptions& options, std::uint32_t k,
                           const EncodedMatrix& matrix) {
  if (!matrix.plain) steps = {true, false, true, steps.columns};
  if (options.constant_rule == ConstantRule::kPublished) steps.subtrees = false;
  if (options.constant_rule != ConstantRule::kScikitLearn || k > kMaxLargeCandidates ||
      matrix.classes > kMaxLargeClasses) {
    steps.columns = false;
  }
  return steps;
}

//! The trees of a forest that one device grows.
struct Shard {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<DeviceTrees> batches;
  Forest tops;  //!< the trees where the number of leaves is limited; there are no batches then
  double upload = 0;
  double grow = 0;
  std::uint64_t working_bytes = 0;
};

//! What a device keeps between fits.
struct DeviceState {
  int device = 0;
  Buffers buffers;
  std::shared_ptr<Staging> staging = std::make_shared<Staging>();  //!< its forests' too
  std::uint64_t budget = 0;

  explicit DeviceState(int number) : device(SelectDevice(number)) {
    std::size_t available = 0;
    std::size_t total = 0;
    RETABLE_CUDA_CHECK(cudaMemGetInfo(&available, &total));
    budget = available / 10 * 9;
  }
};

struct FitPlan {
  const EncodedMatrix& matrix;
  const ForestOptions& options;
  FrontierSteps steps;
  std::uint32_t k;
  int batch_trees;
  std::uint64_t memory_bytes;  //!< upper bound of the device's budget; 0: none

  //! What so many trees can need at most.
  Capacity Of(std::uint64_t trees) const {
    const std::uint64_t rows = matrix.rows, code_bytes = matrix.BytesOfCode();
    Capacity c{};
    c.nodes = trees * (2 * rows - 1) + trees * (rows / 4) + (1u << 20);  // warps reserve ahead
    c.ids = trees * rows;
    c.large = steps.columns ? trees * (rows / (LargerThan(k) / code_bytes + 1)) + 1 : 1;
    c.block = trees * (rows / (kWarpRows / code_bytes + 1)) + 1;
    c.warp = trees * (rows / (steps.subtrees ? kSubtreeRows + 1 : 2)) + 1;
    c.subtrees = steps.subtrees ? trees * (rows / 2) + 1 : 1;
    c.mixed = trees * (rows / 2) + 1;
    c.cuts = steps.columns ? c.large * k * kLargeCutBytes : 1;
    c.sums = matrix.plain ? 0 : c.nodes;
    c.values = matrix.regression ? c.nodes : 0;
    c.gains = options.max_leaf_nodes > 0 ? c.nodes : 0;
    return c;
  }

  //! Trees that a device grows at once.
  std::uint32_t Batch(std::uint64_t budget, std::uint32_t wanted) const {
    const std::uint64_t data_bytes = matrix.Bytes() + matrix.CodeBytes();
    const std::uint64_t one = Of(1).Bytes();
    if (data_bytes + one > budget) {
      throw std::runtime_error(
          "the device has " + std::to_string(budget) + " bytes to spare, one tree needs " +
          std::to_string(data_bytes + one) + ": use fewer rows or the CPU backend");
    }
    const std::uint64_t per_tree = std::max<std::uint64_t>((Of(9).Bytes() - one) / 8, 1);
    std::uint64_t trees = 1 + (budget - data_bytes - one) / per_tree;
    // Nodes are numbered in 31 bits, with room for what warps reserve ahead.
    trees = std::min<std::uint64_t>(trees, (std::uint64_t{1} << 31) / matrix.rows / 5 * 2);
    if (batch_trees > 0) {
      trees = std::min<std::uint64_t>(trees, static_cast<std::uint64_t>(batch_trees));
    }
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(trees, 1, wanted));
  }
};

void GrowShard(const FitPlan& plan, DeviceState& state, Shard& shard) {
  const double started = Now();
  RETABLE_CUDA_CHECK(cudaSetDevice(state.device));
  const std::uint32_t batch =
      plan.Batch(plan.memory_bytes > 0 ? std::min(plan.memory_bytes, state.budget) : state.budget,
                 shard.last - shard.first);
  ReserveBuffers(plan.Of(batch), state.buffers);
  UploadData(plan.matrix, state.buffers);
  const double uploaded = Now();
  for (std::uint32_t first = shard.first; first < shard.last; first += batch) {
    const std::uint32_t trees = std::min(batch, shard.last - first);
    DeviceTrees grown = GrowTrees(plan.matrix, plan.options, plan.steps, first, trees,
                                  first == shard.first, state.buffers);
    grown.device = state.device;
    grown.staging = state.staging;
    if (plan.options.max_leaf_nodes == 0) {
      shard.batches.push_back(std::move(grown));
      continue;
    }
    AppendTrees(grown,
                {plan.options.max_leaf_nodes, state.buffers.gains.data(),
                 PowerOfTwo(plan.matrix.targets.scale.weight_bits)},
                shard.tops);
  }
  shard.upload = uploaded - started;
  shard.grow = Now() - uploaded;
  shard.working_bytes = plan.Of(batch).Bytes();
}

//! Every shard on its own device, each from its own thread.
void GrowShards(const FitPlan& plan, std::vector<std::unique_ptr<DeviceState>>& states,
                std::vector<Shard>& shards) {
  if (shards.size() == 1) return GrowShard(plan, *states[0], shards[0]);
  std::vector<std::future<void>> growing;
  for (std::size_t d = 0; d < shards.size(); ++d) {
    growing.push_back(
        std::async(std::launch::async, [&, d] { GrowShard(plan, *states[d], shards[d]); }));
  }
  for (std::future<void>& shard : growing) shard.get();
}

}  // namespace
}  // namespace frontier

struct FrontierCuda::State {
  std::vector<std::unique_ptr<DeviceState>> devices;
  std::shared_ptr<std::uint8_t>
      pinned;  //!< codes before their upload: pinned memory is copied at the speed of the bus
  std::size_t pinned_bytes = 0;

  std::shared_ptr<std::uint8_t> Pinned(std::size_t bytes) {
    if (bytes > pinned_bytes) {
      pinned.reset();
      const auto memory = std::make_shared<PinnedArray<std::uint8_t>>();
      pinned = {memory, memory->Reserve(bytes)};
      pinned_bytes = bytes;
    }
    return pinned;
  }
};

FrontierCuda::FrontierCuda(FrontierSteps steps, int batch_trees, int devices,
                           std::int64_t memory_mb)
    : steps_(steps),
      batch_trees_(batch_trees),
      devices_(devices),
      memory_bytes_(static_cast<std::uint64_t>(memory_mb) << 20) {}
FrontierCuda::~FrontierCuda() = default;

std::unique_ptr<FittedForest> FrontierCuda::fit(const FeatureMatrix& data, const Targets& targets,
                                                const ForestOptions& options) {
  const std::uint32_t classes = CheckTraining(data, targets, options);
  if (options.min_weight_fraction_leaf > 0 && targets.weights.empty()) {
    // Rows that weigh the same are counted.
    const double least = options.min_weight_fraction_leaf * static_cast<double>(data.rows);
    ForestOptions counted = options;
    counted.min_samples_leaf =
        std::max(options.min_samples_leaf, static_cast<int>(std::ceil(least)));
    counted.min_weight_fraction_leaf = 0;
    return fit(data, targets, counted);
  }
  const int present = CudaDeviceCount();
  if (present == 0) throw std::runtime_error("no CUDA device: use the method's CPU backend");
  if (devices_ < 0 || devices_ > present) {
    throw std::invalid_argument("devices is " + std::to_string(devices_) + ": there are " +
                                std::to_string(present) + "; 0 takes all");
  }
  const int used = std::min(devices_ == 0 ? present : devices_, options.n_trees);
  if (state_ == nullptr) state_ = std::make_unique<State>();
  while (state_->devices.size() < static_cast<std::size_t>(used)) {
    const auto next = static_cast<int>(state_->devices.size());
    state_->devices.push_back(std::make_unique<DeviceState>(next));
  }
  RETABLE_CUDA_CHECK(cudaSetDevice(0));

  const double started = Now();
  const EncodedMatrix matrix = Encode(data, targets, classes, options.bootstrap,
                                      [this](std::size_t bytes) { return state_->Pinned(bytes); });
  const double encoded = Now();
  const std::uint32_t k = ResolveMaxFeatures(options.max_features, data.columns, matrix.regression);
  const FitPlan plan{matrix, options,      AllowedSteps(steps_, options, k, matrix),
                     k,      batch_trees_, memory_bytes_};
  std::vector<Shard> shards(static_cast<std::size_t>(used));
  const auto all = static_cast<std::uint64_t>(options.n_trees);
  for (std::size_t d = 0; d < shards.size(); ++d) {
    shards[d].first = static_cast<std::uint32_t>(all * d / shards.size());
    shards[d].last = static_cast<std::uint32_t>(all * (d + 1) / shards.size());
    shards[d].tops = EmptyForest(data, targets, classes, options);
  }
  GrowShards(plan, state_->devices, shards);
  RETABLE_CUDA_CHECK(cudaSetDevice(0));

  Forest tops = EmptyForest(data, targets, classes, options);
  for (Shard& shard : shards) {
    std::move(shard.tops.trees.begin(), shard.tops.trees.end(), std::back_inserter(tops.trees));
  }
  auto forest = tops.trees.empty()
                    ? std::make_unique<DeviceForest>(std::move(tops))
                    : std::make_unique<DeviceForest>(std::move(tops), state_->devices[0]->staging);
  double upload = 0;
  double grow = 0;
  for (Shard& shard : shards) {
    for (DeviceTrees& batch : shard.batches) forest->Add(std::move(batch));
    upload = std::max(upload, shard.upload);
    grow = std::max(grow, shard.grow);
    forest->memory["working"] += shard.working_bytes;
    forest->memory["codes"] += matrix.Bytes() + matrix.CodeBytes();
  }
  forest->parts = {{"encode", 1, encoded - started}, {"upload", 1, upload}, {"grow", 1, grow}};
  return forest;
}

RETABLE_REGISTER(ForestTrainer, frontier,
                 {.name = "frontier",
                  .device = Device::kCuda,
                  .summary = "exact ExtraTrees, all nodes of a level at once",
                  .citation = "Geurts, Ernst, Wehenkel 2006; Phang, Tanna, section VI.A",
                  .parameters = {{"steps", std::string("columns"), "rung of the ladder"},
                                 {"batch_trees", std::int64_t{0}, "trees at once; 0: what fits"},
                                 {"devices", std::int64_t{1}, "GPUs; 0: all"},
                                 {"memory_mb", std::int64_t{0}, "MiB a GPU; 0: what is free"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<FrontierCuda>(
                        ParseFrontierSteps(TextParameter(p, "steps", "columns")),
                        IntParameter(p, "batch_trees", 0), IntParameter(p, "devices", 1),
                        IntParameter(p, "memory_mb", 0));
                  }});

}  // namespace retable::extratrees
