#pragma once
//! @file
//! A forest of extremely randomized trees as bytes: the compact form beside JSON, for pickles and
//! for files that are read often. The extratrees family writes and reads it
//! (extratrees/model/binary.hpp), tree SHAP reads it; here is its layout, and what makes bytes one.
//!
//!     bytes 0-7     "RTFOREST"
//!     bytes 8-11    version: 2; 1 is read too
//!     bytes 12-15   CRC-32 (zlib's polynomial) of all that follows
//!     bytes 16-23   columns
//!     bytes 24-27   outputs
//!     bytes 28-31   1 for regression, else 0
//!     bytes 32-35   value_bits
//!     bytes 36-39   trees
//!     names, which version 1 lacks: how many classes and how many features have names (4 bytes
//!     each), the names of the classes, and for each feature its name, its kind, the number of its
//!     levels (4 bytes) and the levels. A text is its length (4 bytes) and its bytes. Zeros up to a
//!     multiple of 8.
//!     for each tree: nodes and leaf values (8 bytes each), then arrays of all nodes: threshold,
//!     impurity, weight (8 bytes a value), left, right, feature, samples, value (4 bytes),
//!     missing_left (1 byte), zeros up to a multiple of 8, and the leaf values (8 bytes).
//!
//! Little-endian; arrays are aligned to 8 bytes: a file can be mapped into memory. 45 bytes a node.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

//! A column that a forest was trained on.
struct TrainedFeature {
  std::string name;
  std::string kind = "numeric";     //!< "numeric", "nominal", "date" or "string"
  std::vector<std::string> levels;  //!< what 0, 1, ... stand for, where they stand for texts
  bool operator==(const TrainedFeature&) const = default;
};

//! What a forest's numbers are called in the data it was trained on.
struct ForestNames {
  std::vector<std::string> classes;      //!< what classes 0, 1, ... are called, where it is known
  std::vector<TrainedFeature> features;  //!< one a column, with different names, or none
  bool operator==(const ForestNames&) const = default;
};

//! @throws std::invalid_argument where names do not fit a forest, or one occurs twice
void CheckNames(const ForestNames& names, std::size_t outputs, std::size_t columns);

//! An array in bytes that need not be aligned.
template <class T, class Byte>
struct ByteArray {
  Byte* at = nullptr;

  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, at + i * sizeof(T), sizeof(T));
    return value;
  }
  void Put(std::size_t i, T value) const { std::memcpy(at + i * sizeof(T), &value, sizeof(T)); }
};

//! A tree's arrays within the bytes, an entry a node. Byte: std::byte, or const to read.
template <class Byte>
struct TreeBytes {
  //! A leaf's value is its class, or this and the row of leaf_values with a value an output.
  static constexpr std::uint32_t kMixed = 0x80000000u;

  std::size_t nodes = 0;
  std::size_t values = 0;  //!< numbers in leaf_values
  ByteArray<double, Byte> threshold, impurity, weight;
  ByteArray<std::int32_t, Byte> left, right, feature;  //!< a leaf's feature is negative
  ByteArray<std::uint32_t, Byte> samples, value;
  ByteArray<std::uint8_t, Byte> missing_left;
  ByteArray<double, Byte> leaf_values;

  //! @param begin where the tree's arrays begin, behind the two sizes
  TreeBytes(Byte* begin, std::size_t node_count, std::size_t value_count)
      : nodes(node_count), values(value_count) {
    Byte* at = begin;
    const auto place = [&](auto& array, std::size_t bytes) {
      array.at = at;
      at += bytes;
    };
    for (auto* array : {&threshold, &impurity, &weight}) place(*array, 8 * nodes);
    for (auto* array : {&left, &right, &feature}) place(*array, 4 * nodes);
    for (auto* array : {&samples, &value}) place(*array, 4 * nodes);
    place(missing_left, Size(nodes, 0) - 44 * nodes);
    place(leaf_values, 8 * values);
  }
  static std::size_t Size(std::size_t nodes, std::size_t values) {
    return (45 * nodes + 7) / 8 * 8 + 8 * values;
  }
  //! What leaf i gives to an output: a class's fraction, or the target.
  double LeafValue(std::size_t i, std::uint32_t output, std::uint32_t outputs) const {
    const std::uint32_t own = value[i];
    if ((own & kMixed) == 0) return own == output ? 1.0 : 0.0;
    return leaf_values[std::size_t{own & ~kMixed} * outputs + output];
  }
};

//! What stands before the trees.
struct ForestHeader {
  std::uint64_t columns = 0;
  std::uint32_t outputs = 0;  //!< classes; 1 for regression
  bool regression = false;
  std::int32_t value_bits = 0;
  ForestNames names;
};

//! A forest within bytes that somebody else owns.
struct ForestBytes : ForestHeader {
  std::vector<TreeBytes<const std::byte>> trees;
};

//! Whether bytes claim to be a forest.
bool AreForestBytes(std::string_view bytes);

//! What bytes 12-15 are to hold.
std::uint32_t ForestChecksum(std::span<const std::byte> bytes);

//! Checks the whole: sizes, checksum, names, and that every tree is one: children follow their
//! parent, features and leaves are there, class fractions lie in [0, 1], targets are finite.
//! @throws std::invalid_argument with what is wrong. Nothing in the bytes is trusted. O(bytes).
ForestBytes OpenForestBytes(std::span<const std::byte> bytes);

//! Nodes and leaf values of a tree.
struct TreeSize {
  std::size_t nodes = 0, values = 0;
};
//! The bytes of a forest. @param fill writes the arrays of tree t; called from several threads
//! @throws std::invalid_argument where the names do not fit
std::vector<std::byte> MakeForestBytes(
    const ForestHeader& header, const std::vector<TreeSize>& sizes,
    const std::function<void(std::size_t t, const TreeBytes<std::byte>& tree)>& fill);

}  // namespace retable
