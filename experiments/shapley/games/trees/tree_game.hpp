#pragma once
//! @file
//! A tree model's prediction of one row as a cooperative game: v(S) is the mean margin over
//! background rows b of the row that has x on S and b elsewhere (Lundberg et al. 2020; Mitchell et
//! al. 2022, section 5.1).
//!
//! A leaf is reached where the features on its path that only x sends there are in S and those that
//! only b sends there are not: a conjunction with the leaf's value over the number of background
//! rows. Equal conjunctions of different background rows are joined, so a value costs one pass over
//! the distinct ones, not a walk of every tree for every background row, and is the same number up
//! to rounding.

#include <memory>

#include "algorithms/shapley/games/term_game.hpp"
#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::experiments {

//! @throws std::invalid_argument for more than one output, no background, rows that do not fit.
std::unique_ptr<shapley::TermGame> MakeTreeGame(const retable::treeshap::TreeEnsemble& model,
                                                std::span<const float> row,
                                                const retable::treeshap::RowBlock& background);

}  // namespace retable::experiments
