# The row-blocked CPU kernels: one object for each instruction set, chosen at run time. A fused
# multiply-add is welcome here: no CUDA twin shares these bits.
set(treeshap_folder ${CMAKE_SOURCE_DIR}/algorithms/treeshap)
if(RETABLE_SANITIZE)
  set(treeshap_optimise -Og)  # as everything there: a quarter of the time to compile
else()
  set(treeshap_optimise -O3)
endif()
set_source_files_properties(${treeshap_folder}/quadrature_simd_baseline.cpp PROPERTIES
                            COMPILE_OPTIONS "${treeshap_optimise};-ffp-contract=fast")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${treeshap_folder}/quadrature_simd_avx2.cpp PROPERTIES
                              COMPILE_OPTIONS "${treeshap_optimise};-mavx2;-mfma;-ffp-contract=fast")
  set_source_files_properties(
    ${treeshap_folder}/quadrature_simd_avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${treeshap_optimise};-mavx512f;-mavx512vl;-mavx512dq;-mfma;-mprefer-vector-width=512;-ffp-contract=fast")
endif()

# The fuzz target of the model readers (clang only); datasets/build.cmake tells how fuzzing works.
if(RETABLE_FUZZ)
  set(fuzz_sources ${treeshap_folder}/model_fuzz.cpp)
  foreach(source forest_json lightgbm_model parallel paths quadrature_model tree_ensemble tree_explainer
          xgboost_model)
    list(APPEND fuzz_sources ${treeshap_folder}/${source}.cpp)
  endforeach()
  add_executable(model_fuzz EXCLUDE_FROM_ALL ${fuzz_sources})
  target_link_libraries(model_fuzz PRIVATE retable_flags)
  target_compile_options(model_fuzz PRIVATE -O1 -g -fsanitize=fuzzer,address,undefined
                         -fno-sanitize-recover=all)
  target_link_options(model_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  add_custom_target(run_model_fuzz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz/model
    COMMAND model_fuzz -runs=${RETABLE_FUZZ_RUNS} -seed=1 -max_len=4096 -timeout=10
            -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/ ${CMAKE_BINARY_DIR}/fuzz/model
            ${treeshap_folder}/fuzz_corpus/model
    VERBATIM)
  add_dependencies(fuzz run_model_fuzz)
endif()

if(NOT RETABLE_SANITIZE)
  # At -O1 GCC takes sums for uninitialised that the first quadrature node sets.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/algorithms/treeshap/quadrature_tape_test.cpp
                              PROPERTIES COMPILE_OPTIONS -O3)
endif()
