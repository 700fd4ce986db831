retable_fuzzed(extratrees algorithms/extratrees/model/forest.cpp algorithms/extratrees/model/json.cpp
               base/parallel.cpp)
retable_fuzz(forest extratrees algorithms/extratrees/model/fuzz/forest_fuzz.cpp
             algorithms/extratrees/model/fuzz/corpus 4096)
