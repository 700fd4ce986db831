#pragma once
//! @file
//! Blanks and case of ASCII text, without regard to the locale; texts cut for messages.

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

//! A text to quote in a message: at most 60 bytes of it, and three dots for the rest.
inline std::string Excerpt(std::string_view text) {
  std::size_t end = 60;
  if (text.size() <= end) return std::string(text);
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // within a letter of UTF-8
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace retable
