#pragma once
//! @file
//! The quadrature rule of the maximum-entropy fits: the same for every fit.
//!
//! 8 Gauss-Lobatto nodes in each of 32 panels, even in arccos t, which crowd towards the ends as a
//! polynomial's features do, and lie *on* the ends, where a column's minimum and maximum and often
//! most of its mass are.

#include <array>

namespace retable::quantiles {

inline constexpr int kPanels = 32;
inline constexpr int kPanelNodes = 8;
inline constexpr int kNodes = kPanels * kPanelNodes;

struct Quadrature {
  std::array<double, kPanelNodes> local;  //!< nodes in a panel's own [-1, 1]
  std::array<double, kNodes> node;        //!< ascending, the panels' shared edges twice
  std::array<double, kNodes> weight;

  static const Quadrature& Get();

 private:
  Quadrature();
};

//! The edge p = 0..kPanels of the quadrature's panels.
double PanelEdge(int p);

}  // namespace retable::quantiles
