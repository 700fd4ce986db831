#pragma once
//! @file
//! A standard normal variate at a place of a counter-based stream.

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable::datasets {

//! Normal variate number `index`, by Marsaglia's polar method (Marsaglia & Bray 1964): a point
//! uniform in the square is kept when it lies in the unit disc (probability pi/4), and attempt t
//! takes its bits from sub-stream `stream` + t. The second variate of the pair is not used: then
//! every value depends on its own index alone.
double NormalDraw(const Philox4x32& bits, std::uint64_t index, std::uint64_t stream);

}  // namespace retable::datasets
