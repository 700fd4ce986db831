#include "algorithms/treeshap/model/feature_encoding.hpp"

#include <cmath>
#include <stdexcept>

#include "base/csv/number.hpp"

namespace retable::treeshap {

void CategoryMap::add(const std::vector<std::string>& words, std::optional<double> number) {
  for (const std::string& word : words) words_.emplace(word, count_);
  // A double holds every integer to 2^53; beyond, another category would be taken for this one.
  const bool told_apart = number && std::abs(*number) < 0x1p53;
  if (number && !told_apart && words.empty()) {
    throw std::invalid_argument("a category is a number beyond 2^53, " + FormatNumber(*number) +
                                ": train with these categories as text");
  }
  if (told_apart) numbers_.emplace(*number, count_);
  ++count_;
}

std::optional<double> CategoryMap::code(std::string_view word) const {
  const auto it = words_.find(word);
  return it == words_.end() ? std::nullopt : std::optional(static_cast<double>(it->second));
}

std::optional<double> CategoryMap::code(double number) const {
  if (std::isnan(number)) return std::nullopt;  // no order, so find() would take it for the first
  const auto it = numbers_.find(number);
  return it == numbers_.end() ? std::nullopt : std::optional(static_cast<double>(it->second));
}

std::string CategoryMap::summary() const {
  constexpr std::size_t most = 6;
  std::map<std::size_t, std::string> first;  // by code
  const auto add = [&](std::size_t code, const std::string& text) {
    if (code < most) first.emplace(code, text);
  };
  for (const auto& [word, code] : words_) add(code, '"' + word + '"');
  for (const auto& [number, code] : numbers_) {
    std::string text = std::to_string(number);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    add(code, text);
  }
  std::string list;
  for (const auto& [code, text] : first) list += (code > 0 ? ", " : "") + text;
  return count_ > most ? list + ", ..." : list;
}

void FeatureEncoding::set_levels(const std::vector<std::string>& levels, bool unknown_refused) {
  refuses_unknown = unknown_refused;
  number = levels.empty();
  for (const std::string& level : levels) categories.add({level}, ParseNumber(level));
}

}  // namespace retable::treeshap
