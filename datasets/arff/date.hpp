#pragma once
//! @file
//! Dates as ARFF writes them: a Java SimpleDateFormat pattern, ISO 8601 by default.

#include <optional>
#include <string_view>

namespace retable::datasets {

//! What ARFF uses where a date attribute gives no format.
inline constexpr std::string_view kDefaultDateFormat = "yyyy-MM-dd'T'HH:mm:ss";

//! Seconds since 1970-01-01T00:00:00 UTC, by the pattern letters y M d H h m s S and quoted text;
//! nothing when the text does not fit the pattern or is no date of the (proleptic) Gregorian
//! calendar.
std::optional<double> ParseDate(std::string_view text, std::string_view format);

}  // namespace retable::datasets
