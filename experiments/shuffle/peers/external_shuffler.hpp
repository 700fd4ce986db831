#pragma once
//! @file
//! A shuffle by a program in another language (experiments/common/resident_program.hpp).
//!
//! Task "shuffle": the array "items" is uint8 [n, item_bytes]; "seed" is a number. The answer is
//! one array of the same type and shape with the rows in the order of the seed.

#include "algorithms/shuffle/shuffler.hpp"
#include "experiments/common/resident_program.hpp"

namespace retable::experiments {

class ExternalShuffler final : public shuffle::Shuffler {
 public:
  //! @throws std::runtime_error when the program does not start
  explicit ExternalShuffler(const std::string& command) : program_(command) {}

  //! Hands the items over, untimed.
  void Load(std::span<const std::byte> items, std::size_t item_bytes, std::uint64_t seed);
  ResidentProgram& program() { return program_; }
  //! Nothing is known of its generator.
  bool deterministic() const override { return false; }

 protected:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override;

 private:
  ResidentProgram program_;
};

}  // namespace retable::experiments
