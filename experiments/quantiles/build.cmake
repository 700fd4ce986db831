# `make gpu-check FAMILY=quantiles`: every CUDA method against its CPU twin, then timed.
if(RETABLE_HAS_CUDA)
  add_executable(quantiles_gpu_check
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_bench.cpp
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_columns_bench.cpp
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_places_bench.cpp
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/gpu_check_kernels.cu
    $<TARGET_OBJECTS:retable_common> $<TARGET_OBJECTS:retable_quantiles>)
  target_link_libraries(quantiles_gpu_check PRIVATE retable_flags)
endif()

# The MPI reduction, where there is an MPI: a program of its own, run on 1 to 4 ranks.
find_package(MPI COMPONENTS CXX QUIET)
message(STATUS "MPI reduction: ${MPI_CXX_FOUND}")
if(MPI_CXX_FOUND)
  add_executable(quantiles_mpi_check
    ${CMAKE_SOURCE_DIR}/experiments/quantiles/mpi_check_bench.cpp
    $<TARGET_OBJECTS:retable_common> $<TARGET_OBJECTS:retable_quantiles>)
  target_link_libraries(quantiles_mpi_check PRIVATE retable_flags MPI::MPI_CXX)
  if(NOT RETABLE_SANITIZE)  # MPI's own leaks are not ours
    foreach(ranks 1 2 3 4)
      add_test(NAME quantiles.mpi_${ranks}
               COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                       $<TARGET_FILE:quantiles_mpi_check>)
      set_tests_properties(quantiles.mpi_${ranks} PROPERTIES TIMEOUT 120 ENVIRONMENT
                           "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1")
    endforeach()
  endif()
endif()
