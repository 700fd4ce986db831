#include "base/csv/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/text/ascii.hpp"

namespace retable {
namespace {

constexpr std::array<std::string_view, 8> kMissingWords = {"?",    "na",   "n/a",  "nan",
                                                           "-nan", "null", "<na>", "#n/a"};

//! Whether a well-formed number which no double holds is too large rather than too small.
bool IsLarge(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  std::string_view power = text.substr(std::min(e + 1, text.size()));
  const bool down = !power.empty() && power.front() == '-';
  if (!power.empty() && (down || power.front() == '+')) power.remove_prefix(1);
  std::int64_t exponent = 0;
  for (const char c : power) exponent = std::min<std::int64_t>(exponent * 10 + (c - '0'), 1 << 30);
  // The place of the first digit that counts: 1 right before the point, 0 right behind it.
  const std::size_t first = digits.find_first_of("123456789");
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const auto place =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) + (first > point ? 1 : 0);
  return (down ? -exponent : exponent) + place > 0;
}

struct Spelled {
  std::errc error = std::errc::invalid_argument;
  double value = 0;
};

Spelled Spell(std::string_view text) {
  if (!text.empty() && text.front() == '+') {  // from_chars takes no plus
    text.remove_prefix(1);
    if (!text.empty() && (text.front() == '+' || text.front() == '-')) return {};
  }
  Spelled spelled;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, spelled.value);
  if (text.empty() || result.ptr != end) return {};
  spelled.error = result.ec;
  if (result.ec == std::errc::result_out_of_range) {
    const double sign = text.front() == '-' ? -1 : 1;
    const bool large = IsLarge(text);
    spelled.value = sign * (large ? std::numeric_limits<double>::infinity() : 0.0);
    if (!large) spelled.error = {};
  }
  return spelled;
}

}  // namespace

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "";
  std::array<char, 64> buffer{};
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  const auto end = whole ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::fixed)
                         : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

bool IsMissingWord(std::string_view text) {
  text = Trimmed(text);
  if (text.empty()) return true;
  const auto equals = [text](std::string_view word) {
    return std::equal(word.begin(), word.end(), text.begin(), text.end(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
    });
  };
  return std::any_of(kMissingWords.begin(), kMissingWords.end(), equals);
}

NumberText ReadNumber(std::string_view text) {
  const Spelled spelled = Spell(Trimmed(text));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (spelled.error == std::errc() && !std::isnan(spelled.value)) {
    return {NumberText::Kind::kNumber, spelled.value};
  }
  if (spelled.error == std::errc::result_out_of_range) {
    return {NumberText::Kind::kBeyond, spelled.value};
  }
  return {IsMissingWord(text) ? NumberText::Kind::kMissing : NumberText::Kind::kWord, nan};
}

std::optional<double> ParseNumber(std::string_view text) {
  const Spelled spelled = Spell(text);
  if (spelled.error != std::errc()) return {};
  return spelled.value;
}

}  // namespace retable
