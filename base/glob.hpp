#pragma once
//! @file
//! Patterns of names: experiments on the command line, rows and columns of tables in claims.

#include <string_view>

namespace retable {

//! Whether `text` matches `pattern`, in which * stands for any text and ? for any one byte.
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace retable
