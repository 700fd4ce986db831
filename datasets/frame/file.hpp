#pragma once
//! @file
//! A frame as a file: what is parsed once is read in an instant ever after.
//!
//! Layout: 8 bytes "RETABLE2", the length of a JSON header (8 bytes, little endian), the header,
//! then each column's values in its narrowest lossless form (bytes, 2-byte codes, float32, or
//! float64), aligned to 64 bytes, and the SHA-256 of all that, which reading checks. Reading maps
//! the file: float32 columns and codes are used in place, and the float32 values of coded columns
//! are made from the codes. A column of bytes costs one byte a value on disk.

#include <filesystem>
#include <stdexcept>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! Not a frame file, or a damaged one.
class FrameFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! Writes the file under a temporary name and renames it. @throws std::runtime_error
void WriteFrameFile(const Frame& frame, const std::filesystem::path& path);

//! @throws FrameFileError
Frame ReadFrameFile(const std::filesystem::path& path);

}  // namespace retable::datasets
