#include "algorithms/extratrees/model/binary.hpp"

#include <utility>

#include "algorithms/extratrees/model/json.hpp"

namespace retable::extratrees {

std::vector<std::byte> WriteForestBytes(const Forest& forest, const ForestNames& names) {
  return StoreForest({forest.columns, forest.classes, forest.regression, forest.value_bits, names},
                     forest.trees);
}

Forest ReadForestBytes(std::span<const std::byte> bytes, ForestNames* names) {
  StoredForest in = ReadStoredForest(bytes);
  Forest forest{in.columns, in.outputs, in.regression, in.value_bits, std::move(in.trees)};
  CheckValueBits(forest);
  if (names != nullptr) *names = std::move(in.names);
  return forest;
}

Forest ReadForest(std::string_view content, ForestNames* names) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && content[first] == '{'
             ? ReadForestJson(content, names)
             : ReadForestBytes(std::as_bytes(std::span(content)), names);
}

}  // namespace retable::extratrees
