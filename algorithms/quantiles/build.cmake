# The fuzz target of the serialised sketch (clang only); datasets/build.cmake says how these work.
if(RETABLE_FUZZ)
  set(quantiles_dir ${CMAKE_SOURCE_DIR}/algorithms/quantiles)
  set(sketch_fuzz_sources ${quantiles_dir}/sketch_fuzz.cpp
                          ${CMAKE_SOURCE_DIR}/algorithms/common/parameters.cpp)
  foreach(source chebyshev_accumulator dual jacobi max_entropy moment_accumulator moments quadrature
          retable_fit retable_sketch)
    list(APPEND sketch_fuzz_sources ${quantiles_dir}/${source}.cpp)
  endforeach()
  add_executable(sketch_fuzz EXCLUDE_FROM_ALL ${sketch_fuzz_sources})
  target_link_libraries(sketch_fuzz PRIVATE retable_flags)
  target_compile_options(sketch_fuzz PRIVATE -O1 -g -fsanitize=fuzzer,address,undefined
                         -fno-sanitize-recover=all)
  target_link_options(sketch_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  # A tenth of the inputs of a parser: each may take a fit.
  math(EXPR sketch_fuzz_runs "${RETABLE_FUZZ_RUNS} / 10")
  add_custom_target(run_sketch_fuzz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz/sketch
    COMMAND sketch_fuzz -runs=${sketch_fuzz_runs} -seed=1 -max_len=133 -timeout=10
            -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/ ${CMAKE_BINARY_DIR}/fuzz/sketch
            ${quantiles_dir}/fuzz_corpus
    VERBATIM)
  add_dependencies(fuzz run_sketch_fuzz)
endif()
