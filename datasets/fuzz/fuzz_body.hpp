#pragma once
//! @file
//! What the fuzz targets do with an input; the tests do the same with the corpus and mutations of
//! it, so that every build covers it, with or without libFuzzer. A body may throw nothing: whatever
//! the bytes, a parser gives a consistent result or its own kind of error.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/sha256.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/frame/file.hpp"
#include "datasets/openml/answer.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/openml/http.hpp"
#include "datasets/openml/http_header.hpp"
#include "datasets/openml/json.hpp"
#include "datasets/openml/url.hpp"

namespace retable::datasets {

//! Parses bytes as ARFF, whole and cut into pieces: both ways must agree.
inline bool FuzzArff(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parse = [&](std::size_t step) -> std::int64_t {
    ArffOptions options;
    options.max_cells = 1 << 14;
    try {
      ArffParser parser(options);
      for (std::size_t at = 0; at < size; at += step) parser.Feed(text.substr(at, step));
      const Frame frame = parser.Finish();
      for (const Column& column : frame.columns) {
        if (static_cast<std::int64_t>(column.values.size()) != frame.rows) std::abort();
        if (!column.codes8.empty() && column.codes8.size() != column.values.size()) std::abort();
        for (std::size_t r = 0; r < column.codes8.size(); ++r) {
          if (static_cast<float>(column.codes8[r]) != column.values[r]) std::abort();
        }
        if (column.kind == ColumnKind::kNominal || column.kind == ColumnKind::kString) {
          for (const float v : column.values) {
            if (v == v && !(v >= 0 && v < static_cast<float>(column.levels.size()))) std::abort();
          }
        }
      }
      return frame.rows;
    } catch (const ParseError& error) {
      if (error.line < 1 || error.column < 1) std::abort();
      return -error.line;
    }
  };
  if (size == 0) return false;
  const std::int64_t rows = parse(size);
  if (rows != parse(size % 7 + 1)) std::abort();
  return rows >= 0;
}

//! Reads bytes as every kind of answer there is, in JSON or XML.
inline bool FuzzJson(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  bool good = false;
  const auto attempt = [&](const auto& read) {
    try {
      if (!read()) std::abort();
      good = true;
    } catch (const ShapeError&) {
    }
  };
  attempt([&] { return ParseDescription(body).id > 0; });
  attempt([&] { return !ParseFeatures(body).empty(); });
  if (const auto error = ParseApiError(body)) {
    for (const char c : Describe(*error)) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
  }
  LooksLikeHtml(body);
  return good;
}

//! An answer as it comes over the wire, after its first line: header lines, an empty line, and a
//! body, plain or compressed. The header lines are read as addresses too.
inline bool FuzzHttp(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  HttpHeader header;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    if (line == "\n" || line == "\r\n") break;
    ReadHeaderLine(line, header);
    const std::string url(line.substr(0, end));
    const std::string path = "/" + PercentDecoded(SafePath(url)) + "/";
    if (path.find("/../") != path.npos || path.find("/api/") == 0) std::abort();
    const std::string shown = ShownUrl(url);
    if (shown.size() > url.size() || ShownUrl(shown) != shown) std::abort();
  }
  if (!(header.retry_after >= 0 && header.retry_after <= 120)) std::abort();
  if (header.range_start < -1) std::abort();
  HttpResponse response;
  response.status = size % 5 == 0 ? 412 : 200;
  const ApiAnswer answer = JudgeAnswer(response, std::string(rest));
  if (answer.good && (!answer.error.empty() || answer.again || answer.not_found)) std::abort();
  try {
    std::string pieces;
    Inflater inflater([&](std::string_view piece) { pieces += piece; });
    for (std::size_t at = 0; at < rest.size(); at += 7) inflater.Feed(rest.substr(at, 7));
    inflater.Finish();
    if (pieces != Gunzip(rest)) std::abort();
  } catch (const std::runtime_error&) {
  }
  return answer.good;
}

//! A file of the cache's frames, whose hash is made right: what is read is in range.
inline bool FuzzFrame(const std::uint8_t* data, std::size_t size) {
  // The reader maps a file; this one is in memory.
  static const int file = memfd_create("frame", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += Sha256(bytes);
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  try {
    const Frame frame = ReadFrameFile(path);
    const auto check = [&](const Column& column) {
      if (static_cast<std::int64_t>(column.values.size()) != frame.rows) std::abort();
      double sum = 0;
      for (const float value : column.values) sum += value;
      if (column.kind == ColumnKind::kNominal || column.kind == ColumnKind::kString) {
        for (const float v : column.values) {
          if (v == v && !(v >= 0 && v < static_cast<float>(column.levels.size()))) std::abort();
        }
      }
      return sum;
    };
    for (const Column& column : frame.columns) check(column);
    if (frame.target) check(*frame.target);
    return true;
  } catch (const FrameFileError&) {
    return false;
  }
}

}  // namespace retable::datasets
