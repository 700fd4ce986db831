retable_fuzz(forest algorithms/extratrees/model/fuzz/corpus 4096 "${RETABLE_FUZZ_RUNS}"
             algorithms/extratrees/model/fuzz/forest_fuzz.cpp algorithms/extratrees/model/forest.cpp
             algorithms/extratrees/model/json.cpp base/parallel.cpp)
