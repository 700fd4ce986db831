#pragma once
//! @file
//! An explainer with another in reserve, for models over the first one's limits.

#include <functional>
#include <memory>
#include <string>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::experiments::treeshap {

//! Asks the first explainer until it refuses (std::invalid_argument), from then on the second: a
//! GPU's limits on paths and stacks need not be the user's. What is wrong with the rows the second
//! says again. Model and background are to outlive it: the second is prepared when it is needed.
class FallbackExplainer final : public retable::treeshap::TreeExplainer {
 public:
  using Maker = std::function<std::unique_ptr<TreeExplainer>()>;

  //! @param second makes the explainer in reserve; none: the first one's refusals are thrown on
  FallbackExplainer(std::unique_ptr<TreeExplainer> first, Maker second)
      : explainer_(std::move(first)), second_(std::move(second)) {}

  void prepare(const retable::treeshap::TreeEnsemble& model) override;
  void set_background(const retable::treeshap::RowBlock& background) override;
  retable::treeshap::Results values(const retable::treeshap::RowBlock& rows) override;
  retable::treeshap::Results interactions(const retable::treeshap::RowBlock& rows) override;
  double device_seconds() const override { return explainer_->device_seconds(); }

  //! Why the first gave up; empty while it has not.
  const std::string& why() const { return why_; }

 private:
  template <class Call>
  bool Refused(const Call& call);

  std::unique_ptr<TreeExplainer> explainer_;
  Maker second_;
  const retable::treeshap::TreeEnsemble* model_ = nullptr;
  retable::treeshap::RowBlock background_{};
  bool has_background_ = false;
  std::string why_;
};

}  // namespace retable::experiments::treeshap
