#pragma once
//! @file
//! What the fuzz target does with bytes that claim to be a NumPy array; a test does the same with
//! the corpus. They are refused with std::invalid_argument, or read the same at once and row by
//! row; what is written of them reads back the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/npy/reader.hpp"
#include "base/npy/writer.hpp"

namespace retable {

inline bool FuzzNpy(const std::uint8_t* data, std::size_t size) {
  const auto open = [](const std::string& bytes) {
    return NpyMatrix(std::make_unique<std::istringstream>(bytes), "fuzz.npy");
  };
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
  };
  try {
    NpyMatrix matrix = open(std::string(reinterpret_cast<const char*>(data), size));
    const std::size_t rows = matrix.rows(), columns = matrix.columns();
    if (rows > size || (rows > 0 && columns > size)) std::abort();
    std::vector<double> all(rows * columns), single(rows * columns);
    matrix.Read(0, rows, all.data());
    for (std::size_t r = 0; r < rows; ++r) matrix.Read(r, 1, single.data() + r * columns);
    if (!same(all, single)) std::abort();
    NpyMatrix again = open(NpyText(all, {rows, columns}));
    if (again.rows() != rows || again.columns() != columns) std::abort();
    again.Read(0, rows, single.data());
    if (!same(all, single)) std::abort();
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

}  // namespace retable
