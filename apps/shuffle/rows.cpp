#include "apps/shuffle/rows.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/shuffle/selection/sample.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::experiments {
namespace {

using shuffle::Shuffler;

std::unique_ptr<Shuffler> MakeShuffler(const std::string& name) {
  // Gather repeats items; External takes its program from an experiment.
  return MethodByName<Shuffler>("shuffler", name, Device::kCpu, {"Gather", "External"}).make({});
}

// Where a record of comma-separated values ends: its line breaks may be in quotes, which open at
// the beginning of a field. npos where one stays open.
std::size_t EndOfRecord(std::string_view text) {
  bool quoted = false, at_field = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' && !quoted) return i;
    if (c == '"' && (quoted || at_field)) {
      quoted = !quoted;
      at_field = !quoted;  // of two quotes the second opens again
      continue;
    }
    at_field = !quoted && c == ',';
  }
  return quoted ? std::string_view::npos : text.size() - 1;
}

// Each with its line break.
std::vector<std::string_view> Lines(std::string_view text, bool csv) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = csv ? EndOfRecord(text) : std::min(text.find('\n'), text.size() - 1);
    if (end == std::string_view::npos) {
      throw std::invalid_argument("record " + std::to_string(lines.size() + 1) +
                                  " opens a quote that nothing closes; close it, or name the file "
                                  ".txt, whose lines are taken as they are");
    }
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

void CheckCount(std::uint64_t wanted, std::uint64_t rows, const char* what) {
  if (wanted <= rows) return;
  throw std::invalid_argument("there are " + std::to_string(rows) + " rows, fewer than the " +
                              std::to_string(wanted) + " of " + what);
}

std::string LinesInOrder(const std::string& content, const RowsRequest& request) {
  std::vector<std::string_view> lines = Lines(content, request.csv);
  CheckCount(request.header, lines.size(), "--header");
  std::string result;
  result.reserve(content.size() + 2);
  const bool crlf = !lines.empty() && lines[0].ends_with("\r\n");
  const auto append = [&](std::string_view line) {
    result += line;
    if (line.back() != '\n') result += crlf ? "\r\n" : "\n";
  };
  for (std::uint64_t k = 0; k < request.header; ++k) append(lines[k]);
  const std::uint64_t n = lines.size() - request.header;
  CheckCount(request.take.value_or(0), n, "--take");
  const auto order = request.take
                         ? shuffle::SampleWithoutReplacement(n, *request.take, request.seed)
                         : MakeShuffler(request.method)->permutation(n, request.seed);
  for (const std::uint64_t line : order) append(lines[request.header + line]);
  return result;
}

std::string RowsInOrder(const std::string& content, const RowsRequest& request) {
  const std::size_t bytes = request.row_bytes;
  if (content.size() % bytes != 0) {
    throw std::invalid_argument(std::to_string(content.size()) +
                                " bytes are not a whole number of rows of " +
                                std::to_string(bytes) + " bytes");
  }
  CheckCount(request.header, content.size() / bytes, "--header");
  const std::size_t kept = request.header * bytes;
  const std::uint64_t n = content.size() / bytes - request.header;
  CheckCount(request.take.value_or(0), n, "--take");
  std::string result(kept + request.take.value_or(n) * bytes, '\0');
  content.copy(result.data(), kept);
  if (request.take) {
    char* to = result.data() + kept;
    for (const auto row : shuffle::SampleWithoutReplacement(n, *request.take, request.seed)) {
      to = std::copy_n(content.data() + kept + row * bytes, bytes, to);
    }
  } else if (n > 0) {
    const auto in = std::as_bytes(std::span(content)).subspan(kept);
    MakeShuffler(request.method)
        ->shuffle(in, std::as_writable_bytes(std::span(result)).subspan(kept), bytes, request.seed);
  }
  return result;
}

}  // namespace

std::string RowsInRandomOrder(const std::string& content, const RowsRequest& request) {
  return request.row_bytes == 0 ? LinesInOrder(content, request) : RowsInOrder(content, request);
}

}  // namespace retable::experiments
