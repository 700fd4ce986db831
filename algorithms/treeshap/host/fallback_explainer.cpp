#include "algorithms/treeshap/host/fallback_explainer.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/cuda/devices.hpp"

namespace retable::treeshap {

namespace {

using MethodInfo = Method<TreeExplainer>;

bool Knows(const MethodInfo& method, const std::string& parameter) {
  return std::ranges::find(method.parameters, parameter, &ParameterInfo::name) !=
         method.parameters.end();
}

std::unique_ptr<TreeExplainer> MakeOn(const MethodInfo& method, const ExplainerOptions& options) {
  Parameters given;
  const auto set = [&](const char* name, const ParameterValue& value) {
    if (Knows(method, name)) given[name] = value;
  };
  if (method.device == Device::kCpu) {  // a GPU's threads are those of a block
    set("threads", options.threads);
    set("precision", options.precision);
    set("index", options.index);
  } else {
    set("gpus", options.gpus);
  }
  return method.make(given);
}

// Why the GPU cannot do what is asked for; empty where it can.
std::string WhyNoGpu(const MethodInfo& on_cpu, const MethodInfo* on_gpu,
                     const ExplainerOptions& options) {
  if (options.device == "cpu") return "device cpu was asked for";
  const std::string no_device =
      WhyNoDevice().any() ? "no CUDA device answers: " + WhyNoDevice().why : "";
  if (on_gpu == nullptr) {
    return no_device.empty() ? on_cpu.name + " has no CUDA backend" : no_device;
  }
  if (options.index != "shapley") return "Banzhaf values are computed on the processor";
  if (options.precision == "double" && Knows(on_cpu, "precision")) {
    return "precision double is computed on the processor";
  }
  if (options.gpus > 1 && !Knows(*on_gpu, "gpus")) return on_cpu.name + " works on one GPU";
  if (!no_device.empty()) return no_device;
  const int here = CudaDeviceCount();
  if (here >= options.gpus) return "";
  return std::to_string(options.gpus) + " GPUs were asked for; " + std::to_string(here) + " here";
}

}  // namespace

std::unique_ptr<FallbackExplainer> MakeExplainer(const std::string& method,
                                                 const ExplainerOptions& options,
                                                 std::string& why_not_gpu) {
  const auto& registry = Registry<TreeExplainer>::Instance();
  const MethodInfo& on_cpu = *registry.Find(method, Device::kCpu);
  const MethodInfo* on_gpu = registry.Find(method, Device::kCuda);
  why_not_gpu = WhyNoGpu(on_cpu, on_gpu, options);
  if (!why_not_gpu.empty()) {
    if (options.device == "cuda" || options.gpus > 1) throw std::invalid_argument(why_not_gpu);
    return std::make_unique<FallbackExplainer>(MakeOn(on_cpu, options), nullptr);
  }
  FallbackExplainer::Maker second = nullptr;
  if (options.device == "auto") second = [&on_cpu, options] { return MakeOn(on_cpu, options); };
  return std::make_unique<FallbackExplainer>(MakeOn(*on_gpu, options), second);
}

// Returns whether the first explainer refused the call; then the second, prepared, replaces it.
template <class Call>
bool FallbackExplainer::Refused(const Call& call) {
  try {
    call();
    return false;
  } catch (const std::invalid_argument& error) {
    if (second_ == nullptr) throw;
    why_ = error.what();
  }
  explainer_ = second_();
  second_ = nullptr;
  explainer_->prepare(*model_);
  if (background_) explainer_->set_background(*background_);
  return true;
}

void FallbackExplainer::prepare(const TreeEnsemble& model) {
  model_ = &model;
  shape_ = {.features = model.features, .groups = model.groups};
  Refused([&] { explainer_->prepare(model); });
}

void FallbackExplainer::set_background(const RowBlock& background) {
  background_ = background;
  Refused([&] { explainer_->set_background(background); });
}

void FallbackExplainer::write_values(const RowBlock& rows, std::span<double> phi) {
  const auto call = [&] { explainer_->values_to(rows, phi); };
  if (Refused(call)) call();
}

void FallbackExplainer::write_interactions(const RowBlock& rows, std::span<double> matrices) {
  const auto call = [&] { explainer_->interactions_to(rows, matrices); };
  if (Refused(call)) call();
}

}  // namespace retable::treeshap
