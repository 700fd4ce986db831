#pragma once
//! @file
//! A forest of extremely randomized trees: its nodes, and its bytes, the compact form beside JSON,
//! for pickles and for files that are read often. The extratrees family writes and reads them
//! (extratrees/model/binary.hpp), tree SHAP reads them; here is their layout, and what makes bytes
//! a forest.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

//! One node. A leaf has feature == -1.
struct ForestNode {
  double threshold = 0;  //!< a row goes left iff its value <= threshold
  double impurity = 0;   //!< Gini impurity or variance of the training samples here
  double weight = 0;     //!< sum of their weights
  std::int32_t left = -1;
  std::int32_t right = -1;
  std::int32_t feature = -1;
  std::uint32_t samples = 0;  //!< training samples here
  std::uint32_t value = 0;    //!< leaf: its class, or kMixed | row of leaf_values
  bool missing_left = false;  //!< a missing value goes to the left child
  bool operator==(const ForestNode&) const = default;
};
inline constexpr std::uint32_t kMixed = 0x80000000u;

struct ForestTree {
  std::vector<ForestNode> nodes;    //!< preorder, left first; nodes[0] is the root
  std::vector<double> leaf_values;  //!< class fractions of mixed leaves, or a target a leaf
  bool operator==(const ForestTree&) const = default;

  //! What a leaf gives to one of so many outputs: a class's fraction, or the target.
  double LeafValue(const ForestNode& leaf, std::uint32_t output, std::uint32_t outputs) const {
    if ((leaf.value & kMixed) == 0) return leaf.value == output ? 1.0 : 0.0;
    return leaf_values[std::size_t{leaf.value & ~kMixed} * outputs + output];
  }
};

//! @throws std::invalid_argument where a tree is none: children follow their only parent, features
//! and leaves are there, class fractions lie in [0, 1], targets are finite. O(nodes)
void CheckTree(const ForestTree& tree, std::uint64_t columns, std::uint32_t outputs,
               bool regression);

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

//! What stands before the trees.
struct ForestHeader {
  std::uint64_t columns = 0;
  std::uint32_t outputs = 0;  //!< classes; 1 for regression
  bool regression = false;
  std::int32_t value_bits = 0;
  ForestNames names;
};

struct StoredForest : ForestHeader {
  std::vector<ForestTree> trees;
};

//! Whether bytes claim to be a forest.
bool AreForestBytes(std::string_view bytes);

//! What bytes 12-15 are to hold.
std::uint32_t ForestChecksum(std::span<const std::byte> bytes);

//! Checks the whole: sizes, checksum, names, trees.
//! @throws std::invalid_argument with what is wrong. Nothing in the bytes is trusted. O(bytes).
StoredForest ReadStoredForest(std::span<const std::byte> bytes);

//! O(nodes). @throws std::invalid_argument where the names do not fit
std::vector<std::byte> StoreForest(const ForestHeader& header, std::span<const ForestTree> trees);

}  // namespace retable
