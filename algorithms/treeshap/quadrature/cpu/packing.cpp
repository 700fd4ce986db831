#include "algorithms/treeshap/quadrature/cpu/packing.hpp"

#include <algorithm>
#include <map>

namespace retable::treeshap {

namespace {

template <class T>
class Packer {
 public:
  Packer(const AnnotatedTree& tree, const QuadratureRule& rule, std::int32_t features)
      : tree_(tree), rule_(rule), local_of_(static_cast<std::size_t>(features), -1) {
    packed_.group = tree.group;
    packed_.depth = tree.nodes[0].height;
    packed_.t.assign(rule.node.begin(), rule.node.end());
    packed_.nodes.reserve(tree.nodes.size() / 2);
    packed_.tables.reserve(tree.nodes.size() * rule.size());
  }

  PackedTree<T> Run() {
    if (tree_.nodes[0].feature >= 0) Add(0);
    return std::move(packed_);
  }

 private:
  std::int32_t Add(std::int32_t n) {
    const AnnotatedNode& from = tree_.at(n);
    const bool swapped = tree_.at(from.right).height > tree_.at(from.left).height;
    const AnnotatedNode& first = tree_.at(swapped ? from.right : from.left);
    const AnnotatedNode& second = tree_.at(swapped ? from.left : from.right);
    const auto at = static_cast<std::int32_t>(packed_.nodes.size());
    packed_.nodes.emplace_back();
    SimdNode<T> node = Describe(from, swapped);
    node.first_value = static_cast<T>(first.value);
    node.second_value = static_cast<T>(second.value);
    const bool leaf_parent = from.height == 1;
    const double difference = second.value - first.value;
    if (leaf_parent) {
      const double w = static_cast<double>(node.weight);
      node.first_value = static_cast<T>(first.value + w * difference);
    }
    AddTables(from.cover_above, leaf_parent ? difference : 1.0);
    if (first.feature >= 0) node.first = Add(swapped ? from.right : from.left);
    if (second.feature >= 0) node.second = Add(swapped ? from.left : from.right);
    packed_.nodes[static_cast<std::size_t>(at)] = node;
    return at;
  }

  SimdNode<T> Describe(const AnnotatedNode& from, bool swapped) {
    const double second_weight = swapped ? from.left_weight : 1 - from.left_weight;
    SimdNode<T> node;
    node.feature = from.feature;
    node.local = Local(from.feature);
    node.lower = static_cast<T>(from.lower);
    node.upper = static_cast<T>(from.upper);
    node.threshold = static_cast<T>(from.threshold);
    node.inside_set = from.inside_set;
    node.left_set = from.left_set;
    node.weight = static_cast<T>(second_weight);
    node.below_second = swapped;
    node.missing_second = from.missing_left == swapped;
    node.missing_inside = from.missing_inside;
    const auto delta = [&](bool to_second) {
      return to_second ? T(1) - node.weight : -node.weight;
    };
    node.below = delta(node.below_second);
    node.above = delta(!node.below_second);
    node.missing = node.missing_inside ? delta(node.missing_second) : T(0);
    node.first_cover = static_cast<T>(from.cover_above * (1 - second_weight));
    node.second_cover = static_cast<T>(from.cover_above * second_weight);
    return node;
  }

  void AddTables(double c, double factor) {
    for (const double t : rule_.node) {
      packed_.tables.push_back(static_cast<T>(factor * t / (t + c * (1 - t))));
    }
    for (std::size_t q = 0; q < rule_.size(); ++q) {
      const double d = rule_.node[q] + c * (1 - rule_.node[q]);
      packed_.tables.push_back(static_cast<T>(factor * rule_.weight[q] * c / (d * d)));
    }
  }

  std::int32_t Local(std::int32_t feature) {
    std::int32_t& local = local_of_[static_cast<std::size_t>(feature)];
    if (local < 0) {
      local = static_cast<std::int32_t>(packed_.features.size());
      packed_.features.push_back(feature);
    }
    return local;
  }

  const AnnotatedTree& tree_;
  const QuadratureRule& rule_;
  std::vector<std::int32_t> local_of_;  // of each feature, -1: not met yet
  PackedTree<T> packed_;
};

// Adds the splits of a bundle, and of each what its lanes have there.
template <class T>
class Bundler {
 public:
  Bundler(std::span<const PackedTree<T>* const> trees, std::span<const std::size_t> begins,
          int lanes)
      : trees_(trees), begins_(begins), lanes_(static_cast<std::size_t>(lanes)) {
    bundle_.points = trees[0]->t.size();
  }

  TreeBundle<T> Run() {
    std::vector<Place> roots(lanes_);
    for (std::size_t lane = 0; lane < trees_.size(); ++lane) roots[lane].node = 0;
    Add(roots);
    return std::move(bundle_);
  }

 private:
  // A node of the lane's tree, or a leaf of this value.
  struct Place {
    std::int32_t node = -1;
    T value = 0;

    bool inner() const { return node >= 0; }
  };

  std::int32_t Add(const std::vector<Place>& at) {
    const auto n = static_cast<std::int32_t>(bundle_.splits.size());
    bundle_.splits.emplace_back();
    bundle_.places.resize(bundle_.splits.size() * 2 * lanes_);
    const std::size_t numbers =
        bundle_.splits.size() * (kBundleFields + 2 * bundle_.points) * lanes_;
    bundle_.numbers.resize((numbers + kLanes<T> - 1) / kLanes<T>);
    std::vector<Place> first = at;  // an ended lane goes on
    std::vector<Place> second = at;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (at[lane].inner()) Split(n, lane, at[lane].node, first[lane], second[lane]);
      Number(n, kSecond)[lane] = second[lane].value;
    }
    const bool second_goes_on = std::ranges::any_of(second, &Place::inner);
    const std::int32_t second_child = second_goes_on ? Add(second) : -1;
    const bool first_goes_on = std::ranges::any_of(first, &Place::inner);
    const std::int32_t first_child = first_goes_on ? Add(first) : -1;
    BundleSplit& split = bundle_.splits[static_cast<std::size_t>(n)];
    split.first = first_child;
    split.second = second_child;
    for (std::size_t lane = 0; lane < lanes_ && !first_goes_on; ++lane) {
      if (!at[lane].inner()) Number(n, kWeight)[lane] = at[lane].value;
    }
    return n;
  }

  void Split(std::int32_t n, std::size_t lane, std::int32_t at, Place& first, Place& second) {
    const PackedTree<T>& tree = *trees_[lane];
    const SimdNode<T>& node = tree.nodes[static_cast<std::size_t>(at)];
    const bool closed = node.first < 0;
    first = {node.first, T(0)};
    second = {node.second, closed ? T(1) : node.second_value};
    if (closed) bundle_.splits[static_cast<std::size_t>(n)].closed = true;
    std::uint16_t* const places =
        bundle_.places.data() + static_cast<std::size_t>(n) * 2 * lanes_ + lane;
    places[0] = static_cast<std::uint16_t>(node.feature);
    places[lanes_] =
        static_cast<std::uint16_t>(begins_[lane] + static_cast<std::size_t>(node.local));
    const T fields[] = {node.lower,   node.upper,   node.threshold,
                        node.below,   node.above,   closed ? node.first_value : node.weight,
                        node.missing, second.value, closed ? T(1) : T(0)};
    for (int f = 0; f < kBundleFields; ++f) Number(n, f)[lane] = fields[f];
    const auto tables = static_cast<int>(2 * bundle_.points);
    const T* const table = tree.tables.data() + std::int64_t{at} * tables;
    for (int f = 0; f < tables; ++f) Number(n, kBundleFields + f)[lane] = table[f];
  }

  // The lanes' values of a field.
  T* Number(std::int32_t n, int field) {
    const auto fields = static_cast<std::int64_t>(kBundleFields + 2 * bundle_.points);
    return reinterpret_cast<T*>(bundle_.numbers.data()) +
           (n * fields + field) * static_cast<std::int64_t>(lanes_);
  }

  const std::span<const PackedTree<T>* const> trees_;
  const std::span<const std::size_t> begins_;
  const std::size_t lanes_;
  TreeBundle<T> bundle_;
};

}  // namespace

template <class T>
TreeBundle<T> BundleTrees(std::span<const PackedTree<T>* const> trees,
                          std::span<const std::size_t> begins, int lanes) {
  return Bundler<T>(trees, begins, lanes).Run();
}

template <class T>
PackedTree<T> PackTree(const AnnotatedTree& tree, const QuadratureRule& rule,
                       std::int32_t features) {
  return Packer<T>(tree, rule, features).Run();
}

template <class T>
void AddPartners(PackedTree<T>& tree) {
  tree.partners.clear();
  tree.partners_begin.assign(1, 0);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> number_of;  // of each pair
  std::vector<std::int32_t> above;                                          // features
  // Nodes are met in their own order: a parent, its first subtree, its second.
  const auto visit = [&](const auto& self, std::int32_t n) -> void {
    if (n < 0) return;
    const SimdNode<T>& node = tree.nodes[static_cast<std::size_t>(n)];
    for (const std::int32_t other : above) {
      if (other == node.local) continue;
      const std::pair pair = std::minmax({node.local, other});
      const auto next = static_cast<std::int32_t>(tree.pairs.size());
      const auto [it, added] = number_of.try_emplace(pair, next);
      if (added) tree.pairs.push_back(pair);
      tree.partners.push_back({other, it->second});
    }
    tree.partners_begin.push_back(static_cast<std::uint32_t>(tree.partners.size()));
    const bool fresh = std::ranges::find(above, node.local) == above.end();
    if (fresh) above.push_back(node.local);
    self(self, node.first);
    self(self, node.second);
    if (fresh) above.pop_back();
  };
  visit(visit, tree.nodes.empty() ? -1 : 0);
}

template PackedTree<float> PackTree(const AnnotatedTree&, const QuadratureRule&, std::int32_t);
template PackedTree<double> PackTree(const AnnotatedTree&, const QuadratureRule&, std::int32_t);
template TreeBundle<float> BundleTrees(std::span<const PackedTree<float>* const>,
                                       std::span<const std::size_t>, int);
template TreeBundle<double> BundleTrees(std::span<const PackedTree<double>* const>,
                                        std::span<const std::size_t>, int);
template void AddPartners(PackedTree<float>&);
template void AddPartners(PackedTree<double>&);

}  // namespace retable::treeshap
