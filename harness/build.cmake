# Read when the harness has become a library.
include(${CMAKE_CURRENT_SOURCE_DIR}/harness/machine/environment.cmake)
# The harness is compiled lightly, but for what it computes itself.
if(NOT RETABLE_SANITIZE)
  foreach(source roofline/ceilings roofline/fma_kernels stats/noise stats/statistics)
    set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/harness/${source}.cpp
                 APPEND PROPERTY COMPILE_OPTIONS -O3)
  endforeach()
endif()
if(RETABLE_FUZZ)
  set(harness_sources base/glob.cpp base/atomic_file.cpp)
  foreach(source files_fuzz plan/cell_json plan/value_json report/csv config/experiment report/claim
          config/claim_syntax config/schema config/toml_tree report/paper_cells config/suggest)
    list(APPEND harness_sources harness/${source}.cpp)
  endforeach()
  retable_fuzz(files harness/fuzz_corpus 4096 ${RETABLE_FUZZ_RUNS} ${harness_sources})
endif()
