#pragma once
//! @file
//! The columns of the tidy CSV beside the axes: one column an axis stands between the two lists.
//! The plan refuses an axis that bears one of these names.

#include <algorithm>
#include <array>
#include <string>

namespace retable::harness {

inline constexpr std::array<const char*, 5> kTidyColumnsBeforeAxes = {"experiment", "algorithm",
                                                                      "label", "device", "dataset"};
inline constexpr std::array<const char*, 17> kTidyColumnsAfterAxes = {
    "metric", "unit", "status",   "n",      "median", "ci_low", "ci_high", "mean",    "std",
    "min",    "max",  "failures", "reason", "key",    "share",  "ceiling", "unsteady"};

inline bool IsTidyColumn(const std::string& name) {
  return std::ranges::count(kTidyColumnsBeforeAxes, name) > 0 ||
         std::ranges::count(kTidyColumnsAfterAxes, name) > 0;
}

}  // namespace retable::harness
