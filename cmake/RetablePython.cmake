# The extension module of the package `retable` (python/): pip builds it through scikit-build-core, and
# RETABLE_PYTHON=ON in any build, from the objects that are there. Then build/python holds the package.

function(retable_python_module)
  if(NOT RETABLE_PYTHON OR RETABLE_ONLY)
    add_test(NAME python COMMAND ${CMAKE_COMMAND} -E echo
             "Python tests skipped: no module in this build (RETABLE_PYTHON); make python")
    set_tests_properties(python PROPERTIES SKIP_REGULAR_EXPRESSION "Python tests skipped")
    return()
  endif()
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module
               OPTIONAL_COMPONENTS Development.SABIModule)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)

  set(package ${CMAKE_BINARY_DIR}/python/retable)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/*.cpp)
  nanobind_add_module(_retable STABLE_ABI NB_STATIC ${sources})
  foreach(family extratrees quantiles shapley shuffle treeshap)
    target_link_libraries(_retable PRIVATE retable_component_${family})
  endforeach()
  target_include_directories(_retable PRIVATE ${CMAKE_SOURCE_DIR})
  # Symbols of other packages' libraries, as of another TBB, are not to be met by ours, and ours not by them.
  target_link_options(_retable PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(_retable PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
  install(TARGETS _retable COMPONENT python LIBRARY DESTINATION retable)
  # The scripts that `retable shap` and `retable forest` document serve the package too.
  set(scripts ${CMAKE_SOURCE_DIR}/apps/shap/from_catboost.py ${CMAKE_SOURCE_DIR}/apps/shap/from_scikit_learn.py
      ${CMAKE_SOURCE_DIR}/apps/forest/to_scikit_learn.py)
  install(FILES ${scripts} COMPONENT python DESTINATION retable)
  set(loop ${CMAKE_SOURCE_DIR}/baselines/contender.py)
  install(FILES ${loop} COMPONENT python DESTINATION retable RENAME contender_loop.py)

  # The package where it is built: an edited file is there at once.
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/retable/*.py*)
  file(MAKE_DIRECTORY ${package})
  foreach(file ${files} ${scripts})
    get_filename_component(name ${file} NAME)
    file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${loop} ${package}/contender_loop.py SYMBOLIC)
  add_test(NAME python COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider python/tests
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(python PROPERTIES TIMEOUT 600 ENVIRONMENT
                       "PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
endfunction()

if(RETABLE_LIBRARY_ONLY AND RETABLE_PYTHON)
  retable_python_module()
endif()
