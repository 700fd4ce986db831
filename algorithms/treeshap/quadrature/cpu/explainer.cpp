// "Quadrature" on the CPU: values and matrices from the sums of quadrature/cpu/engine.hpp.

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/interactions/common/write_matrices.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/quadrature/cpu/engine.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

namespace {

template <class T>
class QuadratureExplainer final : public TreeExplainer {
 public:
  explicit QuadratureExplainer(const EngineOptions& options)
      : engine_(QuadratureEngine<T>::Make(options)) {}

  void prepare(const TreeEnsemble& model) override {
    engine_->Prepare(model);
    shape_ = engine_->shape;
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    Explain(rows, false, phi.data(), side());
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    Explain(rows, true, matrices.data(), side() * side());
  }

  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool /*interactions*/) const override {
    return {{sizeof(T) == 4 ? "FMA fp32" : "FMA fp64",
             static_cast<double>(rows) * QuadratureFlops(Annotate(model), sizeof(T) == 4)}};
  }

 private:
  using Sums = typename QuadratureEngine<T>::Sums;

  // Writes `size` numbers for each row and output.
  void Explain(const RowBlock& rows, bool pairs, double* results, std::size_t size) {
    const auto outputs = static_cast<std::size_t>(shape_.groups);
    engine_->Run(rows, pairs,
                 [&](std::size_t output, std::size_t first, std::size_t count, const Sums* sums) {
                   const auto to = [&](std::size_t lane) {
                     return results + ((first + lane) * outputs + output) * size;
                   };
                   if (pairs) {
                     WriteMatricesOf(output, count, sums, to);
                   } else {
                     for (std::size_t lane = 0; lane < count; ++lane) {
                       WriteValues(output, sums, lane, to(lane));
                     }
                   }
                 });
  }

  void WriteValues(std::size_t output, const Sums* sums, std::size_t lane, double* out) const {
    const std::vector<std::int32_t>& features = engine_->outputs[output].features;
    std::fill_n(out, side(), 0.0);
    out[side() - 1] = engine_->expected[output];
    for (std::size_t c = 0; c < features.size(); ++c) out[features[c]] = sums[c].lane[lane];
  }

  void WriteMatricesOf(std::size_t output, std::size_t count, const Sums* sums,
                       const auto& to) const {
    const OutputColumns& columns = engine_->outputs[output];
    const std::size_t values = columns.features.size();
    const auto pair = [&](std::size_t n) {
      return n < values ? std::pair(columns.features[n], columns.features[n])
                        : columns.pairs[n - values];
    };
    for (std::size_t lane = 0; lane < count; lane += kMatrixRows) {
      WriteMatrices(
          columns.width(true), side(), std::min(kMatrixRows, count - lane),
          engine_->expected[output], pair,
          [&](std::size_t n, std::size_t r) { return sums[n].lane[lane + r]; },
          [&](std::size_t r) { return to(lane + r); });
    }
  }

  std::unique_ptr<QuadratureEngine<T>> engine_;
};

std::unique_ptr<TreeExplainer> MakeQuadrature(const Parameters& parameters) {
  const int threads = IntParameter(parameters, "threads", 0);
  const std::string index = TextParameter(parameters, "index", "shapley");
  const std::string isa = TextParameter(parameters, "isa", "auto");
  Require(index == "shapley" || index == "banzhaf", "index is shapley or banzhaf, not \"", index,
          "\"");
  const EngineOptions options{threads, index == "banzhaf", isa};
  if (IsFloat(parameters, "float")) {
    return std::make_unique<QuadratureExplainer<float>>(options);
  }
  return std::make_unique<QuadratureExplainer<double>>(options);
}

}  // namespace

RETABLE_REGISTER(TreeExplainer, quadrature,
                 {.name = "Quadrature",
                  .summary = "exact Gauss-Legendre tree SHAP by sibling recurrence, rows as lanes",
                  .citation = "Owen 1972; Wettenstein, Mitchell, Yu 2026; annotated_model.hpp",
                  .parameters = {{"precision", std::string("float"), "float or double"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"},
                                 {"index", std::string("shapley"), "shapley or banzhaf"},
                                 {"isa", std::string("auto"), "auto, baseline, avx2 or avx512"}},
                  .make = MakeQuadrature});

}  // namespace retable::treeshap
