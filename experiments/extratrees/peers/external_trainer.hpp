#pragma once
//! @file
//! "External": a program in another language as a trainer of forests (docs/other-languages.md).
//! scikit-learn itself stands in the tables by it (baselines/extratrees/package.py).
//!
//! The task is "extratrees": one load with "x" (float32, rows x columns; NaN: missing), "y"
//! (float64: classes 0, 1, ..., or targets where "regression" is true) and "weights" (float64,
//! empty: each row weighs 1), "device", "threads" (0: all), and "options" by scikit-learn's names.
//! The answer is one uint8 array: the forest in the bytes of
//! algorithms/extratrees/model/binary.hpp.

#include "algorithms/extratrees/forest_trainer.hpp"
#include "experiments/common/resident_program.hpp"

namespace retable::experiments::forests {

class ExternalTrainer final : public extratrees::ForestTrainer {
 public:
  //! @param device "cpu" or "cuda"
  //! @throws std::runtime_error where the program does not start
  ExternalTrainer(const std::string& command, std::string device, std::int64_t threads)
      : program_(command), device_(std::move(device)), threads_(threads) {}

  //! own_seconds is the time of the program's run. @throws std::runtime_error with the program's
  //! reason, and where its forest is not one for these data; std::invalid_argument for options that
  //! scikit-learn does not know.
  std::unique_ptr<extratrees::FittedForest> fit(const extratrees::FeatureMatrix& data,
                                                const extratrees::Targets& targets,
                                                const extratrees::ForestOptions& options) override;

 private:
  ResidentProgram program_;
  std::string device_;
  std::int64_t threads_;
};

}  // namespace retable::experiments::forests
