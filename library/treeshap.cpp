#include "retable/treeshap.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "algorithms/treeshap/host/fallback_explainer.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/interaction_index.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"
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

// Whether sums of the leaves may be beyond floats, or beyond doubles: then results are looked at.
bool MayOverflow(const TreeEnsemble& model) {
  double sum = 0;
  for (const treeshap::Tree& tree : model.trees) sum += treeshap::LargestLeaf(tree);
  return !(sum < 1e30);
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
  if (std::isnan(number) && has_categories(feature)) return number;
  return CategoryCode(*model_, feature, number, std::to_string(number));
}

std::vector<double> TreeModel::predict(std::span<const double> x, std::size_t rows,
                                       int threads) const {
  CheckShape(*model_, x.size(), rows);
  if (threads < 0) throw std::invalid_argument("threads is negative; 0 takes all");
  const std::vector<float> encoded = treeshap::EncodeRows(*model_, x);
  const auto features = static_cast<std::size_t>(model_->features);
  const auto outputs = static_cast<std::size_t>(model_->groups);
  std::vector<double> margins(rows * outputs);
  ParallelFor(rows, threads, [&](std::size_t r) {
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

  template <class Real>
  void Explain(bool pairs, std::span<const Real> x, std::size_t rows, std::span<double> results) {
    if (pairs) RequireNoBackground();
    const auto per_row = pairs ? treeshap::InteractionsPerRow : treeshap::ValuesPerRow;
    treeshap::RequireSize(results.size(), rows * per_row(ensemble()));
    std::vector<float> memory;
    const RowBlock block = Encode(x, rows, memory);
    if (rows == 0) return;
    const std::lock_guard guard(mutex);
    const auto call = pairs ? &FallbackExplainer::interactions_to : &FallbackExplainer::values_to;
    (explainer.get()->*call)(block, results);
    if (may_overflow) treeshap::RequireFinite(results, options.precision == "double");
    if (why.empty()) why = explainer->why();
  }

  // Rows in device memory, where the explainer is to read them.
  void ExplainOnDevice(
      treeshap::DeviceRows rows,
      [[maybe_unused]] void (treeshap::TreeExplainer::*call)(const treeshap::DeviceRows&)) {
    const OnDevice current;
    const std::lock_guard guard(mutex);
    if (!why.empty()) {
      throw std::invalid_argument("the explainer works on the processor (" + why +
                                  "): give rows of host memory");
    }
    if (rows.rows == 0) return;
#if defined(RETABLE_HAS_CUDA)
    if (ensemble().encodings.empty()) {
      (explainer.get()->*call)(rows);
      return;
    }
    if (encoder == nullptr) encoder = std::make_unique<treeshap::RowEncoder>(ensemble());
    (explainer.get()->*call)(encoder->Encode(rows));
    encoder->Release(rows.stream);
#endif
  }

  TreeModel model;
  TreeExplainerOptions options;
  bool may_overflow = MayOverflow(ensemble());
  std::string why;  // the processor computes; empty where the GPU does
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
  if (!background.empty() && options.index != "shapley") {
    throw std::invalid_argument("index \"banzhaf\" is path-dependent: give no background rows");
  }
  if (!background.empty() && model.features() == 0) {
    throw std::invalid_argument("background rows of a model without features");
  }
  State& s = *state_;
  const std::string name = background.empty() ? "Quadrature" : "Interventional";
  s.explainer = treeshap::MakeExplainer(name,
                                        {.device = options.device,
                                         .precision = options.precision,
                                         .index = options.index,
                                         .threads = options.threads},
                                        s.why);
  s.explainer->prepare(s.ensemble());
  if (!background.empty()) {
    const auto features = static_cast<std::size_t>(s.ensemble().features);
    const RowBlock rows = s.Encode(background, background.size() / features, s.background);
    s.explainer->set_background(rows);
  }
  if (s.why.empty()) s.why = s.explainer->why();
}

TreeExplainer::~TreeExplainer() = default;
TreeExplainer::TreeExplainer(TreeExplainer&&) noexcept = default;
TreeExplainer& TreeExplainer::operator=(TreeExplainer&&) noexcept = default;

void TreeExplainer::values(std::span<const float> x, std::size_t rows,
                           std::span<double> phi) const {
  state_->Explain(false, x, rows, phi);
}

void TreeExplainer::values(std::span<const double> x, std::size_t rows,
                           std::span<double> phi) const {
  state_->Explain(false, x, rows, phi);
}

void TreeExplainer::interactions(std::span<const float> x, std::size_t rows,
                                 std::span<double> matrices) const {
  state_->Explain(true, x, rows, matrices);
}

void TreeExplainer::interactions(std::span<const double> x, std::size_t rows,
                                 std::span<double> matrices) const {
  state_->Explain(true, x, rows, matrices);
}

void TreeExplainer::values_on_device(const float* x, std::size_t rows, double* phi,
                                     void* stream) const {
  state_->ExplainOnDevice({x, rows, phi, stream}, &treeshap::TreeExplainer::values_on_device);
}

void TreeExplainer::interactions_on_device(const float* x, std::size_t rows, double* matrices,
                                           void* stream) const {
  state_->RequireNoBackground();
  state_->ExplainOnDevice({x, rows, matrices, stream},
                          &treeshap::TreeExplainer::interactions_on_device);
}

std::vector<std::vector<TreeExplainer::FeatureSet>> TreeExplainer::top_interactions(
    std::span<const double> x, std::size_t rows, std::size_t k) const {
  state_->RequireNoBackground();
  if (state_->options.index != "shapley") {
    throw std::invalid_argument("the strongest pairs are of index \"shapley\" alone");
  }
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

std::string TreeExplainer::device() const {
  const std::lock_guard guard(state_->mutex);
  return state_->why.empty() ? "cuda" : "cpu";
}

std::string TreeExplainer::why_not_gpu() const {
  const std::lock_guard guard(state_->mutex);
  return state_->why;
}

}  // namespace retable
