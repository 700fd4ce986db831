#pragma once
//! @file
//! Rows of a file in random order: lines of a text, records of comma-separated values, or rows of
//! one length.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace retable::experiments {

struct RowsRequest {
  std::string file;                  //!< the name of what is read: lines of a .csv are its records
  std::string method = "Partition";  //!< a CPU method of the registry
  std::uint64_t seed = 1;
  std::size_t row_bytes = 0;          //!< 0: lines
  std::uint64_t header = 0;           //!< lines (or rows) that stay in front
  std::optional<std::uint64_t> take;  //!< sample size, without replacement; none: all rows
};

//! `content` with its rows in the order of the seed. A last line without a line end gets
//! the first line's; line ends stay as they are; blank lines of a .csv go. Memory: the content
//! twice and 16 bytes a line. A sample follows SampleWithoutReplacement, everything else the
//! method.
//! @throws std::invalid_argument when row_bytes does not divide the content, for an unknown method,
//! and for a header or a sample of more rows than there are; CsvError for a quote that stays open,
//! and for a blank line between the records of one column.
std::string RowsInRandomOrder(const std::string& content, const RowsRequest& request);

}  // namespace retable::experiments
