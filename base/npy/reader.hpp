#pragma once
//! @file
//! NumPy's array files (.npy, versions 1.0 to 3.0): numpy.lib.format.
//!
//! One and two dimensions of booleans, integers, float32 and float64, little-endian, in C or
//! Fortran order. Values come as doubles: integers beyond 2^53 are rounded. Rows are read where
//! they are asked for, so that a file may be larger than memory. Nothing in a file is trusted: its
//! size must be what its header says.

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

class NpyMatrix {
 public:
  //! Reads the header. @throws std::runtime_error where the file cannot be read,
  //! std::invalid_argument naming the file and the remedy for what is no such array
  explicit NpyMatrix(const std::string& path);
  //! @param file for errors
  NpyMatrix(std::unique_ptr<std::istream> stream, std::string file);

  const std::string& file() const { return file_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }  //!< 1 of an array of one dimension
  //! Whether there are integers that doubles may round.
  bool wide_integers() const { return kind_ != 'f' && bytes_ == 8; }
  //! Rows [first, first + count), row-major. @throws std::runtime_error naming the file
  void Read(std::size_t first, std::size_t count, double* to);

 private:
  void ReadHeader();
  void ParseHeader(std::string_view text);
  void TakeType(const std::string& type);
  void TakeShape(const std::vector<std::size_t>& shape);
  //! Items [first, first + count) of the file, `stride` apart in `to`.
  void ReadItems(std::size_t first, std::size_t count, double* to, std::size_t stride);
  [[noreturn]] void Refuse(const std::string& what) const;

  std::unique_ptr<std::istream> stream_;
  std::string file_;
  std::size_t rows_ = 0, columns_ = 1;
  char kind_ = 'f';        // f float, i signed, u unsigned, b boolean
  std::size_t bytes_ = 8;  // an item
  std::size_t begin_ = 0;  // of the items
  bool fortran_ = false;   // columns lie together
  std::vector<char> block_;
};

}  // namespace retable
