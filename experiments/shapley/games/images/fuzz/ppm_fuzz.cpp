#include "base/fuzz/target.hpp"
#include "experiments/shapley/games/images/fuzz/fuzz_body.hpp"

RETABLE_FUZZ_TARGET(retable::experiments::FuzzPpm, retable::fuzzing::MutateText)
