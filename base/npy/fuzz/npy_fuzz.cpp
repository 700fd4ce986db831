#include "base/fuzz/target.hpp"
#include "base/npy/fuzz/fuzz_body.hpp"

RETABLE_FUZZ_TARGET(retable::FuzzNpy, retable::fuzzing::MutateText)
