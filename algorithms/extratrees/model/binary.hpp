#pragma once
//! @file
//! Forests as bytes: the compact form beside JSON, for pickles and for files that are read often.
//!
//!     bytes 0-7     "RTFOREST"
//!     bytes 8-11    version, 1
//!     bytes 12-15   CRC-32 (zlib's polynomial) of all that follows
//!     bytes 16-23   columns
//!     bytes 24-27   outputs
//!     bytes 28-31   1 for regression, else 0
//!     bytes 32-35   value_bits
//!     bytes 36-39   trees
//!     for each tree: nodes and leaf values (8 bytes each), then arrays of all nodes: threshold,
//!     impurity, weight (8 bytes a value), left, right, feature, samples, value (4 bytes),
//!     missing_left (1 byte), zeros up to a multiple of 8, and the leaf values (8 bytes).
//!
//! Little-endian, aligned to 8 bytes: a file can be mapped into memory. Nothing is lost. 45 bytes a
//! node.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! O(nodes).
std::vector<std::byte> WriteForestBytes(const Forest& forest);

//! @throws std::invalid_argument for bytes that WriteForestBytes did not write, with what is wrong.
//! Nothing in them is trusted. O(nodes).
Forest ReadForestBytes(std::span<const std::byte> bytes);

}  // namespace retable::extratrees
