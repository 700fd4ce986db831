#include "experiments/quantiles/peers/external_sketch.hpp"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "experiments/common/external_method.hpp"

namespace retable::experiments {
namespace {

RETABLE_REGISTER(
    quantiles::QuantileSketch, external,
    (ExternalMethod<quantiles::QuantileSketch>([](const std::string& command, const Parameters&) {
      return std::make_unique<ExternalSketch>(std::make_shared<ResidentProgram>(command));
    })));

template <class Real>
void Keep(std::vector<double>& kept, std::span<const Real> values) {
  for (const Real x : values) {
    if (!std::isnan(x)) kept.push_back(static_cast<double>(x));
  }
}

}  // namespace

void ExternalSketch::update(std::span<const float> values) {
  Keep(values_, values);
}
void ExternalSketch::update(std::span<const double> values) {
  Keep(values_, values);
}

void ExternalSketch::merge(const quantiles::QuantileSketch& other) {
  const auto* same = dynamic_cast<const ExternalSketch*>(&other);
  if (same == nullptr || same->program_ != program_) {
    throw std::invalid_argument("merge of External with another method");
  }
  const std::vector<double> theirs = same->values_;
  values_.insert(values_.end(), theirs.begin(), theirs.end());
}

void ExternalSketch::Load() const {
  program_->Load({{"task", "quantiles"}},
                 {{"values", "float64", {values_.size()}, std::as_bytes(std::span(values_))}});
}

std::vector<double> ExternalSketch::finite_quantiles(std::span<const double> phis) const {
  if (values_.empty()) throw std::logic_error("quantiles of an empty stream");
  Load();
  program_->Run();
  const auto arrays = program_->Answer({{"phis", std::vector<double>(phis.begin(), phis.end())}});
  if (arrays.size() != 1 || arrays[0].type != "float64" ||
      arrays[0].bytes.size() != phis.size() * sizeof(double)) {
    throw std::runtime_error("the answer to \"quantiles\" is one float64 array, one value a phi");
  }
  std::vector<double> answer(phis.size());
  std::memcpy(answer.data(), arrays[0].bytes.data(), arrays[0].bytes.size());
  return answer;
}

std::unique_ptr<quantiles::QuantileSketch> ExternalSketch::empty_clone() const {
  return std::make_unique<ExternalSketch>(program_);
}

}  // namespace retable::experiments
