#include "algorithms/treeshap/testing/model_fuzz_body.hpp"
#include "base/fuzz/target.hpp"

RETABLE_FUZZ_TARGET(retable::treeshap::FuzzModel, retable::fuzzing::MutateJsonOrUbj)
