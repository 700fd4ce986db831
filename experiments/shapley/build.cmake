# The tree games of this family need the tree family in its test program too.
if(NOT RETABLE_ONLY OR "treeshap" IN_LIST RETABLE_ONLY)
  cmake_language(DEFER CALL target_link_libraries experiments_shapley_tests PRIVATE
                 retable_treeshap)
else()
  message(FATAL_ERROR "RETABLE_ONLY: the family shapley needs treeshap too")
endif()
