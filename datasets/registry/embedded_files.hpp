#pragma once
//! @file
//! The table of embedded files; its definition is generated at build (build.cmake).

#include <cstddef>
#include <span>

namespace retable::datasets {

struct EmbeddedBytes {
  const char* name;
  const unsigned char* bytes;
  std::size_t size;
};

extern const std::span<const EmbeddedBytes> kEmbeddedFiles;

}  // namespace retable::datasets
