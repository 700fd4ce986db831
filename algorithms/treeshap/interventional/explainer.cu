// "Interventional" on the GPU: the mathematics of interventional/tables.hpp, one copy for both
// devices. Background rows pass through the device in pieces, as large as rows to explain, and
// leave counts of patterns behind, so that no number of them has to fit. A block makes a treelet's
// table. Rows are lanes: one kernel writes the patterns of a few thousand rows, another adds up,
// for one feature and 512 rows, what they find in that feature's columns, in the order of the
// treelets: double, without atomics, the same bits on every run. Leaves too deep for tables keep
// the background's distinct patterns (interventional/device_patterns.cuh). O((M + B) patterns).
// Nadel and Wettenstein 2025; Lundberg et al. 2020, algorithm 3.

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/host/device_pipeline.hpp"
#include "algorithms/treeshap/host/row_kernels.cuh"
#include "algorithms/treeshap/interventional/device_patterns.cuh"
#include "algorithms/treeshap/interventional/device_tables.cuh"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

namespace {

class InterventionalOnDevice final : public TreeExplainer {
 public:
  explicit InterventionalOnDevice(int device) : device_(SelectDevice(device)) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    expected_.clear();
    for (const Tree& tree : model.trees) {
      Require(
          MaxPathFeatures(tree) <= DevicePatterns::kMostFeatures,
          "interventional values on the GPU take paths of at most 64 distinct features; use the "
          "CPU");
    }
    shape_ = model;
  }

  void set_background(const RowBlock& background) override {
    ValidateBackground(shape_, background);
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    pipeline_.IdleOnDevice();
    expected_.clear();
    model_ = MakePatternModel(shape_, TableLimits::For(background.rows));
    deep_.Prepare(model_.deep);
    tables_.Prepare(model_);
    tables_.ClearCounts();
    if (features() > 0) {
      DevicePipeline<double> pieces(false, [this](const DeviceBatch& batch) {
        tables_.Count(Columns(batch), batch.stream);
        return false;
      });
      const std::size_t rows = std::clamp<std::size_t>(kPieceFloats / features(), 1, kPieceRows);
      pieces.Run(background, rows, 0, {});
    }
    std::vector<std::uint32_t> reached = tables_.Make(background.rows);
    // Nothing is sent where no row has a value: every row reaches every leaf.
    if (features() == 0)
      reached.assign(reached.size(), static_cast<std::uint32_t>(background.rows));
    deep_.SetBackground(background);
    expected_ = BackgroundMargins(model_, reached, background);
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    const ResultBlocks to{phi, features() + 1, expected_};
    seconds_ = pipeline_.Run(rows, Plan(), 0, to);
  }

  void values_on_device(const DeviceRows& rows) override {
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    CheckCuda(cudaSetDevice(device_), "cudaSetDevice");
    pipeline_.RunOnDevice(rows, features(), Plan(), {{}, features() + 1, expected_});
  }

  double device_seconds() const override { return seconds_; }

 private:
  std::size_t features() const { return static_cast<std::size_t>(shape_.features); }

  // Once the device's last call is done. @return rows at once; 0: a model without splits
  std::size_t Plan() const {
    pipeline_.IdleOnDevice();
    if (features() == 0 || (model_.columns.empty() && deep_.empty())) return 0;
    return std::min(deep_.MostRows(), RowsPerPiece(ValuesPerRow(shape_)));
  }

  DeviceColumns Columns(const DeviceBatch& batch) {
    constexpr std::uint32_t kPadded = DeviceColumns::kPaddedRows;
    const std::uint32_t stride = (batch.count + kPadded - 1) / kPadded * kPadded;
    x_.Reserve(features() * stride);
    TransposeRows(batch.rows, nullptr, batch.count, static_cast<std::uint32_t>(features()), stride,
                  x_.data(), batch.stream);
    return {x_.data(), stride, batch.count};
  }

  bool Explain(const DeviceBatch& batch) {
    const DeviceColumns rows = Columns(batch);
    tables_.Explain(rows, batch.out, batch.stream);
    deep_.Add(rows, batch.out, batch.stream);
    return false;
  }

  int device_;
  PatternModel model_;
  DeviceTables tables_;
  DevicePatterns deep_;
  std::vector<double> expected_;
  DeviceArray<float> x_;
  // Results travel as doubles: they agree with the CPU's to twelve digits.
  DevicePipeline<double> pipeline_{false,
                                   [this](const DeviceBatch& batch) { return Explain(batch); }};
  double seconds_ = 0;
};

}  // namespace

RETABLE_REGISTER(TreeExplainer, interventional_cuda,
                 {.name = "Interventional",
                  .device = Device::kCuda,
                  .summary = "exact interventional SHAP against the background's patterns",
                  .citation = "Lundberg et al. 2020, algorithm 3; Nadel and Wettenstein 2025",
                  .parameters = {{"device", std::int64_t{0}, "index of the GPU"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<InterventionalOnDevice>(IntParameter(p, "device", 0));
                  }});

}  // namespace retable::treeshap
