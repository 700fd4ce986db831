#pragma once
//! @file
//! What every parser here throws: where, and what is wrong.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace retable::datasets {

//! Malformed input at file:line:column (both from 1, columns in bytes).
class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& file, std::int64_t line_in, std::int64_t column_in,
             const std::string& why)
      : std::runtime_error(file + ":" + std::to_string(line_in) + ":" + std::to_string(column_in) +
                           ": " + why),
        line(line_in),
        column(column_in) {}
  std::int64_t line;
  std::int64_t column;
};

}  // namespace retable::datasets
