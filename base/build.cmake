# The mutations of all fuzz targets, with the flags of what they share their JSON library with.
retable_fuzzed(mutation base/fuzz/mutation.cpp)
retable_fuzzed(csv base/csv/number.cpp base/csv/reader.cpp base/csv/writer.cpp base/utf8.cpp)
retable_fuzz(csv csv base/csv/fuzz/csv_fuzz.cpp base/csv/fuzz/corpus 4096)
