#include "experiments/treeshap/peers/external_explainer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "baselines/treeshap/ubj_writer.hpp"
#include "experiments/common/external_method.hpp"

namespace retable::experiments::treeshap {

using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeExplainer;

ExternalExplainer::ExternalExplainer(const std::string& command, std::string device,
                                     std::int64_t threads)
    : program_(command), device_(std::move(device)), threads_(threads) {}

void ExternalExplainer::prepare(const TreeEnsemble& model) {
  const std::string bytes = baselines::treeshap::WriteXgboostUbj(model);
  shape_.features = model.features;
  shape_.groups = model.groups;
  shape_.base_score = model.base_score;
  program_.Load({{"task", "treeshap"}, {"device", device_}, {"threads", threads_}},
                {{"model", "uint8", {bytes.size()}, std::as_bytes(std::span(bytes))}});
}

void ExternalExplainer::set_background(const RowBlock& background) {
  ValidateRows(shape_, background);
  program_.Load({{"task", "treeshap"}}, {{"background",
                                          "float32",
                                          {background.rows, background.columns},
                                          std::as_bytes(background.values)}});
}

void ExternalExplainer::write_values(const RowBlock& rows, std::span<double> phi) {
  Ask(rows, "pred_contribs", rows.columns + 1, phi);
}

void ExternalExplainer::write_interactions(const RowBlock& rows, std::span<double> matrices) {
  Ask(rows, "pred_interactions", (rows.columns + 1) * (rows.columns + 1), matrices);
}

void ExternalExplainer::Ask(const RowBlock& rows, const char* what, std::size_t block,
                            std::span<double> results) {
  const std::size_t groups = shape_.base_score.size();
  const std::size_t count = rows.rows * groups * block;
  if (rows.rows == 0) return;
  program_.Load({{"task", "treeshap"}, {"what", what}},
                {{"rows", "float32", {rows.rows, rows.columns}, std::as_bytes(rows.values)}});
  const auto begun = std::chrono::steady_clock::now();
  program_.Run();
  run_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const auto arrays = program_.Answer({});
  if (arrays.size() != 1 || arrays[0].type != "float32" ||
      arrays[0].bytes.size() != count * sizeof(float)) {
    throw std::runtime_error("the answer to \"treeshap\" is one float32 array, " +
                             std::to_string(count) + " values");
  }
  std::vector<float> phi(count);
  std::memcpy(phi.data(), arrays[0].bytes.data(), arrays[0].bytes.size());
  std::copy(phi.begin(), phi.end(), results.begin());
  // XGBoost's file has one base score for all outputs: the first.
  for (std::size_t m = 0; m < rows.rows * groups; ++m) {
    results[(m + 1) * block - 1] += shape_.base_score[m % groups] - shape_.base_score[0];
  }
}

namespace {

Method<TreeExplainer> External(Device device) {
  auto method =
      ExternalMethod<TreeExplainer>([device](const std::string& command, const Parameters& p) {
        return std::make_unique<ExternalExplainer>(command, DeviceName(device),
                                                   IntParameter(p, "threads", 0));
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
