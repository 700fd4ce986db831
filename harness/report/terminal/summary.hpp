#pragma once
//! @file
//! What a terminal is told of a results folder: a few lines at the end of a run or a report, a
//! table for `check`. Long lists are on the page; figures have three digits.

#include <string>

#include "harness/report/results.hpp"

namespace retable::harness {

//! Four lines: verdicts with a bar, claims, what is missing with the command that brings most of
//! it, and where the report is.
//! @param page path of the report that was just drawn; empty: how to draw it is said
std::string SummaryText(const Scoreboard& board, const std::string& folder,
                        const std::string& page);

//! Counts of every verdict and claim, and which failed: for `check`.
std::string ScoreboardText(const Scoreboard& board);

}  // namespace retable::harness
