#pragma once
//! @file
//! ExtraTrees as scikit-learn grows them: the baseline of the report and of ours.
//!
//! Problem: compare with the CPU implementation everybody uses, on the same compiler, threads and
//! data, without Python in the way. Approach: the splitter rules of scikit-learn's
//! ExtraTreesClassifier and ExtraTreesRegressor (squared error) (Pedregosa et al., JMLR 12, 2011;
//! behaviour of release 1.9.1), rewritten from their description: depth-first growth; features
//! drawn without replacement with constant ones tracked down the tree; a draw of a constant feature
//! counts towards max_features; range within 1e-7 in float32 is constant; missing values go to a
//! side drawn with each cut, and where a node has none to the larger child; the first drawn wins a
//! tie; criteria in double precision, added up in its order. A bootstrap weighs rows by how often
//! they were drawn. Random numbers are its own, too: MT19937 seeds per tree, a 32-bit xorshift
//! within a tree. The trees are equal to scikit-learn's, node by node, which fixtures check. One
//! tree a task; the result does not depend on the threads. Complexity: O(n K) a node of n samples;
//! memory a tree: 12 bytes a row.

#include "algorithms/extratrees/forest_trainer.hpp"

namespace retable::extratrees {

//! How features lie in memory during the fit.
enum class Layout { kRows, kColumns };
//! @throws std::invalid_argument for a name other than "rows" and "columns".
Layout ParseLayout(const std::string& name);

class ScikitLearnExtraTrees final : public ForestTrainer {
 public:
  //! @param threads 0: as many as there are cores.
  explicit ScikitLearnExtraTrees(Layout layout = Layout::kRows, int threads = 0)
      : layout_(layout), threads_(threads) {}
  //! options.seed is scikit-learn's random_state, 0 .. 2^32 - 1.
  //! @throws std::invalid_argument for weights with bootstrap and for other rules of constants.
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  Layout layout_;
  int threads_;
};

}  // namespace retable::extratrees
