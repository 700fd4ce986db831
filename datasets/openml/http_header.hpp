#pragma once
//! @file
//! The few header lines of an answer that a client of a data server needs.

#include <cstdint>
#include <string_view>

namespace retable::datasets {

struct HttpHeader {
  std::int64_t range_start = -1;  //!< N in "Content-Range: bytes N-...", or -1
  double retry_after = 0;         //!< seconds, 0 to 120; 0 too for a date
};

//! Takes what a line says into `header`; lines that say nothing of it are passed over.
void ReadHeaderLine(std::string_view line, HttpHeader& header);

}  // namespace retable::datasets
