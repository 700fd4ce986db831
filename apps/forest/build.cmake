# Exported forests, explained by the tree SHAP family where the program has it.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME extratrees.exports
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/apps/forest/check_exports.py
                   $<TARGET_FILE:retable>)
  set_tests_properties(extratrees.exports PROPERTIES SKIP_RETURN_CODE 77)
endif()
