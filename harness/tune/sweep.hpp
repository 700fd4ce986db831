#pragma once
//! @file
//! `retable tune`: measures the tuned constants of a family (base/cuda/tuned.hpp) on this machine's
//! card.

#include <functional>
#include <string>
#include <vector>

#include "base/cuda/tuned.hpp"

namespace retable::harness {

//! One constant of a family and what it costs.
struct TuneTask {
  TunedConstant constant;
  //! Seconds of the calls whose time the constant decides, with the value in force. Sizes that
  //! differ weigh alike.
  std::function<double()> cost;
};

//! What a family has to tune; `tasks` makes the data, on the device.
struct TuneFamily {
  std::string family;
  std::function<std::vector<TuneTask>()> tasks;
};

//! Of the families in this program.
inline std::vector<TuneFamily>& TuneFamilies() {
  static std::vector<TuneFamily> families;
  return families;
}
struct TuneRegistration {
  explicit TuneRegistration(TuneFamily family) { TuneFamilies().push_back(std::move(family)); }
};

struct Choice {
  std::string name;
  std::uint64_t standard = 0, chosen = 0;
  double before = 0, after = 0;  //!< median costs of the standard and of the chosen value
  int rounds = 0;
};

struct SweepLimits {
  double seconds = 20;  //!< ends after the round in which they are over; three rounds at least
  int rounds = 15;
  double gain = 0.03;  //!< what another value must save of the standard one's cost
};

//! Measures all values in turns, and puts the best in force: the standard one unless another saves
//! `gain` in the median, and beats it in three rounds of four.
//! @throws std::runtime_error where a cost is not a positive number
Choice Sweep(const TuneTask& task, const SweepLimits& limits);

}  // namespace retable::harness
