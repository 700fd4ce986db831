#include "datasets/arff/date.hpp"

#include <cctype>
#include <cstdint>

namespace retable::datasets {
namespace {

//! Days since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t DaysFromCivil(std::int64_t y, int m, int d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

bool IsLeap(std::int64_t y) {
  return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

int DaysInMonth(std::int64_t y, int m) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return m == 2 && IsLeap(y) ? 29 : kDays[m - 1];
}

struct DateFields {
  std::int64_t year = 1970;
  int month = 1, day = 1, hour = 0, minute = 0, second = 0, milli = 0;
};

struct Number {
  int value = 0;
  std::size_t digits = 0;
};

//! Reads an unsigned number of at most `width` digits.
Number TakeNumber(std::string_view text, std::size_t& at, std::size_t width) {
  Number number;
  while (number.digits < width && at < text.size() &&
         std::isdigit(static_cast<unsigned char>(text[at]))) {
    number.value = number.value * 10 + (text[at++] - '0');
    ++number.digits;
  }
  return number;
}

bool Store(DateFields& fields, char letter, std::size_t width, Number number) {
  const int value = number.value;
  switch (letter) {
    case 'y':
      // Two digits under "yy" are of the century before 2070, as good a guess as Java's sliding
      // window; other years are as they stand.
      fields.year = value;
      if (width <= 2 && number.digits == 2) fields.year += value < 70 ? 2000 : 1900;
      return true;
    case 'M':
      fields.month = value;
      return value >= 1 && value <= 12;
    case 'd':
      fields.day = value;
      return value >= 1 && value <= 31;
    case 'H':
    case 'h':
      fields.hour = value;
      return value <= 23;
    case 'm':
      fields.minute = value;
      return value <= 59;
    case 's':
      fields.second = value;
      return value <= 60;
    case 'S':
      fields.milli = value;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<double> ParseDate(std::string_view text, std::string_view format) {
  DateFields fields;
  std::size_t at = 0;
  bool quoted = false;
  for (std::size_t f = 0; f < format.size();) {
    const char c = format[f];
    if (c == '\'') {
      quoted = !quoted;
      ++f;
    } else if (!quoted && std::isalpha(static_cast<unsigned char>(c))) {
      std::size_t run = f;
      while (run < format.size() && format[run] == c) ++run;
      const std::size_t width = run - f;
      // A field next to another field is as wide as its pattern; else up to nine digits.
      const bool crowded =
          run < format.size() && std::isalpha(static_cast<unsigned char>(format[run]));
      const Number number = TakeNumber(text, at, crowded ? width : 9);
      if (number.digits == 0 || !Store(fields, c, width, number)) return {};
      f = run;
    } else {
      if (at >= text.size() || text[at] != c) return {};
      ++at;
      ++f;
    }
  }
  if (at != text.size() || fields.day > DaysInMonth(fields.year, fields.month)) return {};
  const std::int64_t days = DaysFromCivil(fields.year, fields.month, fields.day);
  const std::int64_t seconds =
      ((days * 24 + fields.hour) * 60 + fields.minute) * 60 + fields.second;
  return static_cast<double>(seconds) + fields.milli / 1000.0;
}

}  // namespace retable::datasets
