#pragma once
//! @file
//! Mutations that know a format, for the fuzz targets and for the tests that replay their corpora:
//! bytes alone seldom come past a parser.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace retable::fuzzing {

//! SplitMix64: seeding costs nothing, and each mutation has a seed of its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  //! Below `bound`, which is at least 1.
  std::size_t operator()(std::size_t bound) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }
  template <class List>
  const auto& Of(const List& list) {
    return list[(*this)(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

//! The text with a number in place of another, or a line repeated, left out or moved.
std::string MutateText(std::string_view text, Random& random);

//! Bytes in which one to three numbers of 4 or 8 bytes, at multiples of 4, are others or each
//! other.
std::string MutateFields(std::string_view bytes, Random& random);

//! JSON with one to three values changed: other numbers, another value's copy, an item more or
//! less. Other text is mutated as text.
std::string MutateJson(std::string_view text, Random& random);

//! The same, and a quarter of it becomes UBJSON.
std::string MutateJsonOrUbj(std::string_view text, Random& random);

}  // namespace retable::fuzzing
