#include "base/fuzz/target.hpp"
#include "harness/fuzz/fuzz_body.hpp"

RETABLE_FUZZ_TARGET(retable::harness::FuzzArchive, retable::fuzzing::MutateText)
