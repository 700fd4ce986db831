# The row-blocked CPU kernels: one object for each instruction set, chosen at run time. A fused
# multiply-add is welcome here: no CUDA twin shares these bits.
set(treeshap_folder ${CMAKE_SOURCE_DIR}/algorithms/treeshap)
foreach(kernel quadrature_simd top_interactions)
  set_source_files_properties(${treeshap_folder}/${kernel}_baseline.cpp PROPERTIES
                              COMPILE_OPTIONS "-O3;-ffp-contract=fast")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${treeshap_folder}/${kernel}_avx2.cpp PROPERTIES
                                COMPILE_OPTIONS "-O3;-mavx2;-mfma;-ffp-contract=fast")
    set_source_files_properties(
      ${treeshap_folder}/${kernel}_avx512.cpp PROPERTIES
      COMPILE_OPTIONS "-O3;-mavx512f;-mavx512vl;-mavx512dq;-mfma;-mprefer-vector-width=512;-ffp-contract=fast")
  endif()
endforeach()
