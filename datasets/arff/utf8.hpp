#pragma once
//! @file
//! Text of unknown encoding made UTF-8, so that names can go into JSON and HTML.

#include <string>
#include <string_view>

namespace retable::datasets {

//! True for well-formed UTF-8 (no overlong forms, no surrogates).
bool IsUtf8(std::string_view text);

//! The text itself when it is UTF-8; else read as ISO 8859-1, which any bytes are.
std::string ToUtf8(std::string_view text);

//! Appends one code point; surrogates and values beyond U+10FFFF become U+FFFD.
void AppendUtf8(std::string& out, unsigned code);

}  // namespace retable::datasets
