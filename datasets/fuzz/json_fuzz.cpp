#include "base/fuzz/target.hpp"
#include "datasets/fuzz/fuzz_body.hpp"

RETABLE_FUZZ_TARGET(retable::datasets::FuzzJson, retable::fuzzing::MutateJson)
