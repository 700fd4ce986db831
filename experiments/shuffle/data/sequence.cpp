#include "experiments/shuffle/data/sequence.hpp"

#include "base/sha256.hpp"

namespace retable::experiments {

std::vector<harness::DatasetInfo> ResolveSequence(const std::string& name) {
  if (name != "sequence") {
    throw harness::UnknownName(
        "shuffles are measured on the data set \"sequence\", not \"" + name + "\"", name,
        {"sequence"});
  }
  harness::DatasetInfo info;
  info.name = "sequence";
  info.sha256 = Sha256("items 0, 1, ..., n - 1");
  info.present = true;
  info.origin = "generator";
  return {info};
}

}  // namespace retable::experiments
