# The drop-in header in a program of C++17: a library of its own, since a target has one standard.
if(RETABLE_HAS_CUDA AND NOT RETABLE_LIBRARY_ONLY)
  set(shuffle_cxx17_test ${CMAKE_SOURCE_DIR}/algorithms/shuffle/thrust_drop_in_cxx17_test.cu)
  list(REMOVE_ITEM tests ${shuffle_cxx17_test})
  add_library(retable_shuffle_cxx17_test OBJECT EXCLUDE_FROM_ALL ${shuffle_cxx17_test})
  set_target_properties(retable_shuffle_cxx17_test PROPERTIES CUDA_STANDARD 17)
  target_link_libraries(retable_shuffle_cxx17_test PRIVATE retable_flags GTest::gtest)
  list(APPEND tests $<TARGET_OBJECTS:retable_shuffle_cxx17_test>)
endif()
