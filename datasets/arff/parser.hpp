#pragma once
//! @file
//! ARFF, the attribute-relation file format of WEKA, which OpenML serves.
//!
//! Problem: files of 150 MB in a loose text format with many dialects, to be turned into columns at
//! disk speed, in little memory, without trusting a byte of them. Approach: a parser which is fed
//! pieces of any size (so a gzip stream needs no whole text), cuts them into lines in place, and
//! has one straight path for what nearly all of the bytes are (numbers between commas); everything
//! else (quotes, escapes, missing, words) leaves that path and may be slow. Numbers are read
//! without a locale and rounded correctly. Speed and memory: O(bytes).
//! One line is held at a time.
//!
//! Understood: @relation, @attribute (numeric, real, integer, string, date with a format, nominal),
//! @data, in any case; dense and sparse rows, in a sparse one omitted values are 0 or the first
//! level;
//! `?` missing; quotes ' and " with escapes; % comments, also after a declaration; CRLF; byte order
//! mark; values apart by commas or blanks; a trailing comma; instance weights {w} (ignored).
//! Not understood, with an error: relational attributes, empty values, undeclared levels, a sparse
//! row that names an index twice.
//! Source: the WEKA manual, chapter "ARFF";
//! https://waikato.github.io/weka-wiki/formats_and_processing/arff/

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/arff/parse_error.hpp"
#include "datasets/frame/frame.hpp"

namespace retable::datasets {

struct ArffOptions {
  std::string file = "arff";  //!< name in messages
  //! A hostile file of a few bytes may announce billions of values: more cells than this is an
  //! error.
  std::int64_t max_cells = std::int64_t{1} << 31;
  bool doubles = false;  //!< Column::wide has all numbers that float32 would round, decimals too
  //! Chooses the roles once the header is known; all features when empty.
  std::function<std::vector<ColumnRole>(const std::vector<ColumnInfo>&)> roles;
};

class ArffParser {
 public:
  explicit ArffParser(ArffOptions options);
  ~ArffParser();
  //! Takes the next piece of text. @throws ParseError
  void Feed(std::string_view text);
  //! The frame; name, origin and hash are the caller's to set. @throws ParseError
  Frame Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

//! Parses a whole text. @throws ParseError
Frame ParseArff(std::string_view text, ArffOptions options = {});

}  // namespace retable::datasets
