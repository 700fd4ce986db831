retable_fuzz(forest algorithms/extratrees/fuzz_corpus 4096 "${RETABLE_FUZZ_RUNS}"
             algorithms/extratrees/forest_fuzz.cpp algorithms/extratrees/forest.cpp
             algorithms/extratrees/forest_json.cpp base/parallel.cpp)
