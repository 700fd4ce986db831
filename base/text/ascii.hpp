#pragma once
//! @file
//! Blanks and case of ASCII text, without regard to the locale.

#include <string>
#include <string_view>

namespace retable {

//! The text without what of `blanks` stands around it.
inline std::string_view Trimmed(std::string_view text, std::string_view blanks = " \t") {
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace retable
