#pragma once
//! @file
//! The report's ExtraTrees as trainers: one node of every tree a step (published/step_rules.hpp).

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/published/step_rules.hpp"

namespace retable::extratrees::published {

struct Settings {
  Sampling sampling = Sampling::kUniform;
  //! Stops after so many steps; nodes not yet grown are leaves of their most frequent class.
  //! 0: until all trees are complete. A stopped fit says so in `parts` ("stopped").
  std::int64_t max_steps = 0;
};

//! @throws std::invalid_argument for a name other than "uniform", "binomial", "normal".
Sampling ParseSampling(const std::string& name);

//! The sizes of a fit, without pointers; refuses the options which the report's algorithm has not.
//! @throws std::invalid_argument for limits, bootstrap, or more trees than threads in a block.
View CheckPublished(const FeatureMatrix& data, const Targets& targets, const ForestOptions& options,
                    Sampling sampling);

//! One more call of the part of that name, appended if there is none.
void AddTo(std::vector<PartTime>& parts, const std::string& name, double seconds);

//! Bytes of section VI.B: "X", "X transposed", "batch_pos", "trees" with M nodes a tree.
std::map<std::string, std::uint64_t> CountMemory(std::uint64_t rows, std::uint64_t features,
                                                 std::uint64_t trees, std::uint64_t nodes);

//! The canonical forest. Every leaf votes for one class, so the soft vote is the majority vote.
//! `view`: host pointers to the data, nodes and lengths.
std::unique_ptr<FittedForest> Fitted(const View& view, std::vector<PartTime> parts);

class PublishedCpu final : public ForestTrainer {
 public:
  explicit PublishedCpu(Settings settings = {}, int threads = 0)
      : settings_(settings), threads_(threads) {}
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  Settings settings_;
  int threads_;
};

#if defined(RETABLE_HAS_CUDA)
//! One thread a tree, a (tree, feature) or a (tree, cut), as the report's kernels have it. `parts`
//! are the report's table II, by its kernels' names.
class PublishedCuda final : public ForestTrainer {
 public:
  explicit PublishedCuda(Settings settings = {}) : settings_(settings) {}
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  Settings settings_;
};
#endif

}  // namespace retable::extratrees::published
