#include "algorithms/extratrees/model/fuzz/fuzz_body.hpp"
#include "base/fuzz/target.hpp"

RETABLE_FUZZ_TARGET(retable::extratrees::FuzzForestBytes, retable::fuzzing::MutateFields)
