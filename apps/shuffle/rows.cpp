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
#include "base/csv/reader.hpp"
#include "base/files/table_format.hpp"

namespace retable::experiments {
namespace {

using shuffle::Shuffler;

std::unique_ptr<Shuffler> MakeShuffler(const std::string& name) {
  // Gather repeats items; External takes its program from an experiment.
  return MethodByName<Shuffler>("shuffler", name, Device::kCpu, {"Gather", "External"}).make({});
}

// Each with its line end. A blank line of a .csv is no record.
std::vector<std::string_view> Lines(std::string_view text, const std::string& file) {
  const bool csv = FormatOf(file) == TableFormat::kCsv;
  CsvRecords records({text, file}, {.quotes = csv, .blank_lines = !csv, .utf8 = false});
  std::vector<std::string_view> lines;
  for (CsvRecord record; records.Next(record);) {
    if (csv && lines.empty() && record.text.find_first_of(",;\t") == std::string_view::npos) {
      records.RefuseBlankLines();  // of one column: they may be missing values
    }
    lines.emplace_back(record.text.data(), record.text.size() + record.end.size());
  }
  return lines;
}

void CheckCount(std::uint64_t wanted, std::uint64_t rows, const char* what) {
  if (wanted <= rows) return;
  throw std::invalid_argument("there are " + std::to_string(rows) + " rows, fewer than the " +
                              std::to_string(wanted) + " of " + what);
}

std::string LinesInOrder(std::string_view content, const RowsRequest& request) {
  if (const auto at = content.find('\0'); at != std::string_view::npos) {
    throw std::invalid_argument("byte " + std::to_string(at + 1) +
                                " is zero, so this is no text that can be cut into lines; unpack "
                                "or convert it, or name --row-bytes for rows of bytes");
  }
  if (content.find('\r') != std::string_view::npos &&
      content.find('\n') == std::string_view::npos) {
    throw std::invalid_argument("its lines end with carriage returns alone; end them with LF");
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8; it stays in front
  std::string result(content.starts_with(kMark) ? kMark : "");
  result.reserve(content.size() + 2);
  content.remove_prefix(result.size());
  std::vector<std::string_view> lines = Lines(content, request.file);
  CheckCount(request.header, lines.size(), "--header");
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
