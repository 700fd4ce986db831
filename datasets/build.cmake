# The small data sets and the registry are compiled in, so that the program works from anywhere.
set(datasets_dir ${CMAKE_SOURCE_DIR}/datasets)
file(GLOB datasets_embedded CONFIGURE_DEPENDS ${datasets_dir}/embedded/*.csv
     ${datasets_dir}/embedded/*.csv.gz ${datasets_dir}/embedded/*.arff.gz)
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

# Data sets are compiled lightly, but for what reads and makes rows.
if(NOT RETABLE_SANITIZE AND NOT RETABLE_FUZZ)
  foreach(source arff/parser generators/generators generators/make_tables)
    set_property(SOURCE ${datasets_dir}/${source}.cpp APPEND PROPERTY COMPILE_OPTIONS -O3)
  endforeach()
endif()

retable_fuzzed(datasets base/atomic_file.cpp datasets/arff/date.cpp datasets/arff/parser.cpp
               base/csv/number.cpp base/sha256.cpp base/utf8.cpp datasets/frame/file.cpp datasets/frame/frame.cpp
               datasets/openml/answer.cpp datasets/openml/gzip.cpp datasets/openml/http_header.cpp
               datasets/openml/json.cpp datasets/openml/simple_xml.cpp datasets/openml/url.cpp)
foreach(kind arff frame http json)
  retable_fuzz(${kind} datasets datasets/fuzz/${kind}_fuzz.cpp datasets/fuzz/corpus/${kind} 4096)
endforeach()
