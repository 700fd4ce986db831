#pragma once
//! @file
//! Orders of points on the sphere, computed on a CUDA device, in plain types.

#include <cstdint>
#include <memory>
#include <vector>

namespace retable::shapley {

//! Keeps its device memory between calls. Not for several threads at a time. Both give the CPU's
//! orders, bit for bit, row-major. @throws std::runtime_error for too little device memory or a
//! failed launch.
class DevicePoints {
 public:
  DevicePoints();
  ~DevicePoints();
  //! n >= 1 orders of d >= 3 players. Where n is too small for series to pay, the inverse
  //! incomplete beta functions run on the host. @throws std::invalid_argument as ScrambledSobol
  std::vector<std::int32_t> Sobol(std::size_t n, std::size_t d, std::uint64_t seed);
  //! n >= 1 orders of d >= 2 players.
  std::vector<std::int32_t> Orthogonal(std::size_t n, std::size_t d, std::uint64_t seed);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::shapley
