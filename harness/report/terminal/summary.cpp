#include "harness/report/terminal/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/cli/shell.hpp"

namespace retable::harness {
namespace {

constexpr int kBar = 40;
constexpr std::size_t kDatasetsNamed = 8;

int CountOf(const std::map<std::string, int>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

int Sum(const std::map<std::string, int>& counts) {
  int sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

// 1234567 -> "1,234,567".
std::string Thousands(int count) {
  std::string text = std::to_string(count);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

struct Part {
  const char* verdict;
  char sign;
};
constexpr Part kParts[] = {
    {"MATCH", '#'}, {"TREND", '='}, {"ORDER-ONLY", '-'}, {"MISMATCH", 'x'}, {"FAILED", '!'}};

// A part that is not empty has a sign at least.
std::string Bar(const Scoreboard& board, int total) {
  std::string bar;
  for (const Part& part : kParts) {
    const int count = CountOf(board.verdicts, part.verdict);
    const double share = total > 0 ? static_cast<double>(count) / total : 0;
    const int signs = count == 0 ? 0 : std::max(1, static_cast<int>(std::lround(kBar * share)));
    bar += std::string(static_cast<std::size_t>(signs), part.sign);
  }
  bar.resize(kBar, '.');
  return bar;
}

std::string VerdictsLine(const Scoreboard& board) {
  const int total = Sum(board.verdicts);
  if (total == 0) return "verdicts  no published cell in these experiments\n";
  std::string text = "verdicts  [" + Bar(board, total) + "] ";
  int judged = 0;
  for (const Part& part : kParts) {
    const int count = CountOf(board.verdicts, part.verdict);
    judged += count;
    text += fmt::format("{} {}, ", Thousands(count), part.verdict);
  }
  const int small = CountOf(board.verdicts, "NOT-JUDGED") - board.partial;
  const int elsewhere = CountOf(board.verdicts, "DIFFERENT-HW");
  text += fmt::format("{} not judged, of {} published cells", Thousands(total - judged),
                      Thousands(total));
  std::string why;
  for (const auto& [count, words] : {std::pair{small, "at sizes too small to judge"},
                                     {board.partial, "measured in part"},
                                     {elsewhere, "times of other hardware"}}) {
    if (count > 0) {
      why += fmt::format("{}{} {}", why.empty() ? "" : ", ", Thousands(count), words);
    }
  }
  return text + (why.empty() ? "" : " (" + why + ")") + "\n";
}

std::string ClaimsLine(const Scoreboard& board) {
  const int total = Sum(board.claims);
  if (total == 0) return "claims    none in these experiments\n";
  std::string text = fmt::format("claims    {} hold, {} fail", CountOf(board.claims, "HOLDS"),
                                 CountOf(board.claims, "FAILS"));
  const std::pair<const char*, const char*> others[] = {
      {"UNSTEADY", "read times that are not steady"},
      {"NOT-JUDGED", "are at sizes too small to judge"},
      {"NO-DATA", "lack data"}};
  for (const auto& [name, words] : others) {
    const int count = CountOf(board.claims, name);
    if (count > 0) text += fmt::format(", {} {}", count, words);
  }
  return text + fmt::format(", of {}\n", total);
}

// The needs with most cells first.
std::vector<std::pair<std::string, Lack>> LacksInOrder(const Scoreboard& board) {
  std::vector<std::pair<std::string, Lack>> order(board.lacks.begin(), board.lacks.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& lack) { return lack.second.cells; });
  return order;
}

std::string LacksText(const Scoreboard& board) {
  std::string text;
  for (const auto& [need, lack] : LacksInOrder(board)) {
    text += fmt::format("{}{} need {}", text.empty() ? "" : ", ", Thousands(lack.cells), need);
  }
  return text;
}

std::string CommandFor(const std::string& need, const Lack& lack) {
  if (need == "a CUDA device") {
    return "make reproduce PROFILE=paper, on a machine with an NVIDIA GPU";
  }
  if (need == "data") {
    std::string command = "build/retable datasets fetch";
    std::size_t named = 0;
    for (const std::string& name : lack.datasets) {
      if (named++ == kDatasetsNamed) return command + " ...";
      command += " " + ShellWord(name);
    }
    return command;
  }
  if (!need.ends_with(" profile")) return "";
  const std::size_t word = need.find(' ') + 1;
  return "make reproduce PROFILE=" + need.substr(word, need.rfind(' ') - word);
}

std::string MissingLine(const Scoreboard& board) {
  if (board.lacks.empty()) return "missing   no published cell\n";
  std::string text = "missing   " + LacksText(board);
  for (const auto& [need, lack] : LacksInOrder(board)) {
    const std::string command = CommandFor(need, lack);
    if (command.empty()) continue;
    return text + fmt::format("; for {}: {}\n", Thousands(lack.cells), command);
  }
  return text + "\n";
}

}  // namespace

std::string SummaryText(const Scoreboard& board, const std::string& folder,
                        const std::string& page) {
  const std::string report =
      page.empty() ? fmt::format("not drawn yet: build/retable report --out {}", ShellWord(folder))
                   : page;
  return VerdictsLine(board) + ClaimsLine(board) + MissingLine(board) + "report    " + report +
         "\n";
}

std::string ScoreboardText(const Scoreboard& board) {
  constexpr const char* kVerdicts[] = {"MATCH",    "TREND",   "ORDER-ONLY",
                                       "MISMATCH", "FAILED",  "DIFFERENT-HW",
                                       "NOT-RUN",  "NO-DATA", "NOT-JUDGED"};
  std::string text = "\nverdicts on the published cells\n";
  for (const char* name : kVerdicts) {
    const int count = CountOf(board.verdicts, name);
    const bool silent = count == 0 && std::string_view(name) == "NOT-JUDGED";
    const std::string needs =
        std::string_view(name) == "NOT-RUN" && count > 0 ? "  (" + LacksText(board) + ")" : "";
    if (!silent) text += fmt::format("  {:<13}{:>6}{}\n", name, count, needs);
  }
  if (!board.settings.empty())
    text += "verdicts on settings (facts of the data, hyperparameters)\n";
  for (const char* name : kVerdicts) {
    const auto found = board.settings.find(name);
    if (found != board.settings.end()) text += fmt::format("  {:<13}{:>6}\n", name, found->second);
  }
  text += "claims\n";
  for (const char* name : {"HOLDS", "FAILS", "NO-DATA", "UNSTEADY", "NOT-JUDGED"}) {
    const int count = CountOf(board.claims, name);
    const bool silent = count == 0 && (std::string_view(name) == "UNSTEADY" ||
                                       std::string_view(name) == "NOT-JUDGED");
    if (!silent) text += fmt::format("  {:<13}{:>6}\n", name, count);
  }
  for (const auto& line : board.failed) text += "  failed: " + line + "\n";
  for (const auto& line : board.noted_claims) text += "  fails: " + line + "\n";
  for (const auto& line : board.unnoted_claims) text += "  fails without a note: " + line + "\n";
  if (!board.broken.empty()) {
    text += fmt::format("cells without a right answer\n  {} in all; the first: {}: {}\n",
                        board.broken.size(), board.broken.begin()->first.substr(0, 12),
                        board.broken.begin()->second);
  }
  for (const auto& [origin, artifacts] : board.origins) {
    text += fmt::format("measured with {}: {} artifact{}\n", origin, artifacts,
                        artifacts == 1 ? "" : "s");
  }
  return text;
}

}  // namespace retable::harness
