# The row-blocked CPU kernels: one object for each instruction set, chosen at run time. A fused
# multiply-add is welcome here: no CUDA implementation shares these bits.
set(treeshap_folder ${CMAKE_SOURCE_DIR}/algorithms/treeshap)
if(RETABLE_SANITIZE)
  set(treeshap_optimise -Og)  # as everything there: a quarter of the time to compile
else()
  set(treeshap_optimise -O3)
endif()
set_source_files_properties(${treeshap_folder}/quadrature/cpu/simd/baseline.cpp PROPERTIES
                            COMPILE_OPTIONS "${treeshap_optimise};-ffp-contract=fast")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${treeshap_folder}/quadrature/cpu/simd/avx2.cpp PROPERTIES
                              COMPILE_OPTIONS "${treeshap_optimise};-mavx2;-mfma;-ffp-contract=fast")
  set_source_files_properties(
    ${treeshap_folder}/quadrature/cpu/simd/avx512.cpp PROPERTIES
    COMPILE_OPTIONS "${treeshap_optimise};-mavx512f;-mavx512vl;-mavx512dq;-mfma;-mprefer-vector-width=512;-ffp-contract=fast")
endif()

# The fuzz target of the model readers.
if(RETABLE_FUZZ)
  set(treeshap_sources base/csv/number.cpp base/parallel.cpp)
  foreach(source testing/model_fuzz model/feature_encoding model/forest_json model/lightgbm published/paths
          quadrature/annotated_model results model/rank_splits model/tree_ensemble tree_explainer model/xgboost)
    list(APPEND treeshap_sources algorithms/treeshap/${source}.cpp)
  endforeach()
  retable_fuzz(model algorithms/treeshap/testing/corpus/model 4096 ${RETABLE_FUZZ_RUNS} ${treeshap_sources})
endif()

if(NOT RETABLE_SANITIZE)
  # Fifteen interpreters take half the time to compile at -O1, where GCC takes sums for uninitialised
  # that the first quadrature node sets.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/algorithms/treeshap/quadrature/tape/compiler_test.cpp
                              PROPERTIES COMPILE_OPTIONS "-O1;-Wno-maybe-uninitialized")
endif()
