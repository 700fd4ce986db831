# Which commit is built, asked for at each build.
set(commit_source ${CMAKE_BINARY_DIR}/commit.cpp)
add_custom_target(retable_commit BYPRODUCTS ${commit_source} VERBATIM
                  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${commit_source}
                          -P ${CMAKE_SOURCE_DIR}/harness/machine/commit.cmake)
target_sources(retable_harness PRIVATE ${commit_source})
set_property(SOURCE ${commit_source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)

# What only CMake knows about the build, for machine/build_info.cpp alone.
set(toml_version unknown)
foreach(header version.h version.hpp)
  if(EXISTS ${TOMLPLUSPLUS_INCLUDE_DIR}/toml++/impl/${header})
    file(STRINGS ${TOMLPLUSPLUS_INCLUDE_DIR}/toml++/impl/${header} toml_lines REGEX "define TOML_LIB_")
    string(REGEX MATCHALL "[0-9]+" toml_numbers "${toml_lines}")
    string(REPLACE ";" "." toml_version "${toml_numbers}")
  endif()
endforeach()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "-std=c++20 -ffp-contract=off ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" flags)
if(RETABLE_SANITIZE STREQUAL "thread")
  string(APPEND flags " -fsanitize=thread")
elseif(RETABLE_SANITIZE)
  string(APPEND flags " -fsanitize=address,undefined")
endif()
set(cuda_compiler "")
if(RETABLE_HAS_CUDA)
  set(cuda_compiler "nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
endif()
string(REPLACE "-real" "" cuda_architectures "${CMAKE_CUDA_ARCHITECTURES}")
list(JOIN cuda_architectures ", " cuda_architectures)
set_property(SOURCE ${CMAKE_SOURCE_DIR}/harness/machine/build_info.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  RETABLE_COMPILER="${CMAKE_CXX_COMPILER_ID}"
  RETABLE_COMPILER_VERSION="${CMAKE_CXX_COMPILER_VERSION}"
  RETABLE_COMPILER_FLAGS="${flags}"
  RETABLE_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
  RETABLE_CUDA_COMPILER="${cuda_compiler}"
  RETABLE_CUDA_ARCHITECTURES="${cuda_architectures}"
  RETABLE_BENCHMARK_VERSION="${benchmark_VERSION}"
  RETABLE_TOML_VERSION="${toml_version}"
  RETABLE_SOURCES="${CMAKE_SOURCE_DIR}")
