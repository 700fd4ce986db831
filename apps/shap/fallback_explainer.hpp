#pragma once
//! @file
//! An explainer with a second in reserve, for models beyond the first one's limits.

#include <functional>
#include <memory>
#include <string>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::experiments::treeshap {

//! Uses the first explainer until it throws std::invalid_argument, then the second: a GPU limits
//! paths and stacks. Where the rows are wrong the second throws too. Model and background must
//! outlive it: the second is prepared when it is needed.
class FallbackExplainer final : public retable::treeshap::TreeExplainer {
 public:
  using Maker = std::function<std::unique_ptr<TreeExplainer>()>;

  //! @param second makes the second explainer; none: exceptions of the first pass through
  FallbackExplainer(std::unique_ptr<TreeExplainer> first, Maker second)
      : explainer_(std::move(first)), second_(std::move(second)) {}

  void prepare(const retable::treeshap::TreeEnsemble& model) override;
  void set_background(const retable::treeshap::RowBlock& background) override;
  retable::treeshap::Results values(const retable::treeshap::RowBlock& rows) override;
  retable::treeshap::Results interactions(const retable::treeshap::RowBlock& rows) override;
  double device_seconds() const override { return explainer_->device_seconds(); }

  //! Why the second replaced the first; empty while it has not.
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
