#pragma once
//! @file
//! The distinct features of the path to a node, for walks over a tree.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retable::treeshap {

//! In the order of first occurrence, each with what the path says of it.
//! @tparam Element has a member `feature`
template <class Element>
class PathFeatures : public std::vector<Element> {
 public:
  //! Its place; size() for a feature that is not on the path.
  std::size_t IndexOf(std::int32_t feature) const {
    return static_cast<std::size_t>(std::ranges::find(*this, feature, &Element::feature) -
                                    this->begin());
  }

  //! What the path says of a feature; null where it is not on it.
  const Element* Find(std::int32_t feature) const {
    const std::size_t at = IndexOf(feature);
    return at < this->size() ? this->data() + at : nullptr;
  }
  //! The same, or `fresh`.
  Element ValueOf(const Element& fresh) const {
    const Element* known = Find(fresh.feature);
    return known != nullptr ? *known : fresh;
  }

  //! Calls body() while `element` stands for its feature.
  template <class Body>
  void With(const Element& element, const Body& body) {
    const std::size_t at = IndexOf(element.feature);
    const bool fresh = at == this->size();
    if (fresh) this->push_back(element);
    const Element before = (*this)[at];
    (*this)[at] = element;
    body();
    if (fresh) {
      this->pop_back();
    } else {
      (*this)[at] = before;
    }
  }
};

//! An element of a path of which nothing but the feature matters.
struct FeatureOnPath {
  std::int32_t feature;
};

}  // namespace retable::treeshap
