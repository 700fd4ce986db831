# The device check: verifies every CUDA method and prints its speed.
if(RETABLE_HAS_CUDA)
  add_executable(shuffle_gpu_check ${CMAKE_SOURCE_DIR}/experiments/shuffle/gpu_check_bench.cu)
  target_link_libraries(shuffle_gpu_check PRIVATE retable_flags retable_common retable_shuffle
                        retable_baselines_shuffle)
endif()
