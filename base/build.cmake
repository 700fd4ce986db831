# The mutations of all fuzz targets, with the flags of what they share their JSON library with.
retable_fuzzed(mutation base/fuzz/mutation.cpp)
retable_fuzzed(csv base/csv/number.cpp base/csv/reader.cpp base/csv/writer.cpp base/utf8.cpp)
retable_fuzz(csv csv base/csv/fuzz/csv_fuzz.cpp base/csv/fuzz/corpus 4096)
retable_fuzzed(npy base/npy/reader.cpp base/npy/writer.cpp)
retable_fuzz(npy npy base/npy/fuzz/npy_fuzz.cpp base/npy/fuzz/corpus 4096)
