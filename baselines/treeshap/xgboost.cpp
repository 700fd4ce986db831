#include "baselines/treeshap/xgboost.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"
#include "baselines/treeshap/ubj_writer.hpp"

#if defined(RETABLE_HAS_XGBOOST)
#include <xgboost/c_api.h>
#endif

namespace retable::baselines::treeshap {

using retable::treeshap::TreeExplainer;

#if !defined(RETABLE_HAS_XGBOOST)

std::string XgboostVersion() {
  return "";
}
std::string TrainXgboost(const retable::treeshap::RowBlock&, std::span<const float>,
                         const TrainingOptions&) {
  throw std::runtime_error("this build has no XGBoost; install libxgboost-dev and configure again");
}

namespace {

std::unique_ptr<TreeExplainer> MakeXgboost(const Parameters&) {
  throw std::runtime_error("this build has no XGBoost; install libxgboost-dev and configure again");
}

}  // namespace

#else

namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;

void Check(int status) {
  if (status != 0) throw std::runtime_error(std::string("XGBoost: ") + XGBGetLastError());
}

// A handle of XGBoost's with what frees it: both of its kinds are pointers to void.
using Handle = std::unique_ptr<void, int (*)(void*)>;

Handle MakeMatrix(const RowBlock& rows) {
  DMatrixHandle matrix = nullptr;
  Check(XGDMatrixCreateFromMat(rows.values.data(), rows.rows, rows.columns,
                               std::numeric_limits<float>::quiet_NaN(), &matrix));
  return {matrix, XGDMatrixFree};
}

Handle MakeBooster(DMatrixHandle data = nullptr) {
  BoosterHandle booster = nullptr;
  Check(XGBoosterCreate(&data, data == nullptr ? 0 : 1, &booster));
  return {booster, XGBoosterFree};
}

void Set(const Handle& booster, const char* name, const std::string& value) {
  Check(XGBoosterSetParam(booster.get(), name, value.c_str()));
}

// pred_contribs and pred_interactions.
class XgboostExplainer final : public TreeExplainer {
 public:
  explicit XgboostExplainer(int threads) : threads_(threads) {}

  void prepare(const TreeEnsemble& model) override {
    const std::string bytes = WriteXgboostUbj(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    base_ = model.base_score;
    booster_ = MakeBooster();
    Check(XGBoosterLoadModelFromBuffer(booster_.get(), bytes.data(), bytes.size()));
    if (threads_ > 0) Set(booster_, "nthread", std::to_string(threads_));
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    Predict(rows, 4, ValuesPerRow(shape_), phi);
    Rebase(phi, side());
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    Predict(rows, 16, InteractionsPerRow(shape_), matrices);
    Rebase(matrices, side() * side());
  }

  //! XGBoost's predictor is the recursive TreeSHAP, in float.
  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool interactions) const override {
    return {{"FMA fp32", static_cast<double>(rows) * PathFlops(model, interactions, false)}};
  }

 private:
  void Predict(const RowBlock& rows, int mask, std::size_t per_row, std::span<double> out) {
    if (rows.rows == 0) return;
    const Handle matrix = MakeMatrix(rows);
    bst_ulong length = 0;
    const float* result = nullptr;
    Check(XGBoosterPredict(booster_.get(), matrix.get(), mask, 0, 0, &length, &result));
    if (length != out.size()) throw std::runtime_error("XGBoost: unexpected output size");
    ParallelFor(rows.rows, threads_, [&](std::size_t r) {
      std::copy_n(result + r * per_row, per_row, out.data() + r * per_row);
    });
  }

  // XGBoost has one base score for all outputs: the last number of each block is set right.
  void Rebase(std::span<double> values, std::size_t block) const {
    const std::size_t groups = base_.size();
    for (std::size_t m = 0; m * block < values.size(); ++m) {
      values[(m + 1) * block - 1] += base_[m % groups] - base_[0];
    }
  }

  int threads_;
  std::vector<double> base_;
  Handle booster_{nullptr, XGBoosterFree};
};

}  // namespace

std::string XgboostVersion() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  ::XGBoostVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string TrainXgboost(const RowBlock& rows, std::span<const float> labels,
                         const TrainingOptions& options) {
  const Handle matrix = MakeMatrix(rows);
  Check(XGDMatrixSetFloatInfo(matrix.get(), "label", labels.data(), labels.size()));
  const Handle booster = MakeBooster(matrix.get());
  Set(booster, "tree_method", "hist");
  Set(booster, "eta", std::to_string(options.eta));
  Set(booster, "max_depth", std::to_string(options.depth));
  if (options.leaves > 0) {
    Set(booster, "grow_policy", "lossguide");
    Set(booster, "max_leaves", std::to_string(options.leaves));
  }
  if (options.classes > 2) {
    Set(booster, "objective", "multi:softmax");
    Set(booster, "num_class", std::to_string(options.classes));
  } else {
    Set(booster, "objective", options.classes == 2 ? "binary:logistic" : "reg:squarederror");
  }
  for (int i = 0; i < options.rounds; ++i) {
    Check(XGBoosterUpdateOneIter(booster.get(), i, matrix.get()));
  }
  bst_ulong length = 0;
  const char* bytes = nullptr;
  Check(XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "ubj"})", &length, &bytes));
  return {bytes, bytes + length};
}

std::unique_ptr<TreeExplainer> MakeXgboost(const Parameters& p) {
  return std::make_unique<XgboostExplainer>(IntParameter(p, "threads", 0));
}

#endif

// Registered also where it is not linked, so that an experiment's row can say why it is empty.
RETABLE_REGISTER(TreeExplainer, xgboost,
                 {.name = "XGBoost",
                  .summary = "XGBoost's own pred_contribs and pred_interactions",
                  .citation = "Chen and Guestrin 2016; the paper's baseline",
                  .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = MakeXgboost});

}  // namespace retable::baselines::treeshap
