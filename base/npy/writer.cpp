#include "base/npy/writer.hpp"

namespace retable {

std::string NpyHeader(std::string_view type, const std::vector<std::size_t>& shape) {
  std::string lengths;
  for (const std::size_t length : shape) lengths += std::to_string(length) + ", ";
  std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" +
                     lengths + "), }";
  text.resize(192 - 10 - 1, ' ');
  const auto length = static_cast<char>(text.size() + 1);  // two bytes, of which the second is 0
  return std::string("\x93NUMPY\x01\x00", 8) + length + '\0' + text + '\n';
}

}  // namespace retable
