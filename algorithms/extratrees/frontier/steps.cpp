#include "algorithms/extratrees/frontier/steps.hpp"

#include <stdexcept>

namespace retable::extratrees {

FrontierSteps ParseFrontierSteps(const std::string& name) {
  const char* rungs[] = {"frontier", "class-sorted", "subtrees", "on-chip", "columns"};
  int rung = 0;
  while (rung < 5 && name != rungs[rung]) ++rung;
  if (rung == 5) {
    throw std::invalid_argument("steps \"" + name +
                                "\" is none of frontier, class-sorted, subtrees, on-chip, columns");
  }
  return {rung >= 1, rung >= 2, rung >= 3, rung >= 4};
}

}  // namespace retable::extratrees
