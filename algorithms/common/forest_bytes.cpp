#include "algorithms/common/forest_bytes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "algorithms/common/require.hpp"
#include "base/parallel.hpp"

namespace retable {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "RTFOREST";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kChecked = 16;  // where the bytes begin that the checksum covers
constexpr std::uint32_t kMostOutputs = 65535;

void RequireBytes(bool ok, std::string_view what) {
  Require(ok, "the forest's bytes: ", what);
}

// CRC-32, eight bytes a step (Kounavis, Berry 2005): row k of the table is a byte followed by k
// zeros.
std::uint32_t Crc32(std::span<const std::byte> bytes) {
  static const auto table = [] {
    std::array<std::array<std::uint32_t, 256>, 8> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      made[0][i] = c;
    }
    for (std::size_t k = 1; k < 8; ++k) {
      for (std::size_t i = 0; i < 256; ++i) {
        made[k][i] = (made[k - 1][i] >> 8) ^ made[0][made[k - 1][i] & 255];
      }
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffu;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= table[7 - k][(word >> (8 * k)) & 255];
  }
  for (; at < bytes.size(); ++at) {
    crc = table[0][(crc ^ std::to_integer<unsigned>(bytes[at])) & 255] ^ (crc >> 8);
  }
  return ~crc;
}

class ByteWriter {
 public:
  template <class T>
  void Put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
  }
  void Text(std::string_view text) {
    Put(static_cast<std::uint32_t>(text.size()));
    for (const char c : text) Put(c);
  }
  void Texts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) Text(text);
  }
  std::vector<std::byte> bytes;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T Take() {
    T value;
    std::memcpy(&value, Skip(sizeof(T)), sizeof(T));
    return value;
  }
  std::string Text() {
    const auto size = Take<std::uint32_t>();
    return {reinterpret_cast<const char*>(Skip(size)), size};
  }
  //! As many texts as are announced; each takes four bytes at least.
  std::vector<std::string> Texts(std::uint32_t count) {
    RequireBytes(count <= left() / 4, "they end too early");
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; i < count; ++i) texts.push_back(Text());
    return texts;
  }
  const std::byte* Skip(std::size_t bytes) {
    RequireBytes(bytes <= left(), "they end too early");
    at_ += bytes;
    return bytes_.data() + at_ - bytes;
  }
  void Pad() { Skip((8 - at_ % 8) % 8); }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

//! Bytes of a tree behind its two sizes.
std::size_t TreeBytes(std::size_t nodes, std::size_t values) {
  return (45 * nodes + 7) / 8 * 8 + 8 * values;
}

//! The members of a node in the order of their arrays.
template <class Call>
void ForEachField(const Call& call) {
  call(&ForestNode::threshold);
  call(&ForestNode::impurity);
  call(&ForestNode::weight);
  call(&ForestNode::left);
  call(&ForestNode::right);
  call(&ForestNode::feature);
  call(&ForestNode::samples);
  call(&ForestNode::value);
  call(&ForestNode::missing_left);
}

void WriteTree(const ForestTree& tree, std::byte* at) {
  std::ranges::copy(std::as_bytes(std::span(tree.leaf_values)),
                    at + TreeBytes(tree.nodes.size(), 0));
  ForEachField([&](auto field) {
    for (const ForestNode& node : tree.nodes) {
      std::memcpy(at, &(node.*field), sizeof(node.*field));
      at += sizeof(node.*field);
    }
  });
}

ForestTree ReadTree(const std::byte* at, std::size_t nodes, std::size_t values) {
  ForestTree tree{std::vector<ForestNode>(nodes), std::vector<double>(values)};
  std::copy_n(at + TreeBytes(nodes, 0), 8 * values,
              std::as_writable_bytes(std::span(tree.leaf_values)).begin());
  ForEachField([&](auto field) {
    for (ForestNode& node : tree.nodes) {
      if constexpr (std::is_same_v<decltype(field), bool ForestNode::*>) {
        node.*field = *at != std::byte{0};
      } else {
        std::memcpy(&(node.*field), at, sizeof(node.*field));
      }
      at += sizeof(node.*field);
    }
  });
  return tree;
}

void WriteNames(const ForestNames& names, ByteWriter& out) {
  out.Put(static_cast<std::uint32_t>(names.classes.size()));
  out.Put(static_cast<std::uint32_t>(names.features.size()));
  out.Texts(names.classes);
  for (const TrainedFeature& feature : names.features) {
    out.Text(feature.name);
    out.Text(feature.kind);
    out.Put(static_cast<std::uint32_t>(feature.levels.size()));
    out.Texts(feature.levels);
  }
  out.bytes.resize((out.bytes.size() + 7) / 8 * 8);
}

ForestNames ReadNames(ByteReader& in) {
  ForestNames names;
  const auto classes = in.Take<std::uint32_t>(), features = in.Take<std::uint32_t>();
  names.classes = in.Texts(classes);
  RequireBytes(features <= in.left() / 12, "they end too early");
  for (std::uint32_t i = 0; i < features; ++i) {
    TrainedFeature feature;
    feature.name = in.Text();
    feature.kind = in.Text();
    feature.levels = in.Texts(in.Take<std::uint32_t>());
    names.features.push_back(std::move(feature));
  }
  in.Pad();
  return names;
}

}  // namespace

void CheckTree(const ForestTree& tree, std::uint64_t columns, std::uint32_t outputs,
               bool regression) {
  const auto n = static_cast<std::int64_t>(tree.nodes.size());
  Require(n > 0, "the forest: a tree has no node");
  std::vector<bool> has_parent(tree.nodes.size());
  for (std::int64_t at = 0; at < n; ++at) {
    const auto require = [&](bool ok, const char* what) {
      Require(ok, "the forest: node ", at, " has ", what);
    };
    const ForestNode& node = tree.nodes[static_cast<std::size_t>(at)];
    require(node.weight >= 0 && std::isfinite(node.weight), "a weight out of range");
    if (node.feature < 0 && (node.value & kMixed) == 0) {
      require(!regression && node.value < outputs, "a class that is not there");
    } else if (node.feature < 0) {
      require((std::size_t{node.value & ~kMixed} + 1) * outputs <= tree.leaf_values.size(),
              "a leaf's values that are not there");
    } else {
      require(static_cast<std::uint64_t>(node.feature) < columns, "a feature that is not there");
      require(!std::isnan(node.threshold), "a threshold that is no number");
      // Children follow their parent: every traversal ends.
      require(node.left > at && node.right > at && node.left < n && node.right < n,
              "a child out of place");
      for (const std::int32_t child : {node.left, node.right}) {
        require(!has_parent[static_cast<std::size_t>(child)], "the child of another node");
        has_parent[static_cast<std::size_t>(child)] = true;
      }
    }
  }
  for (const double value : tree.leaf_values) {
    Require(regression ? std::isfinite(value) : value >= 0 && value <= 1,
            "the forest: a leaf's value out of range");
  }
}

void CheckNames(const ForestNames& names, std::size_t outputs, std::size_t columns) {
  const auto require = [](bool ok, const char* what) { Require(ok, "the forest's names: ", what); };
  std::set<std::string_view> features;
  for (const TrainedFeature& feature : names.features) features.insert(feature.name);
  const std::set<std::string_view> classes(names.classes.begin(), names.classes.end());
  require(names.classes.empty() || names.classes.size() == outputs, "there is not one a class");
  require(names.features.empty() || names.features.size() == columns, "there is not one a feature");
  require(classes.size() == names.classes.size(), "a class's name occurs twice");
  require(features.size() == names.features.size(), "a feature's name occurs twice");
}

bool AreForestBytes(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::uint32_t ForestChecksum(std::span<const std::byte> bytes) {
  return Crc32(bytes.subspan(std::min(bytes.size(), kChecked)));
}

StoredForest ReadStoredForest(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  RequireBytes(bytes.size() >= kChecked && AreForestBytes(text),
               "they do not begin with \"" + std::string(kMagic) + "\"");
  ByteReader in(bytes);
  in.Skip(kMagic.size());
  const auto version = in.Take<std::uint32_t>();
  RequireBytes(version == 1 || version == kVersion, "version " + std::to_string(version) +
                                                        "; this program reads 1 and " +
                                                        std::to_string(kVersion));
  RequireBytes(in.Take<std::uint32_t>() == ForestChecksum(bytes),
               "the checksum differs: they are damaged");
  StoredForest forest;
  forest.columns = in.Take<std::uint64_t>();
  forest.outputs = in.Take<std::uint32_t>();
  forest.regression = in.Take<std::uint32_t>() != 0;
  forest.value_bits = in.Take<std::int32_t>();
  const auto trees = in.Take<std::uint32_t>();
  RequireBytes(forest.outputs >= 1 && forest.outputs <= kMostOutputs,
               "an impossible number of classes");
  RequireBytes(!forest.regression || forest.outputs == 1, "a regression forest has one output");
  if (version > 1) forest.names = ReadNames(in);
  CheckNames(forest.names, forest.outputs, forest.columns);
  RequireBytes(trees >= 1 && trees <= in.left() / 16, "an impossible number of trees");
  struct Place {
    const std::byte* at;
    std::size_t nodes, values;
  };
  std::vector<Place> places;
  for (std::uint32_t t = 0; t < trees; ++t) {
    const auto nodes = in.Take<std::uint64_t>(), values = in.Take<std::uint64_t>();
    RequireBytes(nodes > 0 && nodes <= in.left() / 45 && values <= in.left() / 8,
                 "a tree of " + std::to_string(nodes) + " nodes does not fit");
    places.push_back({in.Skip(TreeBytes(nodes, values)), nodes, values});
  }
  RequireBytes(in.left() == 0, std::to_string(in.left()) + " bytes too many");
  forest.trees.resize(places.size());
  ParallelFor(places.size(), [&](std::size_t t) {
    forest.trees[t] = ReadTree(places[t].at, places[t].nodes, places[t].values);
    CheckTree(forest.trees[t], forest.columns, forest.outputs, forest.regression);
  });
  return forest;
}

std::vector<std::byte> StoreForest(const ForestHeader& header, std::span<const ForestTree> trees) {
  CheckNames(header.names, header.outputs, header.columns);
  ByteWriter out;
  for (const char c : kMagic) out.Put(c);
  out.Put(kVersion);
  out.Put(std::uint32_t{0});
  out.Put(header.columns);
  out.Put(header.outputs);
  out.Put(std::uint32_t{header.regression ? 1u : 0u});
  out.Put(header.value_bits);
  out.Put(static_cast<std::uint32_t>(trees.size()));
  WriteNames(header.names, out);
  std::vector<std::size_t> begins = {out.bytes.size()};
  for (const ForestTree& tree : trees) {
    begins.push_back(begins.back() + 16 + TreeBytes(tree.nodes.size(), tree.leaf_values.size()));
  }
  std::vector<std::byte>& bytes = out.bytes;
  bytes.resize(begins.back());
  ParallelFor(trees.size(), [&](std::size_t t) {
    const std::uint64_t counts[2] = {trees[t].nodes.size(), trees[t].leaf_values.size()};
    std::memcpy(bytes.data() + begins[t], counts, sizeof(counts));
    WriteTree(trees[t], bytes.data() + begins[t] + sizeof(counts));
  });
  const std::uint32_t crc = ForestChecksum(bytes);
  std::memcpy(bytes.data() + 12, &crc, sizeof(crc));
  return std::move(out.bytes);
}

}  // namespace retable
