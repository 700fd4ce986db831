#include "algorithms/treeshap/host/fallback_explainer.hpp"

#include <stdexcept>

namespace retable::treeshap {

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
  if (has_background_) explainer_->set_background(background_);
  return true;
}

void FallbackExplainer::prepare(const TreeEnsemble& model) {
  model_ = &model;
  Refused([&] { explainer_->prepare(model); });
}

void FallbackExplainer::set_background(const RowBlock& background) {
  background_ = background;
  has_background_ = true;
  Refused([&] { explainer_->set_background(background); });
}

Results FallbackExplainer::values(const RowBlock& rows) {
  Results phi;
  if (Refused([&] { phi = explainer_->values(rows); })) phi = explainer_->values(rows);
  return phi;
}

void FallbackExplainer::values_to(const RowBlock& rows, std::span<double> phi) {
  const auto call = [&] { explainer_->values_to(rows, phi); };
  if (Refused(call)) call();
}

Results FallbackExplainer::interactions(const RowBlock& rows) {
  Results phi;
  if (Refused([&] { phi = explainer_->interactions(rows); })) phi = explainer_->interactions(rows);
  return phi;
}

void FallbackExplainer::interactions_to(const RowBlock& rows, std::span<double> matrices) {
  const auto call = [&] { explainer_->interactions_to(rows, matrices); };
  if (Refused(call)) call();
}

}  // namespace retable::treeshap
