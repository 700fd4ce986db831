#pragma once
//! @file
//! Encodings which the works apply to a frame before they use it.

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! Nominal features as one column of 0 and 1 per level ("sex=Male"), missing values as a level of
//! their own, and of two levels one column; numeric ones as they are. The target stays apart. Adult
//! becomes 107 columns, as the thesis's table says.
//! O(rows * columns of the result) time and memory.
Frame OneHot(const Frame& frame);

//! The California housing data (OpenML 537) as scikit-learn's fetch_california_housing gives them:
//! MedInc, HouseAge, AveRooms, AveBedrms, Population, AveOccup, Latitude, Longitude; the target in
//! units of 100,000 dollars. @throws std::invalid_argument for a frame without the eight
//! attributes.
Frame CaliforniaHousing(const Frame& houses);

}  // namespace retable::datasets
