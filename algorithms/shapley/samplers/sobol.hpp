#pragma once
//! @file
//! A scrambled Sobol sequence, and what Sobol permutations do beside it, for both devices.

#include <cstdint>
#include <vector>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::shapley {

constexpr std::uint64_t kSobolLabelStream = 15;  //!< names the players anew

//! The first points of Boost.Random's Sobol sequence, 32 bits a coordinate, made random by a linear
//! scramble (a random lower triangular binary matrix for each coordinate; Matousek 1998) and a
//! digital shift, which keep its equidistribution and make each point uniform. Both maps are linear
//! over bits, so the directions are scrambled once.
struct ScrambledSobol {
  //! @throws std::invalid_argument for more than 3667 coordinates, where the tables end.
  ScrambledSobol(std::uint64_t seed, std::size_t coordinates, std::size_t points);

  std::size_t coordinates;
  //! [digit][coordinate]: point i is the shift and the directions of the ones of i xor i / 2.
  std::vector<std::uint32_t> directions;
  std::vector<std::uint32_t> shift;
};

//! Coordinate j of point i of a ScrambledSobol, in (0, 1), half a step from both ends.
RETABLE_HD double CoordinateOf(const std::uint32_t* directions, const std::uint32_t* shift,
                               std::size_t coordinates, std::size_t i, std::size_t j) {
  std::uint32_t digits = shift[j];
  for (std::size_t code = i ^ (i >> 1), k = j; code != 0; code >>= 1, k += coordinates) {
    if ((code & 1) != 0) digits ^= directions[k];
  }
  return (static_cast<double>(digits) + 0.5) * 0x1p-32;
}
inline double CoordinateOf(const ScrambledSobol& sequence, std::size_t i, std::size_t j) {
  return CoordinateOf(sequence.directions.data(), sequence.shift.data(), sequence.coordinates, i,
                      j);
}

}  // namespace retable::shapley
