#pragma once
//! @file
//! What the fuzz targets do with an input; the tests do the same with the corpus and mutations of
//! it, so that every build covers it, with or without libFuzzer. A body may throw nothing: whatever
//! the bytes, a parser gives a consistent result or its own kind of error.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "datasets/arff/parser.hpp"
#include "datasets/openml/json.hpp"

namespace retable::datasets {

//! Parses bytes as ARFF, whole and cut into pieces: both ways must agree.
inline void FuzzArff(const std::uint8_t* data, std::size_t size) {
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
  if (size == 0) return;
  if (parse(size) != parse(size % 7 + 1)) std::abort();
}

//! Reads bytes as every kind of answer there is.
inline void FuzzJson(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  try {
    if (ParseDescription(body).id <= 0) std::abort();
  } catch (const ShapeError&) {
  }
  try {
    if (ParseFeatures(body).empty()) std::abort();
  } catch (const ShapeError&) {
  }
  try {
    if (ParseStudy(body).empty()) std::abort();
  } catch (const ShapeError&) {
  }
  ParseApiError(body);
  LooksLikeHtml(body);
}

}  // namespace retable::datasets
