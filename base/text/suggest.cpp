#include "base/text/suggest.hpp"

#include <algorithm>

#include "base/text/ascii.hpp"

namespace retable {
namespace {

constexpr std::size_t kListed = 8;

bool IsPart(const std::string& part, const std::string& whole) {
  return part.size() >= 3 && whole.find(part) != std::string::npos;
}

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the table suffice: a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> Nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  const std::string wanted = LowerCase(name);
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(wanted, LowerCase(candidate));
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return {};
  if (best_distance <= std::max<std::size_t>(1, name.size() / 3)) return *best;

  // Not a slip of the keys; a part of exactly one candidate is still clear enough.
  const std::string* whole = nullptr;
  for (const std::string& candidate : candidates) {
    if (!IsPart(wanted, LowerCase(candidate))) continue;
    if (whole != nullptr) return {};
    whole = &candidate;
  }
  if (whole == nullptr) return {};
  return *whole;
}

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  const auto nearest = Nearest(name, candidates);
  return nearest ? " (did you mean \"" + *nearest + "\"?)" : "";
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  std::string text = " (";
  if (const auto nearest = Nearest(name, candidates)) {
    text += "did you mean \"" + *nearest + "\"? ";
  }
  text += "known: ";
  const std::size_t listed = std::min(candidates.size(), kListed);
  for (std::size_t i = 0; i < listed; ++i) text += (i == 0 ? "" : ", ") + candidates[i];
  if (listed < candidates.size()) {
    text += " and " + std::to_string(candidates.size() - listed) + " more";
  }
  return text + ")";
}

}  // namespace retable
