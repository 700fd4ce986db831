retable_fuzzed(csv base/csv/number.cpp base/csv/reader.cpp base/csv/writer.cpp base/utf8.cpp)
retable_fuzz(csv csv base/csv/fuzz/csv_fuzz.cpp base/csv/fuzz/corpus 4096)
