# The tree games of this family need the tree family in its test programs too.
foreach(tests experiments_shapley_tests app_advise_tests app_image_tests app_permutations_tests)
  cmake_language(EVAL CODE
                 "cmake_language(DEFER CALL target_link_libraries ${tests} PRIVATE retable_treeshap)")
endforeach()
# Image games: the networks are compiled in; OpenCV runs them, in a library that the program opens
# where it is there.
set(shapley_networks ${CMAKE_SOURCE_DIR}/experiments/shapley/games/images/networks)
set(shapley_networks_cpp ${CMAKE_BINARY_DIR}/generated/experiments/shapley_networks.cpp)
add_custom_command(
  OUTPUT ${shapley_networks_cpp}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${shapley_networks_cpp} -DFOLDER=${shapley_networks}
          -P ${shapley_networks}/embed.cmake
  DEPENDS ${shapley_networks}/digits.onnx ${shapley_networks}/fashion.onnx
          ${shapley_networks}/embed.cmake
  COMMENT "Embedding the networks" VERBATIM)
target_sources(retable_experiments_shapley PRIVATE ${shapley_networks_cpp})
if(RETABLE_OPENCV)
  add_library(retable_opencv MODULE ${CMAKE_SOURCE_DIR}/experiments/shapley/games/images/opencv/onnx_network.cpp)
  set_target_properties(retable_opencv PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(retable_opencv SYSTEM PRIVATE ${OPENCV_INCLUDE_DIR})
  target_link_libraries(retable_opencv PRIVATE retable_flags ${OPENCV_DNN_LIBRARY}
                        ${OPENCV_CORE_LIBRARY})
  add_dependencies(retable_experiments_shapley retable_opencv)
endif()
set(shapley_images experiments/shapley/games/images)
retable_fuzzed(shapley ${shapley_images}/layers.cpp ${shapley_images}/onnx_file.cpp ${shapley_images}/onnx_layers.cpp ${shapley_images}/ppm.cpp)
foreach(kind onnx ppm)
  retable_fuzz(${kind} shapley ${shapley_images}/fuzz/${kind}_fuzz.cpp ${shapley_images}/fuzz/corpus/${kind} 2048)
endforeach()
