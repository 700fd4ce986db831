# The small data sets and the registry are compiled in, so that the program works from anywhere.
set(datasets_dir ${CMAKE_SOURCE_DIR}/datasets)
file(GLOB datasets_embedded CONFIGURE_DEPENDS ${datasets_dir}/embedded/*.csv
     ${datasets_dir}/embedded/*.csv.gz)
list(APPEND datasets_embedded ${datasets_dir}/registry.toml)
set(datasets_embedded_cpp ${CMAKE_BINARY_DIR}/generated/datasets/embedded_files.cpp)
string(REPLACE ";" "," datasets_embedded_list "${datasets_embedded}")
add_custom_command(
  OUTPUT ${datasets_embedded_cpp}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${datasets_embedded_cpp} -DFILES=${datasets_embedded_list}
          -P ${datasets_dir}/embed.cmake
  DEPENDS ${datasets_embedded} ${datasets_dir}/embed.cmake
  COMMENT "Embedding the small data sets" VERBATIM)
target_sources(retable_datasets PRIVATE ${datasets_embedded_cpp})

# What is not hot need not be optimised hard: tests, and code that reads JSON and TOML (large headers,
# long compile times).
file(GLOB datasets_light CONFIGURE_DEPENDS ${datasets_dir}/*_test.cpp)
foreach(source cache catalog commands embedded frame_file openml_json registry_file simple_xml)
  list(APPEND datasets_light ${datasets_dir}/${source}.cpp)
endforeach()
if(NOT RETABLE_SANITIZE)  # which optimises less still
  set_property(SOURCE ${datasets_light} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()

# How fast ARFF is read; not part of the default build.
add_executable(arff_bench EXCLUDE_FROM_ALL ${datasets_dir}/arff_bench.cpp)
target_link_libraries(arff_bench PRIVATE retable_datasets retable_flags)

# Fuzz targets (clang only): `fuzz` runs each for a fixed number of inputs. Sources are compiled again
# here, because the fuzzer needs its own instrumentation.
if(RETABLE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RETABLE_FUZZ needs clang: cmake -DCMAKE_CXX_COMPILER=clang++")
  endif()
  set(RETABLE_FUZZ_RUNS 50000 CACHE STRING "Inputs for each fuzz target")
  set(arff_fuzz_sources arff arff_date frame utf8)
  set(json_fuzz_sources openml_json simple_xml utf8)
  add_custom_target(fuzz)
  foreach(kind arff json)
    set(fuzz_sources ${datasets_dir}/${kind}_fuzz.cpp)
    foreach(source ${${kind}_fuzz_sources})
      list(APPEND fuzz_sources ${datasets_dir}/${source}.cpp)
    endforeach()
    add_executable(${kind}_fuzz EXCLUDE_FROM_ALL ${fuzz_sources})
    target_link_libraries(${kind}_fuzz PRIVATE retable_flags)
    target_compile_options(${kind}_fuzz PRIVATE -O1 -g -fsanitize=fuzzer,address,undefined
                           -fno-sanitize-recover=all)
    target_link_options(${kind}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
    add_custom_target(run_${kind}_fuzz
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz/${kind}
      COMMAND ${kind}_fuzz -runs=${RETABLE_FUZZ_RUNS} -seed=1 -max_len=4096 -timeout=10
              -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/ ${CMAKE_BINARY_DIR}/fuzz/${kind}
              ${datasets_dir}/fuzz_corpus/${kind}
      VERBATIM)
    add_dependencies(fuzz run_${kind}_fuzz)
  endforeach()
endif()
