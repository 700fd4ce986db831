#include "algorithms/extratrees/model/binary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "RTFOREST";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecked = 16;  // where the bytes begin that the checksum covers

void RequireBytes(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument("the forest's bytes: " + what);
}

std::uint32_t Crc32(std::span<const std::byte> bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      made[i] = c;
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const std::byte b : bytes)
    crc = table[(crc ^ std::to_integer<unsigned>(b)) & 255] ^ (crc >> 8);
  return ~crc;
}

class ByteWriter {
 public:
  template <class T>
  void Put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
  }
  template <class Nodes, class Field>
  void Column(const Nodes& nodes, Field field) {
    for (const auto& node : nodes) Put(node.*field);
  }
  void Pad() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  std::vector<std::byte> bytes;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T Take() {
    RequireBytes(left() >= sizeof(T), "they end too early");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  template <class Nodes, class Field>
  void Column(Nodes& nodes, Field field) {
    for (auto& node : nodes) node.*field = Take<std::remove_reference_t<decltype(node.*field)>>();
  }
  void Pad() { at_ = (at_ + 7) / 8 * 8; }
  std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

void CheckLeaf(const Forest& forest, const Tree& tree, const TreeNode& node) {
  if ((node.value & kMixed) == 0) {
    RequireBytes(!forest.regression && node.value < forest.classes, "a class that is not there");
    return;
  }
  RequireBytes((std::size_t{node.value & ~kMixed} + 1) * forest.classes <= tree.leaf_values.size(),
               "a leaf's values that are not there");
}

void CheckTree(const Forest& forest, const Tree& tree) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    if (node.feature < 0) {
      CheckLeaf(forest, tree, node);
      continue;
    }
    RequireBytes(static_cast<std::size_t>(node.feature) < forest.columns,
                 "a feature that is not there");
    const auto at = static_cast<std::int64_t>(i);
    const auto n = static_cast<std::int64_t>(tree.nodes.size());
    // Children follow their parent: every traversal ends.
    RequireBytes(node.left > at && node.right > at && node.left < n && node.right < n,
                 "a child out of place");
  }
  for (const double value : tree.leaf_values) {
    RequireBytes(forest.regression ? std::isfinite(value) : value >= 0 && value <= 1,
                 "a leaf's value out of range");
  }
}

Tree TakeTree(ByteReader& in, const Forest& forest) {
  const auto nodes = in.Take<std::uint64_t>();
  const auto values = in.Take<std::uint64_t>();
  RequireBytes(nodes > 0 && nodes <= in.left() / 45 && values <= in.left() / 8,
               "a tree of " + std::to_string(nodes) + " nodes does not fit");
  Tree tree;
  tree.nodes.resize(nodes);
  in.Column(tree.nodes, &TreeNode::threshold);
  in.Column(tree.nodes, &TreeNode::impurity);
  in.Column(tree.nodes, &TreeNode::weight);
  in.Column(tree.nodes, &TreeNode::left);
  in.Column(tree.nodes, &TreeNode::right);
  in.Column(tree.nodes, &TreeNode::feature);
  in.Column(tree.nodes, &TreeNode::samples);
  in.Column(tree.nodes, &TreeNode::value);
  for (TreeNode& node : tree.nodes) node.missing_left = in.Take<std::uint8_t>() != 0;
  in.Pad();
  tree.leaf_values.resize(values);
  for (double& value : tree.leaf_values) value = in.Take<double>();
  CheckTree(forest, tree);
  return tree;
}

}  // namespace

std::vector<std::byte> WriteForestBytes(const Forest& forest) {
  ByteWriter out;
  for (const char c : kMagic) out.Put(c);
  out.Put(kVersion);
  out.Put(std::uint32_t{0});
  out.Put(std::uint64_t{forest.columns});
  out.Put(forest.classes);
  out.Put(std::uint32_t{forest.regression ? 1u : 0u});
  out.Put(std::int32_t{forest.value_bits});
  out.Put(static_cast<std::uint32_t>(forest.trees.size()));
  for (const Tree& tree : forest.trees) {
    out.Put(std::uint64_t{tree.nodes.size()});
    out.Put(std::uint64_t{tree.leaf_values.size()});
    out.Column(tree.nodes, &TreeNode::threshold);
    out.Column(tree.nodes, &TreeNode::impurity);
    out.Column(tree.nodes, &TreeNode::weight);
    out.Column(tree.nodes, &TreeNode::left);
    out.Column(tree.nodes, &TreeNode::right);
    out.Column(tree.nodes, &TreeNode::feature);
    out.Column(tree.nodes, &TreeNode::samples);
    out.Column(tree.nodes, &TreeNode::value);
    for (const TreeNode& node : tree.nodes) out.Put(static_cast<std::uint8_t>(node.missing_left));
    out.Pad();
    for (const double value : tree.leaf_values) out.Put(value);
  }
  const std::uint32_t crc = Crc32(std::span<const std::byte>(out.bytes).subspan(kChecked));
  std::memcpy(out.bytes.data() + kMagic.size() + sizeof(kVersion), &crc, sizeof(crc));
  return std::move(out.bytes);
}

Forest ReadForestBytes(std::span<const std::byte> bytes) {
  RequireBytes(
      bytes.size() >= kChecked && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
      "they do not begin with \"" + std::string(kMagic) + "\"");
  ByteReader in(bytes.subspan(kMagic.size()));
  const auto version = in.Take<std::uint32_t>();
  RequireBytes(version == kVersion, "version " + std::to_string(version) + "; this program reads " +
                                        std::to_string(kVersion));
  const auto crc = in.Take<std::uint32_t>();
  RequireBytes(crc == Crc32(bytes.subspan(kChecked)), "the checksum differs: they are damaged");
  Forest forest;
  forest.columns = in.Take<std::uint64_t>();
  forest.classes = in.Take<std::uint32_t>();
  forest.regression = in.Take<std::uint32_t>() != 0;
  forest.value_bits = in.Take<std::int32_t>();
  const auto trees = in.Take<std::uint32_t>();
  RequireBytes(forest.classes >= 1 && forest.classes <= kMaxClasses,
               "an impossible number of classes");
  RequireBytes(!forest.regression || forest.classes == 1, "a regression forest has one output");
  RequireBytes(std::abs(forest.value_bits) <= 1000, "impossible value_bits");
  RequireBytes(trees >= 1 && trees <= in.left() / 16, "an impossible number of trees");
  for (std::uint32_t t = 0; t < trees; ++t) forest.trees.push_back(TakeTree(in, forest));
  RequireBytes(in.left() == 0, std::to_string(in.left()) + " bytes too many");
  return forest;
}

}  // namespace retable::extratrees
