# Read when the harness has become a library.
include(${CMAKE_CURRENT_SOURCE_DIR}/harness/machine/environment.cmake)
# The harness is compiled lightly, but for what it computes itself.
if(NOT RETABLE_SANITIZE)
  foreach(source ceilings fma_kernels noise statistics)
    set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/harness/${source}.cpp
                 APPEND PROPERTY COMPILE_OPTIONS -O3)
  endforeach()
endif()
if(RETABLE_FUZZ)
  set(harness_sources base/glob.cpp)
  foreach(source files_fuzz cell_json csv experiment expression expression_syntax fields node
          paper_cells suggest)
    list(APPEND harness_sources harness/${source}.cpp)
  endforeach()
  retable_fuzz(files harness/fuzz_corpus 4096 ${RETABLE_FUZZ_RUNS} ${harness_sources})
endif()
