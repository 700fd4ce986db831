#pragma once
//! @file
//! A model as XGBoost saves it, parsed. Nearly all of a file are its trees' lists of numbers: these
//! become vectors, not JSON values (docs/lab/treeshap/037-reading-models.md). Internal: include
//! from .cpp files only.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/treeshap/model/json.hpp"

namespace retable::treeshap::detail {

struct XgboostDocument {
  //! The lists of a tree that readers use, by name.
  using Lists = std::map<std::string, std::vector<double>>;

  Json json;  //!< trees without their lists
  std::vector<Lists> trees;

  //! @throws std::invalid_argument where this value of the document is no tree
  const Lists& ListsOf(const Json& tree) const;
};

//! O(bytes). @throws std::invalid_argument where the text is no JSON or a tree's list holds
//! anything but numbers
XgboostDocument ParseXgboostJson(std::string_view text);
//! The same of UBJSON; also where nesting and counts are such as only an attack has.
XgboostDocument ParseXgboostUbj(std::string_view bytes);

}  // namespace retable::treeshap::detail
