# The device check: verifies the CUDA forests against their twins and prints their speed.
if(RETABLE_HAS_CUDA)
  add_executable(extratrees_gpu_check
                 ${CMAKE_SOURCE_DIR}/experiments/extratrees/gpu_check_bench.cpp)
  target_link_libraries(extratrees_gpu_check PRIVATE retable_flags)
  foreach(library common datasets harness extratrees baselines_extratrees experiments_common
                  experiments_extratrees)
    if(TARGET retable_${library})
      target_link_libraries(extratrees_gpu_check PRIVATE retable_${library})
    endif()
  endforeach()
endif()

# Exported forests, explained by the tree SHAP family where the program has it.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME extratrees.exports
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/experiments/extratrees/check_exports.py
                   $<TARGET_FILE:retable>)
  set_tests_properties(extratrees.exports PROPERTIES SKIP_RETURN_CODE 77)
endif()
