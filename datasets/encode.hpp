#pragma once
//! @file
//! Encodings which the works apply to a frame before they use it.

#include "datasets/frame.hpp"

namespace retable::datasets {

struct OneHotOptions {
  bool missing_level = true;  //!< a feature with missing values gets a column for "missing"
  bool drop_binary = true;    //!< a feature of two levels (missing included) gets one column
};

//! Nominal features as one column of 0 and 1 per level ("sex=Male"); numeric ones as they are. The
//! target stays apart. Adult becomes 107 columns with both options on, as the thesis's table says,
//! and 105 with both off.
//! O(rows * columns of the result) time and memory.
Frame OneHot(const Frame& frame, const OneHotOptions& options = {});

}  // namespace retable::datasets
