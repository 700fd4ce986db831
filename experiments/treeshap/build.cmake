# The device check: verifies every CUDA method and prints its speed beside the published kernel's.
if(RETABLE_HAS_CUDA)
  add_executable(treeshap_gpu_check
                 ${CMAKE_SOURCE_DIR}/experiments/treeshap/gpu_check_bench.cpp)
  target_link_libraries(treeshap_gpu_check PRIVATE retable_flags)
  foreach(library common treeshap)
    target_link_libraries(treeshap_gpu_check PRIVATE retable_${library})
  endforeach()
  target_sources(treeshap_gpu_check PRIVATE
                 ${CMAKE_SOURCE_DIR}/experiments/treeshap/model_shapes.cpp)
endif()
