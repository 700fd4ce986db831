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

# How fast ARFF is read; not part of the default build.
add_executable(arff_bench EXCLUDE_FROM_ALL ${datasets_dir}/arff_bench.cpp)
target_link_libraries(arff_bench PRIVATE retable_datasets retable_flags)
