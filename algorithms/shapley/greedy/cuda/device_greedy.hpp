#pragma once
//! @file
//! Herding and sequential Bayesian quadrature on a CUDA device, in plain types. All candidates of
//! all steps are drawn and coded at once: n * candidates codes of device memory, and for quadrature
//! as many rows of n doubles.

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/shapley/kernels/tables.hpp"

namespace retable::shapley {

struct GreedyRequest {
  std::size_t n = 0;
  std::size_t candidates = 25;
  std::uint64_t seed = 0;
};

//! What the device found: the chosen orders, row-major, and for quadrature the rows of the Cholesky
//! factor left of the diagonal (n x n) with their sums.
struct GreedyChoice {
  std::vector<std::int32_t> orders;
  std::vector<double> rows;
  std::vector<double> squares, along;
};

//! Keeps its device memory between calls. Not for several threads at a time.
class DeviceGreedy {
 public:
  DeviceGreedy();
  ~DeviceGreedy();
  //! Chooses the same orders as the CPU, bit for bit. @throws std::invalid_argument for d over
  //! 12288, std::runtime_error for too little device memory or a failed launch.
  GreedyChoice Herd(const KernelTables& kernel, const GreedyRequest& request);
  GreedyChoice Quadrature(const KernelTables& kernel, const GreedyRequest& request);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::shapley
