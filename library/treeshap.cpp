#include "retable/treeshap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "algorithms/treeshap/host/fallback_explainer.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/interaction_index.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/on_device.hpp"
#include "base/parallel.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/treeshap/host/row_encoder.cuh"
#endif

namespace retable {

namespace {

using treeshap::FallbackExplainer;
using treeshap::FeatureEncoding;
using treeshap::RowBlock;
using treeshap::TreeEnsemble;
using ShapMethod = Method<treeshap::TreeExplainer>;

void CheckShape(const TreeEnsemble& model, std::size_t values, std::size_t rows) {
  const auto features = static_cast<std::size_t>(model.features);
  if (features != 0 && values / features == rows && values % features == 0) return;
  throw std::invalid_argument(std::to_string(values) + " values are not " + std::to_string(rows) +
                              " rows of the model's " + std::to_string(features) + " features");
}

const FeatureEncoding* Encoding(const TreeEnsemble& model, int feature) {
  const auto found = model.encodings.find(feature);
  return found == model.encodings.end() ? nullptr : &found->second;
}

template <class Value>
double CategoryCode(const TreeEnsemble& model, int feature, Value value, const std::string& shown) {
  const FeatureEncoding* encoding = Encoding(model, feature);
  if (encoding == nullptr || encoding->categories.empty()) {
    throw std::invalid_argument("the model has no list of categories for feature " +
                                std::to_string(feature));
  }
  if (const auto code = encoding->categories.code(value)) return *code;
  if (!encoding->refuses_unknown) return std::numeric_limits<double>::quiet_NaN();
  throw std::invalid_argument("feature " + std::to_string(feature) + ": " + shown +
                              " is no category of the training data, which has " +
                              encoding->categories.summary());
}

bool Knows(const ShapMethod& method, const std::string& parameter) {
  return std::any_of(method.parameters.begin(), method.parameters.end(),
                     [&](const auto& p) { return p.name == parameter; });
}

std::unique_ptr<treeshap::TreeExplainer> MakeOnCpu(const std::string& name,
                                                   const TreeExplainerOptions& options) {
  const auto& registry = Registry<treeshap::TreeExplainer>::Instance();
  const ShapMethod& method = *registry.Find(name, Device::kCpu);
  Parameters given;
  const auto set = [&](const char* parameter, const ParameterValue& value) {
    if (Knows(method, parameter)) given[parameter] = value;
  };
  set("threads", static_cast<std::int64_t>(options.threads));
  set("precision", options.precision);
  set("index", options.index);
  return registry.Make(name, Device::kCpu, given);
}

// Why the GPU cannot do what is asked for; empty where it can.
std::string WhyNoGpu(const std::string& name, const TreeExplainerOptions& options) {
  const auto& registry = Registry<treeshap::TreeExplainer>::Instance();
  if (options.device == "cpu") return "device \"cpu\" was asked for";
  if (registry.Find(name, Device::kCuda) == nullptr) {
    return name + " has no CUDA backend in this library";
  }
  if (options.index != "shapley") return "Banzhaf values are computed on the processor";
  if (options.precision == "double") return "precision \"double\" is computed on the processor";
  if (!HasCudaDevice()) return "no CUDA device answers here";
  return "";
}

void CheckOptions(const TreeExplainerOptions& options) {
  const auto one_of = [](const char* what, const std::string& given, const auto&... allowed) {
    if (((given == allowed) || ...)) return;
    std::string names;
    ((names += (names.empty() ? "" : ", ") + std::string(allowed)), ...);
    throw std::invalid_argument(std::string(what) + " is \"" + given + "\"; there are " + names);
  };
  one_of("device", options.device, "auto", "cpu", "cuda");
  one_of("precision", options.precision, "float", "double");
  one_of("index", options.index, "shapley", "banzhaf");
  if (options.threads < 0) throw std::invalid_argument("threads is negative; 0 takes all");
}

}  // namespace

TreeModel::TreeModel(std::shared_ptr<const TreeEnsemble> model) : model_(std::move(model)) {}

TreeModel TreeModel::Read(std::string_view bytes, const ReadOptions& options) {
  return TreeModel(std::make_shared<TreeEnsemble>(
      treeshap::ReadModel(bytes, {.all_trees = options.all_trees, .say = options.say})));
}

int TreeModel::features() const {
  return model_->features;
}

int TreeModel::outputs() const {
  return model_->groups;
}

std::size_t TreeModel::trees() const {
  return model_->trees.size();
}

const std::vector<std::string>& TreeModel::feature_names() const {
  return model_->feature_names;
}

std::vector<double> TreeModel::expected_values() const {
  return treeshap::ExpectedMargins(*model_);
}

bool TreeModel::has_categories(int feature) const {
  const FeatureEncoding* encoding = Encoding(*model_, feature);
  return encoding != nullptr && !encoding->categories.empty();
}

double TreeModel::category_code(int feature, std::string_view text) const {
  return CategoryCode(*model_, feature, text, '"' + std::string(text) + '"');
}

double TreeModel::category_code(int feature, double number) const {
  return CategoryCode(*model_, feature, number, std::to_string(number));
}

std::vector<double> TreeModel::predict(std::span<const double> x, std::size_t rows) const {
  CheckShape(*model_, x.size(), rows);
  const std::vector<float> encoded = treeshap::EncodeRows(*model_, x);
  const auto features = static_cast<std::size_t>(model_->features);
  const auto outputs = static_cast<std::size_t>(model_->groups);
  std::vector<double> margins(rows * outputs);
  ParallelFor(rows, [&](std::size_t r) {
    const auto row = std::span(encoded).subspan(r * features, features);
    const auto margin = treeshap::Predict(*model_, std::span<const float>(row));
    std::copy(margin.begin(), margin.end(),
              margins.begin() + static_cast<std::ptrdiff_t>(r * outputs));
  });
  return margins;
}

struct TreeExplainer::State {
  State(const TreeModel& of, const TreeExplainerOptions& with) : model(of), options(with) {}

  const TreeEnsemble& ensemble() const { return *model.model_; }

  void RequireNoBackground() const {
    if (background.empty()) return;
    throw std::invalid_argument(
        "interactions are path-dependent: make an explainer without background rows");
  }

  // The rows as the model's floats; `memory` holds them where they are not x itself.
  RowBlock Encode(std::span<const float> x, std::size_t rows, std::vector<float>& memory) const {
    CheckShape(ensemble(), x.size(), rows);
    const auto columns = static_cast<std::size_t>(ensemble().features);
    if (ensemble().encodings.empty()) return {x, rows, columns};
    return Encode(std::vector<double>(x.begin(), x.end()), rows, memory);
  }
  RowBlock Encode(std::span<const double> x, std::size_t rows, std::vector<float>& memory) const {
    CheckShape(ensemble(), x.size(), rows);
    memory = treeshap::EncodeRows(ensemble(), x);
    return {memory, rows, static_cast<std::size_t>(ensemble().features)};
  }

  template <class Real, class Call>
  void Explain(std::span<const Real> x, std::size_t rows, std::size_t needed,
               std::span<double> results, const Call& call) {
    treeshap::RequireSize(results.size(), rows * needed);
    std::vector<float> memory;
    const RowBlock block = Encode(x, rows, memory);
    if (rows == 0) return;
    const std::lock_guard guard(mutex);
    call(*explainer, block);
    if (!explainer->why().empty() && device != "cpu") {
      device = "cpu";
      why = explainer->why();
    }
  }

  // Rows in device memory, where the explainer is to read them.
  void ExplainOnDevice(
      treeshap::DeviceRows rows,
      [[maybe_unused]] void (treeshap::DeviceExplainer::*call)(const treeshap::DeviceRows&)) {
    const OnDevice current;
    const std::lock_guard guard(mutex);
    if (device != "cuda") {
      throw std::invalid_argument("the explainer works on the processor (" +
                                  (why.empty() ? "it was made so" : why) +
                                  "): give rows of host memory");
    }
    treeshap::DeviceExplainer* const reads = explainer->on_device();
    if (reads == nullptr) {
      throw std::invalid_argument("the explainer takes rows of host memory alone");
    }
    if (rows.rows == 0) return;
#if defined(RETABLE_HAS_CUDA)
    if (ensemble().encodings.empty()) {
      (reads->*call)(rows);
      return;
    }
    if (encoder == nullptr) encoder = std::make_unique<treeshap::RowEncoder>(ensemble());
    (reads->*call)(encoder->Encode(rows));
    encoder->Release(rows.stream);
#endif
  }

  TreeModel model;
  TreeExplainerOptions options;
  std::string device = "cpu", why;
  std::vector<float> background;
  std::unique_ptr<FallbackExplainer> explainer;
#if defined(RETABLE_HAS_CUDA)
  std::unique_ptr<treeshap::RowEncoder> encoder;  // made at first use
#endif
  std::mutex mutex;
};

TreeExplainer::TreeExplainer(const TreeModel& model, const TreeExplainerOptions& options,
                             std::span<const double> background)
    : state_(std::make_unique<State>(model, options)) {
  CheckOptions(options);
  State& s = *state_;
  const std::string name = background.empty() ? "Quadrature" : "Interventional";
  s.why = WhyNoGpu(name, options);
  if (!s.why.empty() && options.device == "cuda") throw std::invalid_argument(s.why);
  const auto on_cpu = [name, options] { return MakeOnCpu(name, options); };
  if (s.why.empty()) {
    s.device = "cuda";
    s.explainer = std::make_unique<FallbackExplainer>(
        Registry<treeshap::TreeExplainer>::Instance().Make(name, Device::kCuda, {}),
        options.device == "auto" ? FallbackExplainer::Maker(on_cpu) : nullptr);
  } else {
    s.explainer = std::make_unique<FallbackExplainer>(on_cpu(), nullptr);
  }
  s.explainer->prepare(s.ensemble());
  if (!background.empty()) {
    const auto features = static_cast<std::size_t>(s.ensemble().features);
    const RowBlock rows = s.Encode(background, background.size() / features, s.background);
    s.explainer->set_background(rows);
  }
  if (!s.explainer->why().empty()) {
    s.device = "cpu";
    s.why = s.explainer->why();
  }
}

TreeExplainer::~TreeExplainer() = default;
TreeExplainer::TreeExplainer(TreeExplainer&&) noexcept = default;
TreeExplainer& TreeExplainer::operator=(TreeExplainer&&) noexcept = default;

namespace {

void Values(FallbackExplainer& explainer, const RowBlock& rows, std::span<double> phi) {
  explainer.values_to(rows, phi);
}

void Interactions(FallbackExplainer& explainer, const RowBlock& rows, std::span<double> matrices) {
  explainer.interactions_to(rows, matrices);
}

}  // namespace

void TreeExplainer::values(std::span<const float> x, std::size_t rows,
                           std::span<double> phi) const {
  state_->Explain(x, rows, treeshap::ValuesPerRow(state_->ensemble()), phi,
                  [&](auto& explainer, const RowBlock& block) { Values(explainer, block, phi); });
}

void TreeExplainer::values(std::span<const double> x, std::size_t rows,
                           std::span<double> phi) const {
  state_->Explain(x, rows, treeshap::ValuesPerRow(state_->ensemble()), phi,
                  [&](auto& explainer, const RowBlock& block) { Values(explainer, block, phi); });
}

void TreeExplainer::interactions(std::span<const float> x, std::size_t rows,
                                 std::span<double> matrices) const {
  state_->RequireNoBackground();
  state_->Explain(
      x, rows, treeshap::InteractionsPerRow(state_->ensemble()), matrices,
      [&](auto& explainer, const RowBlock& block) { Interactions(explainer, block, matrices); });
}

void TreeExplainer::interactions(std::span<const double> x, std::size_t rows,
                                 std::span<double> matrices) const {
  state_->RequireNoBackground();
  state_->Explain(
      x, rows, treeshap::InteractionsPerRow(state_->ensemble()), matrices,
      [&](auto& explainer, const RowBlock& block) { Interactions(explainer, block, matrices); });
}

void TreeExplainer::values_on_device(const float* x, std::size_t rows, double* phi,
                                     void* stream) const {
  state_->ExplainOnDevice({x, rows, phi, stream}, &treeshap::DeviceExplainer::values_on_device);
}

void TreeExplainer::interactions_on_device(const float* x, std::size_t rows, double* matrices,
                                           void* stream) const {
  state_->RequireNoBackground();
  state_->ExplainOnDevice({x, rows, matrices, stream},
                          &treeshap::DeviceExplainer::interactions_on_device);
}

std::vector<std::vector<TreeExplainer::FeatureSet>> TreeExplainer::top_interactions(
    std::span<const double> x, std::size_t rows, std::size_t k) const {
  state_->RequireNoBackground();
  std::vector<float> memory;
  const RowBlock block = state_->Encode(x, rows, memory);
  treeshap::TopInteractions search(state_->ensemble(),
                                   {.k = k, .threads = state_->options.threads});
  std::vector<std::vector<FeatureSet>> sets;
  for (const auto& pairs : search.find(block)) {
    auto& to = sets.emplace_back();
    for (const auto& pair : pairs) to.push_back({{pair.first, pair.second}, pair.value});
  }
  return sets;
}

std::vector<std::vector<TreeExplainer::FeatureSet>> TreeExplainer::interaction_index(
    std::span<const double> x, std::size_t rows, int order) const {
  state_->RequireNoBackground();
  std::vector<float> memory;
  const RowBlock block = state_->Encode(x, rows, memory);
  const treeshap::InteractionIndex index(state_->ensemble(),
                                         {.order = order,
                                          .banzhaf = state_->options.index == "banzhaf",
                                          .threads = state_->options.threads});
  std::vector<std::vector<FeatureSet>> sets;
  for (auto& found : index.find(block)) {
    auto& to = sets.emplace_back();
    for (auto& set : found) to.push_back({std::move(set.features), set.value});
  }
  return sets;
}

const TreeModel& TreeExplainer::model() const {
  return state_->model;
}

const std::string& TreeExplainer::device() const {
  return state_->device;
}

const std::string& TreeExplainer::why_not_gpu() const {
  return state_->why;
}

}  // namespace retable
