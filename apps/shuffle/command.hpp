#pragma once
//! @file
//! `retable shuffle`: permutations as bits for other people's test batteries, and our own battery
//! at any number of samples.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments {

//! `bits` writes random bits of orders to `out`; `battery` prints a p-value a test. Returns the
//! exit status: 0, 1 for wrong usage, 3 when the battery rejects.
int ShuffleCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments
