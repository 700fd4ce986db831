#pragma once
//! @file
//! An ensemble as treelets with tables (interventional/tables.hpp), and the trees of leaves too
//! deep for them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/interventional/tables.hpp"
#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "algorithms/treeshap/published/paths.hpp"

namespace retable::treeshap {

//! All treelets, by output; arrays that they index. Interventional values are linear in the leaves:
//! those of the ensemble are the treelets' plus those of `deep`.
struct PatternModel {
  std::vector<Treelet> treelets;
  std::vector<std::int32_t> groups;  //!< the output of each treelet
  std::vector<PatternBit> bits;
  std::vector<TreeletLeaf> leaves;
  std::vector<LeafFeature> leaf_features;
  std::vector<std::int32_t> columns;  //!< the feature of each column
  std::vector<std::uint32_t> sets;    //!< categories: for each set a head and its words
  std::size_t counts = 0, table = 0;  //!< sizes of all counts and tables
  std::uint32_t most_bits = 0;

  //! The trees with leaves that no treelet has; leaves of treelets are 0 here.
  TreeEnsemble deep;
};

//! What tables may take.
struct TableLimits {
  std::uint32_t bits = kPatternBits;                //!< a pattern's
  std::size_t bytes = kPatternTableBytes;           //!< all tables and counts together
  std::size_t sums = static_cast<std::size_t>(-1);  //!< a table's, by its number of leaves

  //! Those for so many background rows.
  static TableLimits For(std::size_t background_rows) {
    return {.sums = kSumsPerPair * background_rows};
  }
};

//! Cuts each tree from the root: a subtree of at most kTreeletSplits splits is a treelet unless its
//! table were beyond the limits. Trees that treelets would have less than half of are deep whole.
//! The model must be valid. O(nodes x features of a path)
PatternModel MakePatternModel(const TreeEnsemble& model, const TableLimits& limits = {});

//! The condition of a path's element; a set of categories is appended to `sets`.
PatternBit BitOf(const PathElement& element, std::span<const CategorySet> categories,
                 std::vector<std::uint32_t>& sets);

//! Base scores plus mean margins of the background: of treelets by how many of the background's
//! rows reached each leaf, of deep trees by prediction.
std::vector<double> BackgroundMargins(const PatternModel& model,
                                      std::span<const std::uint32_t> reached,
                                      const RowBlock& background);

//! @throws std::invalid_argument for no rows, and for more than counts can hold.
void ValidateBackground(const TreeEnsemble& shape, const RowBlock& background);

}  // namespace retable::treeshap
