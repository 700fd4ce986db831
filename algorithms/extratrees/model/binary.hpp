#pragma once
//! @file
//! Forests as bytes: the compact form beside JSON (layout: algorithms/common/forest_bytes.hpp).
//! Nothing is lost.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! O(nodes). @throws std::invalid_argument where `names` do not fit the forest
std::vector<std::byte> WriteForestBytes(const Forest& forest, const ForestNames& names = {});

//! @throws std::invalid_argument for bytes that WriteForestBytes did not write, with what is wrong.
//! Nothing in them is trusted. O(nodes).
Forest ReadForestBytes(std::span<const std::byte> bytes, ForestNames* names = nullptr);

//! The forest of a file's content: these bytes, or JSON (json.hpp). @throws as either reader
Forest ReadForest(std::string_view content, ForestNames* names = nullptr);

}  // namespace retable::extratrees
