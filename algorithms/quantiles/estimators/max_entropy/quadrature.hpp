#pragma once
//! @file
//! The quadrature rule of the maximum-entropy fits: the same for every fit.
//!
//! 8 Gauss-Lobatto nodes in each of 32 panels of equal length in arccos t. They are denser near -1
//! and 1, as the extrema of a polynomial are, and include -1 and 1, where a column has its minimum
//! and maximum and often most of its mass.

#include <array>

namespace retable::quantiles {

inline constexpr int kPanels = 32;
inline constexpr int kPanelNodes = 8;
inline constexpr int kNodes = kPanels * kPanelNodes;

struct Quadrature {
  std::array<double, kPanelNodes> local;  //!< nodes of a panel, in [-1, 1]
  std::array<double, kNodes> node;        //!< ascending; edges between panels twice
  std::array<double, kNodes> weight;

  static const Quadrature& Get();

 private:
  Quadrature();
};

//! The edge p = 0..kPanels of the quadrature's panels.
double PanelEdge(int p);

}  // namespace retable::quantiles
