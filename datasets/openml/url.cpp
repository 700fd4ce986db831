#include "datasets/openml/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace retable::datasets {
namespace {

bool IsSafePart(const std::string& part) {
  const std::string seen = PercentDecoded(part);
  return !seen.empty() && seen != "." && seen != ".." && part.size() <= 200 &&
         std::none_of(seen.begin(), seen.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\' || c == '/';
         });
}

}  // namespace

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned code = 0;
    const char* end = digits.data() + digits.size();
    const bool hex = text[i] == '%' && digits.size() == 2 &&
                     std::from_chars(digits.data(), end, code, 16).ptr == end;
    decoded += hex ? static_cast<char>(code) : text[i];
    if (hex) i += 2;
  }
  return decoded;
}

std::string SafePath(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == url.npos) return "";
  const auto slash = url.find('/', scheme + 3);
  if (slash == url.npos) return "";
  std::string path = url.substr(slash + 1);
  path = path.substr(0, path.find_first_of("?#"));
  for (std::size_t first = 0;;) {
    const auto next = path.find('/', first);
    const std::string part = path.substr(first, next - first);
    if (!IsSafePart(part) || (first == 0 && PercentDecoded(part) == "api")) return "";
    if (next == path.npos) return path;
    first = next + 1;
  }
}

std::string ShownUrl(const std::string& url) {
  std::string shown = url;
  const auto scheme = shown.find("://");
  const bool has_scheme = scheme != shown.npos && shown.find_first_of("/?#@") == scheme + 1;
  const std::size_t host = has_scheme ? scheme + 3 : 0;
  // The last one: a password may have others unescaped, and a '?' or '#'.
  const auto at = shown.substr(0, shown.find('/', host)).rfind('@');
  if (at != shown.npos && at >= host) shown.erase(host, at + 1 - host);
  shown = shown.substr(0, shown.find_first_of("?#"));
  // What is malformed may look like another address now.
  return shown == url ? shown : ShownUrl(shown);
}

}  // namespace retable::datasets
