#pragma once
//! @file
//! An explainer with a second in reserve, for models beyond the first one's limits.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! Uses the first explainer until it throws std::invalid_argument, then the second: a GPU limits
//! paths and stacks. Where the rows are wrong the second throws too. Model and background must
//! outlive it: the second is prepared when it is needed.
class FallbackExplainer final : public TreeExplainer {
 public:
  using Maker = std::function<std::unique_ptr<TreeExplainer>()>;

  //! @param second makes the second explainer; none: exceptions of the first pass through
  FallbackExplainer(std::unique_ptr<TreeExplainer> first, Maker second)
      : explainer_(std::move(first)), second_(std::move(second)) {}

  void prepare(const TreeEnsemble& model) override;
  void set_background(const RowBlock& background) override;
  void write_values(const RowBlock& rows, std::span<double> phi) override;
  void write_interactions(const RowBlock& rows, std::span<double> matrices) override;
  void values_on_device(const DeviceRows& rows) override { explainer_->values_on_device(rows); }
  void interactions_on_device(const DeviceRows& rows) override {
    explainer_->interactions_on_device(rows);
  }
  double device_seconds() const override { return explainer_->device_seconds(); }

  //! Why the second replaced the first; empty while it has not.
  const std::string& why() const { return why_; }

 private:
  template <class Call>
  bool Refused(const Call& call);

  std::unique_ptr<TreeExplainer> explainer_;
  Maker second_;
  const TreeEnsemble* model_ = nullptr;
  std::optional<RowBlock> background_;
  std::string why_;
};

//! Where and how a method computes.
struct ExplainerOptions {
  std::string device = "auto";      //!< "auto", "cpu" or "cuda"
  std::string precision = "float";  //!< "float" or "double", where the method has both
  std::string index = "shapley";    //!< "shapley" or "banzhaf"
  std::int64_t threads = 0;         //!< processor threads; 0: all
  std::int64_t gpus = 1;
};

//! Makes a method where it is asked for: "auto" takes a GPU where the method has a CUDA backend and
//! there is a GPU, with the processor in reserve. @param why_not_gpu receives why the processor
//! computes; empty where a GPU does. @throws std::invalid_argument for "cuda" and for several GPUs
//! where the processor would compute
std::unique_ptr<FallbackExplainer> MakeExplainer(const std::string& method,
                                                 const ExplainerOptions& options,
                                                 std::string& why_not_gpu);

}  // namespace retable::treeshap
