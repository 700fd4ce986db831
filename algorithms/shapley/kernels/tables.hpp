#pragma once
//! @file
//! A kernel over permutations as data, for a device: how two codes are compared, and the kernel's
//! exact integer and its value for each outcome.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retable::shapley {

struct KernelTables {
  int dimension = 0;
  std::size_t words = 0;  //!< size of a coded order
  //! Spearman: codes are two ranks a word, the kernel is the sum of their products, and the tables
  //! are empty. Otherwise codes are a bit a pair and the tables are by discordant pairs.
  bool by_ranks = false;
  double self = 1, mean = 1;
  std::vector<std::int64_t> fixed;
  std::vector<double> value;
};

}  // namespace retable::shapley
