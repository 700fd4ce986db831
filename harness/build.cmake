# Read when the harness has become a library.
include(${CMAKE_CURRENT_SOURCE_DIR}/harness/machine/environment.cmake)
# The harness is compiled lightly, but for what it computes itself.
if(NOT RETABLE_SANITIZE)
  foreach(source roofline/ceilings roofline/fma_kernels stats/statistics)
    set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/harness/${source}.cpp
                 APPEND PROPERTY COMPILE_OPTIONS -O3)
  endforeach()
endif()
retable_fuzzed(harness base/glob.cpp base/atomic_file.cpp base/csv/number.cpp base/csv/reader.cpp
               base/csv/writer.cpp base/sha256.cpp base/utf8.cpp
               base/temporary_folder.cpp harness/plan/cell_json.cpp
               harness/plan/value_json.cpp harness/report/csv.cpp harness/config/experiment.cpp
               harness/report/claim.cpp harness/config/claim_syntax.cpp harness/config/schema.cpp
               harness/config/toml_tree.cpp harness/report/paper_cells.cpp base/text/suggest.cpp
               harness/run/correctness_gate.cpp harness/run/store.cpp harness/record/archive.cpp)
foreach(kind toml table cell claim archive)
  retable_fuzz(${kind} harness harness/fuzz/${kind}_fuzz.cpp harness/fuzz/corpus/${kind} 4096)
endforeach()
