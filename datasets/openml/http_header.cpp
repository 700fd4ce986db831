#include "datasets/openml/http_header.hpp"

#include <algorithm>
#include <charconv>

#include "base/text/ascii.hpp"

namespace retable::datasets {
namespace {

std::string_view ValueOf(std::string_view line, std::string_view lower_name) {
  if (line.size() <= lower_name.size() || line[lower_name.size()] != ':') return {};
  if (LowerCase(line.substr(0, lower_name.size())) != lower_name) return {};
  line.remove_prefix(lower_name.size() + 1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

}  // namespace

void ReadHeaderLine(std::string_view line, HttpHeader& header) {
  if (std::string_view value = ValueOf(line, "content-range"); value.substr(0, 6) == "bytes ") {
    value.remove_prefix(6);
    std::int64_t start = -1;
    std::from_chars(value.data(), value.data() + value.size(), start);
    header.range_start = std::max(start, std::int64_t{-1});
  }
  if (const std::string_view value = ValueOf(line, "retry-after"); !value.empty()) {
    // Whole seconds: as a double it may be "nan".
    std::int64_t seconds = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (read.ec == std::errc::result_out_of_range) seconds = value[0] == '-' ? 0 : 120;
    header.retry_after = static_cast<double>(std::clamp<std::int64_t>(seconds, 0, 120));
  }
}

}  // namespace retable::datasets
