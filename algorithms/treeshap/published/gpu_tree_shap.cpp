// GPUTreeShap's formulation on the CPU: paths with duplicates merged, EXTEND and UNWOUNDSUM for
// each (path, row), through the same steps that the CUDA kernel calls. O(T L D^2) a row;
// interactions O(T L D^3), conditioning on each feature of the path only. Mitchell et al. 2022,
// algorithms 2 and 3.

#include <vector>

#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/published/path_steps.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// One path evaluated for one row: element 0 is the bias.
template <class T>
struct WarpLanes {
  std::vector<T> zero, one, weight;

  void Evaluate(const PathList& list, const Path& path, std::span<const float> row) {
    const auto elements = list.of(path);
    zero.resize(elements.size());
    one.resize(elements.size());
    weight.resize(elements.size());
    zero[0] = one[0] = T(1);
    for (std::size_t i = 1; i < elements.size(); ++i) {
      zero[i] = static_cast<T>(elements[i].zero_fraction);
      const float x = row[static_cast<std::size_t>(elements[i].feature)];
      one[i] = Follows(list, elements[i], x) ? T(1) : T(0);
    }
  }

  // Weights of all elements but `skip`.
  int ExtendAll(std::size_t skip) {
    int length = 0;
    for (std::size_t i = 0; i < zero.size(); ++i) {
      if (i != skip) Extend(weight.data(), length++, zero[i], one[i]);
    }
    return length;
  }
};

template <class T>
class GpuTreeShapOnCpu final : public TreeExplainer {
 public:
  explicit GpuTreeShapOnCpu(int threads) : threads_(threads) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    shape_ = {.features = model.features, .groups = model.groups};
    expected_ = ExpectedMargins(model);
    list_ = ExtractPaths(model);
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    const std::size_t per_row = ValuesPerRow(shape_);
    ParallelFor(rows.rows, threads_, [&](std::size_t r) {
      WarpLanes<T> lanes;
      double* row_phi = phi.data() + r * per_row;
      WriteExpected({{row_phi, per_row}, side(), expected_}, 1);
      for (const Path& path : list_.paths) AddValues(path, rows.row(r), lanes, row_phi);
    });
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    const Results phi = values(rows);
    const std::size_t per_row = InteractionsPerRow(shape_);
    ParallelFor(rows.rows, threads_, [&](std::size_t r) {
      WarpLanes<T> lanes;
      double* row_matrices = matrices.data() + r * per_row;
      WriteExpected({{row_matrices, per_row}, side() * side(), expected_}, 1);
      for (const Path& path : list_.paths) {
        AddInteractions(path, rows.row(r), lanes, row_matrices);
      }
    });
    FillInteractionDiagonal(side() - 1, phi, matrices);
  }

  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool interactions) const override {
    return {{sizeof(T) == 4 ? "FMA fp32" : "FMA fp64",
             static_cast<double>(rows) * PathFlops(model, interactions, true)}};
  }

 private:
  void AddValues(const Path& path, std::span<const float> row, WarpLanes<T>& lanes,
                 double* phi) const {
    lanes.Evaluate(list_, path, row);
    const int length = lanes.ExtendAll(lanes.zero.size());
    const auto elements = list_.of(path);
    double* group_phi = phi + static_cast<std::size_t>(path.group) * side();
    for (std::size_t i = 1; i < elements.size(); ++i) {
      const T sum = UnwoundSum(lanes.weight.data(), length, lanes.zero[i], lanes.one[i]);
      group_phi[elements[i].feature] +=
          static_cast<double>(sum * (lanes.one[i] - lanes.zero[i]) * static_cast<T>(path.value));
    }
  }

  // phi_i with feature j present minus phi_i with j absent is (o_j - z_j) times phi_i of the path
  // without j; half of it goes to each triangle.
  void AddInteractions(const Path& path, std::span<const float> row, WarpLanes<T>& lanes,
                       double* matrices) const {
    lanes.Evaluate(list_, path, row);
    const auto elements = list_.of(path);
    double* matrix = matrices + static_cast<std::size_t>(path.group) * side() * side();
    for (std::size_t j = 1; j < elements.size(); ++j) {
      const int length = lanes.ExtendAll(j);
      const T change = (lanes.one[j] - lanes.zero[j]) * static_cast<T>(path.value) / 2;
      for (std::size_t i = 1; i < elements.size(); ++i) {
        if (i == j) continue;
        const T sum = UnwoundSum(lanes.weight.data(), length, lanes.zero[i], lanes.one[i]);
        matrix[static_cast<std::size_t>(elements[i].feature) * side() +
               static_cast<std::size_t>(elements[j].feature)] +=
            static_cast<double>(sum * (lanes.one[i] - lanes.zero[i]) * change);
      }
    }
  }

  PathList list_;
  std::vector<double> expected_;
  int threads_;
};

std::unique_ptr<TreeExplainer> MakeGpuTreeShap(const Parameters& parameters) {
  const int threads = IntParameter(parameters, "threads", 0);
  if (IsFloat(parameters, "float")) return std::make_unique<GpuTreeShapOnCpu<float>>(threads);
  return std::make_unique<GpuTreeShapOnCpu<double>>(threads);
}

}  // namespace

RETABLE_REGISTER(TreeExplainer, gpu_tree_shap_on_cpu,
                 {.name = "GPUTreeShap",
                  .summary = "path formulation with EXTEND and UNWOUNDSUM",
                  .citation = "Mitchell et al. 2022, algorithms 2 and 3",
                  .parameters = {{"precision", std::string("float"), "float or double"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = MakeGpuTreeShap});

}  // namespace retable::treeshap
