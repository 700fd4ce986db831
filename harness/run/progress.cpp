#include "harness/run/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "harness/run/steadiness.hpp"

namespace retable::harness {

std::string DurationText(double seconds) {
  const long whole = static_cast<long>(seconds + 0.5);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string OneLine(std::string text) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::size_t width = std::min(known ? size.ws_col - std::size_t{1} : 79, std::size_t{100});
  if (text.size() <= width) return text;
  text.resize(width);
  // Not half of a character (UTF-8): its lead byte and what follows it go as a whole.
  std::size_t end = width;
  while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xC0) == 0x80) --end;
  if (end > 0 && static_cast<unsigned char>(text[end - 1]) >= 0xC0) text.resize(end - 1);
  return text;
}

void Progress::SetLeft(double seconds) {
  left_ = seconds;
  left_at_ = std::chrono::steady_clock::now();
}

void Progress::Started(const CellConfig& cell) {
  current_ = cell.experiment + " " + cell.label + " on " + cell.dataset;
}

std::string Progress::StatusLine() const {
  std::string line = fmt::format("{}/{}", done_, total_);
  if (failed_ > 0) line += fmt::format(", {} failed", failed_);
  if (unsteady_ > 0) line += fmt::format(", {} not steady", unsteady_);
  const double passed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - left_at_).count();
  return line + ", " + DurationText(std::max(0.0, left_ - passed)) + " left";
}

void Progress::Finished(const CellRecord& record) {
  ++done_;
  const Outcome& outcome = record.outcome;
  const bool ok = outcome.status == "ok" || outcome.status == "skipped";
  const std::string unsteady = WhyUnsteady(outcome);
  if (!ok) ++failed_;
  if (!unsteady.empty()) ++unsteady_;
  if (terminal_ && ok) return;
  if (terminal_) log_ << "\r\033[K";
  log_ << fmt::format("[{}] {} {} on {}: {} in {:.2f} s{}\n", StatusLine(),
                      record.config.experiment, record.config.label, record.config.dataset,
                      outcome.status, record.seconds,
                      outcome.status != "ok" ? " (" + outcome.reason + ")"
                      : unsteady.empty()     ? ""
                                             : ", not steady: " + unsteady)
       << std::flush;
}

void Progress::Remeasured(const CellRecord& record) {
  current_ = "once more: " + record.config.experiment + " " + record.config.label;
  if (terminal_) return;
  log_ << fmt::format("[refined] {} {} on {}: {} in all\n", record.config.experiment,
                      record.config.label, record.config.dataset, record.outcome.status)
       << std::flush;
}

void Progress::Say(const std::string& line) {
  log_ << (terminal_ ? "\r\033[K" : "") << line << "\n" << std::flush;
}

void Progress::Tick() {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  std::string line = StatusLine() + "  " + current_;
  log_ << "\r\033[K" << OneLine(std::move(line)) << std::flush;
}

void Progress::Done() {
  if (terminal_) log_ << "\r\033[K" << std::flush;
}

}  // namespace retable::harness
