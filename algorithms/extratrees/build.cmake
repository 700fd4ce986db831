retable_fuzzed(extratrees algorithms/common/forest_bytes.cpp algorithms/extratrees/model/binary.cpp
               algorithms/extratrees/model/forest.cpp algorithms/extratrees/model/json.cpp base/parallel.cpp)
retable_fuzz(forest extratrees algorithms/extratrees/model/fuzz/forest_fuzz.cpp
             algorithms/extratrees/model/fuzz/corpus 4096)
retable_fuzz(forest_bytes extratrees algorithms/extratrees/model/fuzz/bytes_fuzz.cpp
             algorithms/extratrees/model/fuzz/bytes_corpus 4096)
