#include "baselines/treeshap/rapids_gpu_tree_shap.hpp"

#include <stdexcept>

namespace retable::baselines::treeshap {

using retable::treeshap::TreeExplainer;

#if !defined(RETABLE_HAS_GPUTREESHAP)

bool RapidsIsHere() {
  return false;
}
std::unique_ptr<TreeExplainer> MakeRapids() {
  throw std::runtime_error(
      "this build has no rapidsai/gputreeshap; configure with -DGPUTREESHAP_INCLUDE_DIR=...");
}

#endif

// Registered also where it is not here, so that an experiment's row can say why it is empty.
RETABLE_REGISTER(TreeExplainer, rapids,
                 {.name = "RAPIDS GPUTreeShap",
                  .device = Device::kCuda,
                  .summary = "rapidsai/gputreeshap, its paths prepared once",
                  .citation = "Mitchell et al. 2022; https://github.com/rapidsai/gputreeshap",
                  .make = [](const Parameters&) { return MakeRapids(); }});

}  // namespace retable::baselines::treeshap
