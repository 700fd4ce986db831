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
file(GLOB_RECURSE datasets_light CONFIGURE_DEPENDS ${datasets_dir}/*_test.cpp)
foreach(source openml/cache registry/catalog commands registry/embedded frame/file openml/json
        registry/registry_file openml/simple_xml)
  list(APPEND datasets_light ${datasets_dir}/${source}.cpp)
endforeach()
if(NOT RETABLE_SANITIZE)  # which optimises less still
  set_property(SOURCE ${datasets_light} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()

retable_fuzz(arff datasets/fuzz_corpus/arff 4096 "${RETABLE_FUZZ_RUNS}" datasets/arff/parser_fuzz.cpp
             datasets/arff/parser.cpp datasets/arff/date.cpp datasets/frame/frame.cpp base/utf8.cpp
             base/csv/number.cpp)
retable_fuzz(json datasets/fuzz_corpus/json 4096 "${RETABLE_FUZZ_RUNS}" datasets/openml/json_fuzz.cpp
             datasets/openml/json.cpp datasets/openml/simple_xml.cpp base/utf8.cpp)
