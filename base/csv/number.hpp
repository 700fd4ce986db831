#pragma once
//! @file
//! Numbers as text, read and written without regard to the locale.

#include <optional>
#include <string>
#include <string_view>

namespace retable {

//! Shortest text that reads back to the same double; "" for NaN, "inf", "-inf". Whole numbers below
//! 1e15 have no exponent.
std::string FormatNumber(double value);

//! What a text says where a number is looked for.
struct NumberText {
  enum class Kind {
    kNumber,
    kMissing,  //!< a word for "no value"
    kBeyond,   //!< a number greater than any double; value is infinite
    kWord,     //!< anything else
  };
  Kind kind = Kind::kWord;
  double value = 0;  //!< NaN unless a number
};

//! The one list of words for a missing value, in any case: "" (nothing at all), ?, NA, N/A, NaN,
//! -NaN, null, <NA>, #N/A.
bool IsMissingWord(std::string_view text);

//! Reads the whole of `text` but for blanks around it: '.' is the point, a plus sign and "inf" are
//! taken; what lies below the least double is rounded to 0 or that.
NumberText ReadNumber(std::string_view text);

//! The double that the whole of `text` spells ("inf" and "nan" too), without blanks, or nothing.
std::optional<double> ParseNumber(std::string_view text);

}  // namespace retable
