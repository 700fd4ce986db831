#include "base/fuzz/target.hpp"
#include "datasets/fuzz_bodies.hpp"

RETABLE_FUZZ_TARGET(retable::datasets::FuzzHttp, retable::fuzzing::MutateText)
