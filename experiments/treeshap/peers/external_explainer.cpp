#include "experiments/treeshap/peers/external_explainer.hpp"

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "baselines/treeshap/ubj_writer.hpp"
#include "experiments/common/external_method.hpp"

namespace retable::experiments::treeshap {

using retable::treeshap::InteractionsPerRow;
using retable::treeshap::Results;
using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeExplainer;
using retable::treeshap::ValuesPerRow;

ExternalExplainer::ExternalExplainer(const std::string& command, std::string device,
                                     std::int64_t threads)
    : program_(command), device_(std::move(device)), threads_(threads) {}

void ExternalExplainer::prepare(const TreeEnsemble& model) {
  const std::string bytes = baselines::treeshap::WriteXgboostUbj(model);
  shape_.features = model.features;
  shape_.groups = model.groups;
  shape_.base_score = model.base_score;
  program_.Load({{"task", "treeshap"}, {"device", device_}, {"threads", threads_}},
                {"model", "uint8", {bytes.size()}, {}}, std::as_bytes(std::span(bytes)));
}

void ExternalExplainer::set_background(const RowBlock& background) {
  ValidateRows(shape_, background);
  program_.Load({{"task", "treeshap"}},
                {"background", "float32", {background.rows, background.columns}, {}},
                std::as_bytes(background.values));
}

Results ExternalExplainer::values(const RowBlock& rows) {
  const auto side = static_cast<std::size_t>(shape_.features) + 1;
  return Ask(rows, "pred_contribs", side);
}

Results ExternalExplainer::interactions(const RowBlock& rows) {
  const auto side = static_cast<std::size_t>(shape_.features) + 1;
  return Ask(rows, "pred_interactions", side * side);
}

Results ExternalExplainer::Ask(const RowBlock& rows, const char* what, std::size_t block) {
  ValidateRows(shape_, rows);
  if (rows.rows == 0) return {};
  program_.Load({{"task", "treeshap"}, {"what", what}},
                {"rows", "float32", {rows.rows, rows.columns}, {}}, std::as_bytes(rows.values));
  const auto begun = std::chrono::steady_clock::now();
  program_.Run();
  run_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const auto arrays = program_.Answer({});
  const std::size_t groups = shape_.base_score.size();
  const std::size_t count = rows.rows * groups * block;
  if (arrays.size() != 1 || arrays[0].type != "float32" ||
      arrays[0].bytes.size() != count * sizeof(float)) {
    throw std::runtime_error("the answer to \"treeshap\" is one float32 array, " +
                             std::to_string(count) + " values");
  }
  std::vector<float> phi(count);
  std::memcpy(phi.data(), arrays[0].bytes.data(), arrays[0].bytes.size());
  Results result(phi.begin(), phi.end());
  // XGBoost's file has one base score for all outputs: the first.
  for (std::size_t m = 0; m < rows.rows * groups; ++m) {
    result[(m + 1) * block - 1] += shape_.base_score[m % groups] - shape_.base_score[0];
  }
  return result;
}

namespace {

Method<TreeExplainer> External(Device device) {
  auto method =
      ExternalMethod<TreeExplainer>([device](const std::string& command, const Parameters& p) {
        return std::make_unique<ExternalExplainer>(command, DeviceName(device),
                                                   IntegerParameter(p, "threads", 0));
      });
  method.device = device;
  if (device == Device::kCpu) {
    method.parameters.push_back({"threads", std::int64_t{0}, "threads; 0: all"});
  } else {
    method.summary = "a program in another language, on its own GPU path";
  }
  return method;
}

RETABLE_REGISTER(TreeExplainer, external_cpu, (External(Device::kCpu)));
RETABLE_REGISTER(TreeExplainer, external_cuda, (External(Device::kCuda)));

}  // namespace

}  // namespace retable::experiments::treeshap
