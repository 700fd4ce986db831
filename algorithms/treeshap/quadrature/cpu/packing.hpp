#pragma once
//! @file
//! Annotated trees packed for the CPU kernels (quadrature/cpu/simd/row_block.hpp).

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

//! The inner nodes of a tree with their tables for some quadrature points.
template <class T>
struct PackedTree {
  std::vector<SimdNode<T>> nodes;  //!< none where the tree is a leaf
  std::vector<T> tables;
  std::vector<T> t;
  std::vector<std::int32_t> features;  //!< feature of each local index
  std::int32_t group = 0;
  std::int32_t depth = 0;

  //! For interactions; see AddPartners.
  std::vector<std::uint32_t> partners_begin;
  std::vector<SimdPartner> partners;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;  //!< local indices, the lower one first

  SimdTree<T> View(const SimdCategorySet* sets) const {
    return {.nodes = nodes.data(),
            .tables = tables.data(),
            .points = static_cast<std::int32_t>(t.size()),
            .t = t.data(),
            .sets = sets,
            .locals = static_cast<std::int32_t>(features.size()),
            .partners_begin = partners_begin.data(),
            .partners = partners.data(),
            .pairs = static_cast<std::int32_t>(pairs.size())};
  }
};

//! Trees laid over each other; see SimdBundle.
template <class T>
struct TreeBundle {
  std::vector<BundleSplit> splits;
  std::vector<std::uint16_t> places;
  std::vector<Lanes<T>> numbers;  //!< aligned for vectors
  std::size_t points = 0;

  SimdBundle<T> View() const {
    return {static_cast<std::int32_t>(splits.size()), splits.data(), places.data(),
            reinterpret_cast<const T*>(numbers.data())};
  }
};

//! Lays at most `lanes` trees of as many points over each other. The sums of a tree are in the
//! places from its entry of `begins` on, below 2^16. No tree may split by sets.
//! O(splits x lanes x points)
template <class T>
TreeBundle<T> BundleTrees(std::span<const PackedTree<T>* const> trees,
                          std::span<const std::size_t> begins, int lanes);

//! Packs a tree of a model with `features` features. O(nodes x points)
template <class T>
PackedTree<T> PackTree(const AnnotatedTree& tree, const QuadratureRule& rule,
                       std::int32_t features);

//! Lists for each node the other features split above it. O(nodes x path features)
template <class T>
void AddPartners(PackedTree<T>& tree);

}  // namespace retable::treeshap
