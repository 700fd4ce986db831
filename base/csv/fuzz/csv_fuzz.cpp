#include "base/csv/fuzz/fuzz_body.hpp"
#include "base/fuzz/target.hpp"

RETABLE_FUZZ_TARGET(retable::FuzzCsv, retable::fuzzing::MutateText)
