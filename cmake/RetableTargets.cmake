# One call makes a folder an object library (a static one would lose registrations) and its *_test.cpp
# files a test program of the same name. base registers nothing: a static library that all others link.

include(GoogleTest)

add_library(retable_flags INTERFACE)
target_include_directories(retable_flags INTERFACE ${CMAKE_SOURCE_DIR})
# System headers: warnings in other people's templates are not ours to fix.
target_include_directories(retable_flags SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR}
                           ${CLI11_INCLUDE_DIR} ${Boost_INCLUDE_DIRS})
target_link_libraries(retable_flags INTERFACE Threads::Threads Eigen3::Eigen
                      nlohmann_json::nlohmann_json TBB::tbb ${CMAKE_DL_LIBS})
if(NOT RETABLE_LIBRARY_ONLY)
  target_link_libraries(retable_flags INTERFACE fmt::fmt CURL::libcurl ZLIB::ZLIB ${ZSTD_LIBRARY} OpenSSL::Crypto
                        benchmark::benchmark)
endif()
set(RETABLE_HOST_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    # Designated initialisers leave the rest at its default on purpose.
    -Wno-missing-field-initializers)
target_compile_options(retable_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${RETABLE_HOST_WARNINGS}>"
  # No fused multiply-add behind our back: CPU and CUDA backends write std::fma where they want one.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
  $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda>
  $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
# The objects of the program are the Python module's too, a shared library whose own calls are not to be
# replaced. Hidden names cost no indirection in a program.
target_compile_options(retable_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fvisibility=hidden;-fvisibility-inlines-hidden>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fPIC,-fvisibility=hidden>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in "literal" + std::to_string(i) (GCC bug 105651), and notes in
  # builds without AVX-512 that GCC 4.5 handed vectors on otherwise. Private types of a file that is
  # compiled in a group look to it like those of a header.
  target_compile_options(retable_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-psabi;-Wno-subobject-linkage>")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort of GCC 12's library calls what that library marks as deprecated, which clang 22 reports.
  target_compile_options(retable_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()
if(RETABLE_WERROR)
  target_compile_options(retable_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(RETABLE_HAS_CUDA)
  target_compile_definitions(retable_flags INTERFACE RETABLE_HAS_CUDA=1)
  target_link_libraries(retable_flags INTERFACE CUDA::cudart_static)
endif()
if(NOT RETABLE_SANITIZE MATCHES "^(OFF|ON|thread)$")
  message(FATAL_ERROR "RETABLE_SANITIZE is \"${RETABLE_SANITIZE}\": ON, thread or OFF")
endif()
if(RETABLE_SANITIZE)
  # ON: addresses and undefined behaviour; thread: data races (docs/sanitizers.md).
  if(RETABLE_SANITIZE STREQUAL "thread")
    set(sanitizers -fsanitize=thread)
    # Loops then run on std::thread (base/parallel.cpp): the distribution's oneTBB is not instrumented.
    target_compile_definitions(retable_flags INTERFACE RETABLE_TSAN=1)
  else()
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
  endif()
  # -Og: measured at 0.6 of the time that -O1 takes to compile here, a third of -O3; clearer traces
  # too. It sees uninitialised values where there are none; the release build looks for those.
  target_compile_options(retable_flags INTERFACE -Og ${sanitizers} -fno-omit-frame-pointer
                         -Wno-maybe-uninitialized)
  target_link_options(retable_flags INTERFACE ${sanitizers})
  target_compile_definitions(retable_flags INTERFACE RETABLE_SANITIZED=1)
endif()

# What nearly every file reads is read once: half of the time to compile. A file must still name what it
# uses; tools/check_includes.py looks, since the compiler no longer can.
option(RETABLE_PRECOMPILE "Read the most used headers once" ON)
set(RETABLE_COMMON_HEADERS <algorithm> <cmath> <fstream> <functional> <map> <memory>
    <nlohmann/json.hpp> <random> <sstream> <string> <vector>)
# retable_read_once(<target> <compile options> <libraries> [headers...])
function(retable_read_once target options libraries)
  set(host ${CMAKE_BINARY_DIR}/${target}.cpp)
  file(CONFIGURE OUTPUT ${host} CONTENT "// The host of a precompiled header.\n")
  add_library(${target} OBJECT ${host})
  target_link_libraries(${target} PRIVATE retable_flags ${libraries})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} PRIVATE ${RETABLE_COMMON_HEADERS} ${ARGN})
endfunction()
if(NOT RETABLE_SANITIZE)
  # A third of -O3's time to compile, for what computes little: tests, user verbs, data sets, and the harness but for the
  # files that the folders' build.cmake name.
  set(RETABLE_LIGHT_OPTIONS -Og)
endif()
set(RETABLE_LIGHT_LIBRARIES "^(harness|datasets|app_.*)$")
if(RETABLE_PRECOMPILE)
  retable_read_once(retable_precompiled "" "")
endif()
if(RETABLE_PRECOMPILE AND NOT RETABLE_LIBRARY_ONLY)
  retable_read_once(retable_precompiled_light "${RETABLE_LIGHT_OPTIONS}" "")
  retable_read_once(retable_precompiled_tests "${RETABLE_LIGHT_OPTIONS}" GTest::gtest
                    <gtest/gtest.h>)
endif()

# A file with flags of its own reads the headers itself: a header precompiled under other flags is
# refused by GCC 12 at best, and ends it in a segmentation fault at worst (-O3 with sanitizers).
function(retable_reads_headers_itself)
  foreach(source ${ARGN})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# retable_light(<target> <the precompiled header's target>)
function(retable_light target precompiled)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${RETABLE_LIGHT_OPTIONS}>")
  if(RETABLE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# CUDA sources are compiled four at a time, since nvcc reads the standard headers for the host and for each device in 6
# seconds. Alone: what an instantiate/ folder spreads over cores, and a file whose private names meet another's.
set(RETABLE_CUDA_ALONE quantiles/columns/column_sums quantiles/cuda/moments
    shuffle/thrust_drop_in_cxx17_test treeshap/interactions/derivative/kernel baselines/shuffle/dart_throwing)
# retable_cuda_groups(<folder> <name> <variable>): replaces the .cu files of the list by files <name>_<number>.cu that
# include up to four of them.
function(retable_cuda_groups folder name variable)
  set(alone)
  set(grouped)
  list(JOIN RETABLE_CUDA_ALONE "|" pattern)
  foreach(source ${${variable}})
    if(NOT RETABLE_UNITY OR source MATCHES "/instantiate/|(${pattern})\\.cu$")
      list(APPEND alone ${source})
    else()
      list(APPEND grouped ${source})
    endif()
  endforeach()
  list(SORT grouped)
  file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${folder})
  set(count 0)
  while(grouped)
    list(SUBLIST grouped 0 4 four)
    list(REMOVE_ITEM grouped ${four})
    list(LENGTH four length)
    if(length EQUAL 1)
      list(APPEND alone ${four})
      break()
    endif()
    list(TRANSFORM four REPLACE "(.+)" "#include \"\\1\"")
    list(JOIN four "\n" text)
    set(group ${CMAKE_BINARY_DIR}/generated/${place}/${name}_${count}.cu)
    file(CONFIGURE OUTPUT ${group} CONTENT "${text}\n" @ONLY)
    list(APPEND alone ${group})
    math(EXPR count "${count} + 1")
  endwhile()
  set(${variable} ${alone} PARENT_SCOPE)
endfunction()

# The library's own sources, split from its tests and fuzz targets.
function(retable_sources folder out_sources out_tests)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
  if(RETABLE_HAS_CUDA)
    file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${folder}/*.cu)
    file(GLOB_RECURSE cuda_tests CONFIGURE_DEPENDS ${folder}/*_test.cu)
    list(FILTER cuda_sources EXCLUDE REGEX "_test\\.cu$")
    retable_cuda_groups(${folder} group cuda_sources)
    retable_cuda_groups(${folder} tests cuda_tests)
    # CMake from 3.31 on would group these once more.
    set_property(SOURCE ${cuda_sources} ${cuda_tests} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    list(APPEND sources ${cuda_sources})
    list(APPEND tests ${cuda_tests})
  endif()
  # The OpenCV module is a library of its own (experiments/shapley/build.cmake).
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cpp$|/opencv/")
  list(SORT sources)
  list(SORT tests)
  if(RETABLE_LIBRARY_ONLY)
    set(tests)
  endif()
  set(${out_sources} ${sources} PARENT_SCOPE)
  set(${out_tests} ${tests} PARENT_SCOPE)
endfunction()

option(RETABLE_UNITY "Compile the sources of a folder in groups" ON)
# retable_fuzzed(<group> <sources...>): the sources of a group of fuzz targets, compiled again: the
# fuzzer needs its own instrumentation.
# retable_fuzz(<name> <group> <source> <corpus> <longest input> [divisor of RUNS]): <name>_fuzz, a libFuzzer
# program of the group, which the target `fuzz` runs and tools/fuzz.sh knows by the list `targets`.
if(RETABLE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RETABLE_FUZZ needs clang: cmake -DCMAKE_CXX_COMPILER=clang++")
  endif()
  set(RETABLE_FUZZ_RUNS 50000 CACHE STRING "Inputs for each fuzz target")
  add_custom_target(fuzz)
  file(REMOVE ${CMAKE_BINARY_DIR}/fuzz/targets)
endif()
function(retable_fuzzed group)
  if(NOT RETABLE_FUZZ)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  add_library(${group}_fuzzed OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${group}_fuzzed PUBLIC retable_flags)
  target_compile_options(${group}_fuzzed PUBLIC -O1 -gline-tables-only
                         -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow
                         -fno-sanitize-recover=all)
  set_target_properties(${group}_fuzzed PROPERTIES UNITY_BUILD ${RETABLE_UNITY})
endfunction()
function(retable_fuzz name group source corpus longest)
  if(NOT RETABLE_FUZZ)
    return()
  endif()
  add_executable(${name}_fuzz EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/${source})
  target_link_libraries(${name}_fuzz PRIVATE ${group}_fuzzed mutation_fuzzed)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined -Wl,--as-needed)
  set(runs ${RETABLE_FUZZ_RUNS})
  if(ARGN)
    math(EXPR runs "${runs} / ${ARGN}")
  endif()
  set(found ${CMAKE_BINARY_DIR}/found/${name})
  add_custom_target(run_${name}_fuzz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${found}
    COMMAND ${name}_fuzz -runs=${runs} -seed=1 -max_len=${longest} -timeout=10
            -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/ ${found} ${CMAKE_SOURCE_DIR}/${corpus}
    VERBATIM)
  add_dependencies(fuzz run_${name}_fuzz)
  file(APPEND ${CMAKE_BINARY_DIR}/fuzz/targets "${name} ${longest} ${corpus}\n")
endfunction()

# Host sources and tests are compiled eight at a time: their headers are read and instantiated once. A file whose
# private names meet another's is compiled alone, and so is what alone of its library needs the CUDA runtime: a test
# that stands in for the runtime does not link it.
set(RETABLE_COMPILED_ALONE
    algorithms/extratrees/frontier/cpu/targets_test.cpp
    algorithms/extratrees/model/saved_forest_test.cpp
    algorithms/quantiles/sums/naive_accumulator.cpp
    algorithms/quantiles/sums/power_sums_test.cpp
    algorithms/shapley/estimators/estimators_test.cpp
    algorithms/shapley/samplers/samplers_test.cpp
    algorithms/shuffle/partition/cpu/in_memory_bucket.cpp
    algorithms/treeshap/explainers_test.cpp
    algorithms/treeshap/host/batch_pipeline_test.cpp
    algorithms/treeshap/interactions/derivative/tape.cpp
    algorithms/treeshap/interactions/derivative/tape_test.cpp
    algorithms/treeshap/model/forest_json.cpp
    algorithms/treeshap/model/forest_json_test.cpp
    algorithms/treeshap/quadrature/cpu/engine.cpp
    base/cuda/devices.cpp
    base/cuda/streams_test.cpp
    baselines/extratrees/scikit_learn_test.cpp
    harness/report/claim_test.cpp
    harness/report/csv_test.cpp
    harness/report/paper_cells_test.cpp
    harness/report/verdict_test.cpp)
list(TRANSFORM RETABLE_COMPILED_ALONE PREPEND ${CMAKE_SOURCE_DIR}/)
set_source_files_properties(${RETABLE_COMPILED_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# The CUDA runtime's calls that base/cuda/faults_testing.hpp plays; a folder's cuda_faults_test.cpp has them
# led through there.
set(RETABLE_CUDA_WRAP
    __cudaLaunchKernel
    cudaDeviceGetAttribute
    cudaDeviceSynchronize
    cudaEventCreateWithFlags
    cudaEventDestroy
    cudaEventRecord
    cudaEventSynchronize
    cudaFree
    cudaFuncGetAttributes
    cudaFuncSetAttribute
    cudaGetDevice
    cudaGetDeviceCount
    cudaGetLastError
    cudaGraphDestroy
    cudaGraphExecDestroy
    cudaGraphInstantiate
    cudaGraphLaunch
    cudaHostRegister
    cudaHostUnregister
    cudaLaunchKernelExC
    cudaMalloc
    cudaMemcpy
    cudaMemcpy2DAsync
    cudaMemcpyAsync
    cudaMemset
    cudaMemsetAsync
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    cudaPeekAtLastError
    cudaSetDevice
    cudaStreamBeginCapture
    cudaStreamCreateWithFlags
    cudaStreamDestroy
    cudaStreamEndCapture
    cudaStreamSynchronize
    cudaStreamWaitEvent)
list(TRANSFORM RETABLE_CUDA_WRAP PREPEND -Wl,--wrap=)

# retable_library(<name> <folder> [needed libraries...]): target retable_<name>, tests <name>_tests.
function(retable_library name folder)
  retable_sources(${CMAKE_SOURCE_DIR}/${folder} sources tests)
  if(sources)
    if(name STREQUAL "base")
      add_library(retable_${name} STATIC ${sources})
      target_link_libraries(retable_${name} PUBLIC retable_flags)
    else()
      add_library(retable_${name} OBJECT ${sources})
      target_link_libraries(retable_${name} PUBLIC retable_base retable_flags)
    endif()
    if(name MATCHES "${RETABLE_LIGHT_LIBRARIES}")
      retable_light(retable_${name} retable_precompiled_light)
    elseif(RETABLE_PRECOMPILE)
      target_precompile_headers(retable_${name} REUSE_FROM retable_precompiled)
    endif()
    set_target_properties(retable_${name} PROPERTIES UNITY_BUILD ${RETABLE_UNITY})
    set_property(GLOBAL APPEND PROPERTY RETABLE_LIBRARIES retable_${name})
    if(EXISTS ${CMAKE_SOURCE_DIR}/${folder}/build.cmake)
      include(${CMAKE_SOURCE_DIR}/${folder}/build.cmake)
    endif()
    retable_reads_headers_itself(${sources})
  endif()
  if(tests)
    retable_reads_headers_itself(${tests})
    add_executable(${name}_tests ${tests})
    foreach(library ${name} ${ARGN})
      if(TARGET retable_${library})
        # Linking an object library by name brings its objects along.
        target_link_libraries(${name}_tests PRIVATE retable_${library})
      endif()
    endforeach()
    target_link_libraries(${name}_tests PRIVATE retable_flags GTest::gtest GTest::gtest_main)
    if(RETABLE_HAS_CUDA AND EXISTS ${CMAKE_SOURCE_DIR}/${folder}/cuda_faults_test.cpp)
      target_link_options(${name}_tests PRIVATE ${RETABLE_CUDA_WRAP})
    endif()
    retable_light(${name}_tests retable_precompiled_tests)
    set_target_properties(${name}_tests PROPERTIES UNITY_BUILD ${RETABLE_UNITY})
    target_compile_definitions(${name}_tests PRIVATE RETABLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    # Parameters are told by their names: as bytes they hold addresses, other ones in every run.
    gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}."
                         NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# The user verbs (apps/<verb>) of a family; a build without the family leaves them out.
set(RETABLE_VERBS_extratrees forest)
set(RETABLE_VERBS_shapley advise image permutations)
set(RETABLE_VERBS_shuffle shuffle)
set(RETABLE_VERBS_treeshap shap)

# Every folder of algorithms/ but common is a family; its baselines and experiments join it by name.
function(retable_families)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE
       ${CMAKE_SOURCE_DIR}/algorithms ${CMAKE_SOURCE_DIR}/algorithms/*)
  retable_library(experiments_common experiments/common common harness datasets)
  if("shapley" IN_LIST RETABLE_ONLY)
    list(APPEND RETABLE_ONLY treeshap)  # whose models are games
  endif()
  foreach(family ${RETABLE_ONLY})
    if(NOT family IN_LIST folders OR family STREQUAL "common")
      list(REMOVE_ITEM folders common)
      string(REPLACE ";" ", " folders "${folders}")
      unset(RETABLE_ONLY CACHE)  # else the next call would take it from there
      message(FATAL_ERROR "RETABLE_ONLY (make: ONLY) names no family \"${family}\"; there are ${folders}")
    endif()
  endforeach()
  foreach(family ${folders})
    if(RETABLE_ONLY AND NOT family IN_LIST RETABLE_ONLY)
      continue()
    endif()
    if(NOT family STREQUAL "common" AND IS_DIRECTORY ${CMAKE_SOURCE_DIR}/algorithms/${family})
      retable_library(${family} algorithms/${family} common)
      retable_library(baselines_${family} baselines/${family} common ${family})
      retable_library(experiments_${family} experiments/${family} experiments_common common harness
                      datasets ${family} baselines_${family})
      foreach(verb ${RETABLE_VERBS_${family}})
        retable_library(app_${verb} apps/${verb} experiments_${family} experiments_common common
                        harness datasets ${family} baselines_${family})
      endforeach()
    endif()
  endforeach()
endfunction()

function(retable_program)
  get_property(libraries GLOBAL PROPERTY RETABLE_LIBRARIES)
  file(GLOB app_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/*.cpp)
  list(FILTER app_sources EXCLUDE REGEX "_test\\.cpp$")
  if(NOT app_sources)
    return()
  endif()
  add_executable(retable ${app_sources})
  foreach(library ${libraries})
    target_link_libraries(retable PRIVATE ${library})
  endforeach()
  target_link_libraries(retable PRIVATE retable_flags)
  retable_light(retable retable_precompiled_light)
  target_compile_definitions(retable PRIVATE RETABLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             RETABLE_VERSION="${PROJECT_VERSION}")
  file(GLOB app_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/*_test.cpp)
  if(app_tests)
    # These start the program itself, as a user does.
    add_executable(program_tests ${app_tests})
    target_link_libraries(program_tests PRIVATE retable_flags GTest::gtest GTest::gtest_main)
    retable_light(program_tests retable_precompiled_tests)
    set_target_properties(program_tests PROPERTIES UNITY_BUILD ${RETABLE_UNITY})
    target_compile_definitions(program_tests PRIVATE RETABLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                               RETABLE_PROGRAM="$<TARGET_FILE:retable>")
    add_dependencies(program_tests retable)
    if(RETABLE_HAS_CUDA)
      add_library(stand_in_driver SHARED ${CMAKE_SOURCE_DIR}/apps/testing/stand_in_driver.cpp)
      set_target_properties(stand_in_driver PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
                            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/stand_in_driver)
      add_dependencies(program_tests stand_in_driver)
      target_compile_definitions(program_tests PRIVATE
        RETABLE_STAND_IN_DRIVER="${CMAKE_BINARY_DIR}/stand_in_driver")
    endif()
    gtest_discover_tests(program_tests DISCOVERY_MODE PRE_TEST TEST_PREFIX "program."
                         NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
  endif()
endfunction()
