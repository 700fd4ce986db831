# `make gpu-check FAMILY=quantiles`: every CUDA method against its CPU twin, then timed.
if(RETABLE_HAS_CUDA)
  add_executable(quantiles_gpu_check
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_bench.cpp
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_kernels_bench.cu
    $<TARGET_OBJECTS:retable_common> $<TARGET_OBJECTS:retable_quantiles>)
  target_link_libraries(quantiles_gpu_check PRIVATE retable_flags)
endif()
