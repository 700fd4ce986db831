#pragma once
//! @file
//! scikit-learn itself, as a peer: ExtraTreesClassifier in a Python process of its own.
//!
//! Data and trees pass through files in a temporary folder. The fit is timed inside Python, between
//! features and labels in memory and a fitted model; starting Python and passing files is not
//! counted (FittedForest::own_seconds). The command is `python3`, or RETABLE_PYTHON.

#include "algorithms/extratrees/forest_trainer.hpp"
#include "baselines/extratrees/scikit_learn.hpp"

namespace retable::extratrees {

//! How to get scikit-learn where Python has none; else empty, also where no Python starts: then fit
//! fails with what it said. Asked once a process and Python.
const std::string& WhyNoScikitLearn();

class ScikitLearnPython final : public ForestTrainer {
 public:
  //! @param layout of the features in memory. @param jobs 0: as many as there are cores.
  explicit ScikitLearnPython(Layout layout = Layout::kRows, int jobs = 0)
      : layout_(layout), jobs_(jobs) {}
  //! @throws std::runtime_error where Python or scikit-learn is missing or fails.
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  Layout layout_;
  int jobs_;
};

}  // namespace retable::extratrees
