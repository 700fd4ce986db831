#pragma once
//! @file
//! The XML that OpenML writes: elements, text, a few entities; no attributes that matter, no mixed
//! content. Read into the same tree as the JSON, which OpenML derives from this very XML.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace retable::datasets {

//! The document as JSON: an element without children is its text; repeated children are a list; the
//! prefix "oml:" is dropped. @throws std::runtime_error for malformed text or nesting beyond 32.
nlohmann::json XmlToJson(std::string_view text);

}  // namespace retable::datasets
