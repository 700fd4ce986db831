#pragma once
//! @file
//! Predictions of any forest for rows in device memory.

#include <cstddef>
#include <memory>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! A forest's nodes on the device that is current when it is made. Calls take turns.
class DeviceVotes {
 public:
  //! O(nodes); 16 bytes a node on the device. @throws std::invalid_argument for a forest of more
  //! than 2^32 nodes
  explicit DeviceVotes(const Forest& forest);
  ~DeviceVotes();

  //! Forest::PredictProba, bit for bit, in device memory: n x columns floats to n x classes
  //! numbers, behind what `stream` (a cudaStream_t) holds. Waits for the last call alone.
  void PredictProba(const float* rows, std::size_t n, double* proba, void* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::extratrees
