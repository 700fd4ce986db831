#include "base/fuzz/mutation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace retable::fuzzing {
namespace {

// Numbers at which readers go wrong.
constexpr std::array<std::string_view, 28> kNumbers = {
    "0",          "-0",          "1",          "-1",         "2",
    "0.5",        "1e-300",      "1e300",      "1e400",      "-1e400",
    "4e-324",     "1e-35",       "-1e-35",     "3.5e38",     "16777217",
    "2147483647", "2147483648",  "4294967296", "1e10",       "9223372036854775807",
    "nan",        "inf",         "-inf",       "1.00000006", "9223372036854775808",
    "0x1p-3",     "-2147483649", "0.1"};

// The JSON library copies and writes by recursion; it parses without.
constexpr int kDeepest = 64;

bool IsDeep(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : (c == ']' || c == '}' ? -1 : 0);
    if (depth > kDeepest) return true;
  }
  return false;
}

// A JSON document's values, by a walk without recursion.
std::vector<nlohmann::json*> ValuesOf(nlohmann::json& root) {
  std::vector<nlohmann::json*> values = {&root};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]->is_structured()) continue;
    for (nlohmann::json& child : *values[i]) values.push_back(&child);
  }
  return values;
}

// Changes one value of the document: another number, another value's copy, an item more or less.
void MutateTree(nlohmann::json& root, Random& random) {
  const std::vector<nlohmann::json*> values = ValuesOf(root);
  nlohmann::json& value = *random.Of(values);
  const nlohmann::json other = *random.Of(values);
  const std::string_view number = random.Of(kNumbers);
  if (value.is_array() && !value.empty() && random(4) > 0) {
    const std::size_t at = random(value.size()), to = random(value.size());
    const auto offset = [](std::size_t k) { return static_cast<std::ptrdiff_t>(k); };
    const nlohmann::json item = value[at];
    const std::size_t choice = random(4);
    if (choice == 0) value.erase(value.begin() + offset(at));
    if (choice == 1) value.insert(value.begin() + offset(to), item);
    if (choice == 2) value[to] = item;
    if (choice == 3) std::swap(value[at], value[to]);
  } else if (value.is_object() && !value.empty() && random(4) > 0) {
    auto member = value.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(random(value.size())));
    if (random(2) == 0) {
      value.erase(member);
    } else {
      member.value() = other;
    }
  } else if (value.is_string() && random(2) == 0) {
    auto& text = value.get_ref<std::string&>();
    text = random(2) == 0 ? std::string(number) : text + text;
  } else if (value.is_number() && random(4) > 0) {
    const nlohmann::json parsed = nlohmann::json::parse(number, nullptr, false);
    value = parsed.is_number() ? parsed : nlohmann::json(value.get<double>() + 1);
    if (random(4) == 0) value = std::string(number);
  } else {
    value = other;
  }
}

}  // namespace

std::string MutateText(std::string_view original, Random& random) {
  std::string text(original);
  const auto is_number = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e';
  };
  const auto span_at = [&](std::size_t at, const auto& inside) {
    std::size_t begin = at, end = at;
    while (begin > 0 && inside(text[begin - 1])) --begin;
    while (end < text.size() && inside(text[end])) ++end;
    return std::pair(begin, end - begin);
  };
  if (text.empty()) return text;
  // A few draws find a number where there is one.
  for (int tries = 0; tries < 8 && random(3) > 0; ++tries) {
    const std::size_t at = random(text.size());
    if (!is_number(text[at])) continue;
    const auto [begin, length] = span_at(at, is_number);
    const auto [other, other_length] = span_at(random(text.size()), is_number);
    std::string number(random.Of(kNumbers));
    if (other_length > 0 && random(2) == 0) number = text.substr(other, other_length);
    return text.replace(begin, length, number);
  }
  const auto in_line = [](char c) { return c != '\n'; };
  const auto [begin, length] = span_at(random(text.size()), in_line);
  const std::string line = text.substr(begin, length) + "\n";
  if (random(3) > 0) text.erase(begin, std::min(length + 1, text.size() - begin));
  if (text.empty() || random(3) == 0) return text;
  const auto [to, rest] = span_at(random(text.size()), in_line);
  return text.insert(to, line);
}

std::string MutateFields(std::string_view original, Random& random) {
  constexpr std::array<std::uint64_t, 10> kFields = {0,
                                                     1,
                                                     2,
                                                     0xffffffff,
                                                     0x7fffffff,
                                                     0x80000000,
                                                     0x80000001,
                                                     ~std::uint64_t{0},
                                                     0x7ff8000000000000,
                                                     0x7ff0000000000000};
  std::string bytes(original);
  const std::size_t places = bytes.size() / 4;
  for (std::size_t rounds = 1 + random(3); rounds > 0 && places > 0; --rounds) {
    const std::size_t at = 4 * random(places), from = 4 * random(places);
    const std::size_t size = random(2) == 0 ? 4 : std::min<std::size_t>(8, bytes.size() - at);
    std::uint64_t field = random.Of(kFields);
    if (random(2) == 0) std::memcpy(&field, bytes.data() + from, 4);
    std::memcpy(bytes.data() + at, &field, size);
  }
  return bytes;
}

std::string MutateJson(std::string_view text, Random& random) {
  nlohmann::json tree;
  if (!IsDeep(text)) tree = nlohmann::json::parse(text, nullptr, false);
  if (!tree.is_structured()) return MutateText(text, random);
  for (std::size_t rounds = 1 + random(3); rounds > 0; --rounds) MutateTree(tree, random);
  return tree.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string MutateJsonOrUbj(std::string_view text, Random& random) {
  const std::string mutated = MutateJson(text, random);
  if (random(4) > 0 || IsDeep(mutated)) return mutated;
  const nlohmann::json tree = nlohmann::json::parse(mutated, nullptr, false);
  if (!tree.is_object()) return mutated;
  std::string ubj;
  const bool sizes = random(2) == 0;
  nlohmann::json::to_ubjson(tree, ubj, sizes, sizes && random(2) == 0);
  return ubj;
}

}  // namespace retable::fuzzing
