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

# The fuzz target of the model readers, which compares the methods too.
set(treeshap_fuzzed algorithms/common/forest_bytes.cpp algorithms/common/parameters.cpp base/csv/number.cpp
    base/memory/large_memory.cpp base/parallel.cpp)
foreach(source flop_count model/binary_forest model/feature_encoding model/forest_json model/lightgbm model/rank_splits
        model/tree_ensemble model/xgboost model/xgboost_document testing/brute_force published/gpu_tree_shap
        published/paths published/tree_shap quadrature/annotated_model quadrature/cpu/engine quadrature/cpu/explainer
        quadrature/cpu/packing quadrature/cpu/simd/avx2 quadrature/cpu/simd/avx512 quadrature/cpu/simd/baseline
        quadrature/sharing/leaf_order
        quadrature/sharing/subtree_deduplication quadrature/sharing/subtrees quadrature/tape/accumulators
        quadrature/tape/compiler tree_explainer)
  list(APPEND treeshap_fuzzed algorithms/treeshap/${source}.cpp)
endforeach()
retable_fuzzed(treeshap ${treeshap_fuzzed})
retable_fuzz(model treeshap algorithms/treeshap/testing/model_fuzz.cpp
             algorithms/treeshap/testing/corpus/model 4096)

if(NOT RETABLE_SANITIZE)
  # Fifteen interpreters take half the time to compile at -O1, where GCC takes sums for uninitialised
  # that the first quadrature node sets.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/algorithms/treeshap/quadrature/tape/compiler_test.cpp
                              PROPERTIES COMPILE_OPTIONS "-O1$<$<CXX_COMPILER_ID:GNU>:;-Wno-maybe-uninitialized>")
endif()
