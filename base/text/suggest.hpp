#pragma once
//! @file
//! The nearest known name to a misspelt one.
//!
//! Every name a person types (an experiment, an algorithm, a data set, a key of the TOML) is
//! checked against a list; an unknown one is answered with the nearest of the list. The distance is
//! Damerau-Levenshtein's in its restricted form (optimal string alignment: insert, delete, replace,
//! swap of two neighbours; each part is edited once), on lower-cased text, since the commonest
//! slips are one key off, two keys swapped and the wrong case. A name further away than a third of
//! its length is no slip and gets no suggestion, unless it is a part of one candidate (a forgotten
//! prefix or suffix). O(length of a * length of b) per candidate. Deterministic: of equals the
//! first of the list wins. Damerau (1964), "A technique for computer detection and correction of
//! spelling errors".

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

//! Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; bytes, case matters.
std::size_t EditDistance(std::string_view a, std::string_view b);

//! The candidate nearest to `name`, or nothing when none is near enough to be meant.
std::optional<std::string> Nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

//! The tail of a message where the known names are too many to list: ` (did you mean "x"?)`. Empty
//! when none is near.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

//! The tail of an error message: ` (did you mean "x"? known: a, b, c)`. At most eight known names
//! are listed, then how many more there are. Empty when there are no candidates.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace retable
