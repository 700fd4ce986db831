#pragma once
//! @file
//! Text of unknown encoding made UTF-8, so that names can go into JSON and HTML.

#include <cstddef>
#include <string>
#include <string_view>

namespace retable {

//! Where the text stops being well-formed UTF-8 (no overlong forms, no surrogates); npos: nowhere.
std::size_t Utf8ErrorAt(std::string_view text);
inline bool IsUtf8(std::string_view text) {
  return Utf8ErrorAt(text) == std::string_view::npos;
}

//! The text itself when it is UTF-8; else read as ISO 8859-1, which any bytes are.
std::string ToUtf8(std::string_view text);

//! Appends one code point; surrogates and values beyond U+10FFFF become U+FFFD.
void AppendUtf8(std::string& out, unsigned code);

}  // namespace retable
