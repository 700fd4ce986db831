#include "datasets/arff/date.hpp"

#include <cctype>
#include <chrono>
#include <cstdint>

namespace retable::datasets {
namespace {

struct DateFields {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, milli = 0;
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
  // The calendar repeats after 400 years, of 146,097 days; a year of <chrono> has 16 bits.
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year(2000 + fields.year % 400),
                                    chrono::month(static_cast<unsigned>(fields.month)),
                                    chrono::day(static_cast<unsigned>(fields.day))};
  if (at != text.size() || !date.ok()) return {};
  const std::int64_t days = chrono::sys_days(date).time_since_epoch().count() +
                            (fields.year / 400 - 5) * std::int64_t{146097};
  const std::int64_t seconds =
      ((days * 24 + fields.hour) * 60 + fields.minute) * 60 + fields.second;
  return static_cast<double>(seconds) + fields.milli / 1000.0;
}

}  // namespace retable::datasets
