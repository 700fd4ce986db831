#pragma once
//! @file
//! "External": a program in another language as an explainer (docs/other-languages.md). Today's
//! XGBoost from the user's Python stands in the tables by it (baselines/treeshap/package.py).
//!
//! The task is "treeshap": one load with "model" (uint8, an XGBoost model in UBJSON), "device" and
//! "threads"; one with "rows" (float32, rows x features) and "what" (pred_contribs or
//! pred_interactions) for each run; before it, where values are interventional, one with
//! "background" (float32, rows x features). The answer is one float32 array, rows x groups x
//! (features + 1), or its square, the base score in the last place.

#include "algorithms/treeshap/tree_explainer.hpp"
#include "experiments/common/resident_program.hpp"

namespace retable::experiments::treeshap {

class ExternalExplainer final : public retable::treeshap::TreeExplainer {
 public:
  //! @param device "cpu" or "cuda"
  //! @throws std::runtime_error where the program does not start
  ExternalExplainer(const std::string& command, std::string device, std::int64_t threads);

  void prepare(const retable::treeshap::TreeEnsemble& model) override;
  void set_background(const retable::treeshap::RowBlock& background) override;
  void write_values(const retable::treeshap::RowBlock& rows, std::span<double> phi) override;
  void write_interactions(const retable::treeshap::RowBlock& rows,
                          std::span<double> matrices) override;

  //! Seconds of the last call without the transfer of data: what is compared with other methods.
  double run_seconds() const { return run_seconds_; }
  //! "XGBoost 3.4.1".
  const std::string& description() const { return program_.description(); }
  //! What the time of a run includes.
  std::string Included() { return DescribeResident(program_); }

 private:
  void Ask(const retable::treeshap::RowBlock& rows, const char* what, std::size_t block,
           std::span<double> results);

  ResidentProgram program_;
  std::string device_;
  std::int64_t threads_;
  double run_seconds_ = 0;
};

}  // namespace retable::experiments::treeshap
