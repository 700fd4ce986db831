#pragma once
//! @file
//! NumPy's array files (.npy, version 1.0), written: a header, then the items in C order.

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace retable {

//! The header; 192 bytes for any shape of up to four dimensions, so that a writer may replace it
//! once the number of rows is known.
//! @param type of the items: "<f4", "<f8", "<i8"
std::string NpyHeader(std::string_view type, const std::vector<std::size_t>& shape);

//! A whole file. T: float, double or std::int64_t.
template <class T>
std::string NpyText(const std::vector<T>& items, const std::vector<std::size_t>& shape) {
  constexpr std::string_view type = sizeof(T) == 4 ? "<f4" : std::is_integral_v<T> ? "<i8" : "<f8";
  std::string text = NpyHeader(type, shape);
  text.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  return text;
}

}  // namespace retable
