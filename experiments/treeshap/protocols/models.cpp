//! @file
//! The sizes of the models (tables 2 and 3): rows, columns and classes of their data; trees, leaves
//! and depth. Nothing is timed.

#include <algorithm>

#include "experiments/common/adapters.hpp"
#include "experiments/treeshap/data/paper_models.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments::treeshap {
namespace {

class ModelsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "treeshap/models"; }
  std::string summary() const override { return "shape of the models and of their data"; }
  Names metrics() const override {
    return {"rows", "training_rows", "columns", "classes", "trees", "leaves", "depth"};
  }
  Algorithms algorithms() const override {
    return {{"model", {"cpu"}, {}, "the model itself", "Mitchell et al. 2022, tables 2 and 3"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveModels(dataset); }

  Outcome measure(const Cell& cell) override {
    const ModelProblem problem = LoadModel(cell.dataset, 64);
    harness::Outcome outcome;
    int depth = 0;
    for (const auto& tree : problem.model.trees) {
      depth = std::max(depth, retable::treeshap::Depth(tree));
    }
    const auto add = [&](const char* metric, double value) {
      outcome.metrics.push_back({metric, "1", {value}});
    };
    add("rows", static_cast<double>(problem.data_rows));
    add("training_rows", static_cast<double>(problem.training_rows));
    add("columns", static_cast<double>(problem.columns));
    add("classes", static_cast<double>(problem.classes));
    add("trees", static_cast<double>(problem.model.trees.size()));
    add("leaves", static_cast<double>(retable::treeshap::LeafCount(problem.model)));
    add("depth", depth);
    outcome.facts["model"] = problem.origin;
    outcome.verification =
        AtLeast("trees", static_cast<double>(problem.model.trees.size()), 1, "a model has trees");
    return outcome;
  }
};

RETABLE_PROTOCOL(ModelsProtocol);

}  // namespace
}  // namespace retable::experiments::treeshap
