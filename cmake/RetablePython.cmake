# The extension module of the package `retable` (python/), which pip builds through scikit-build-core.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/*.cpp)
nanobind_add_module(_retable STABLE_ABI NB_STATIC ${python_sources})
foreach(family extratrees quantiles shapley shuffle treeshap)
  target_link_libraries(_retable PRIVATE retable_component_${family})
endforeach()
target_include_directories(_retable PRIVATE ${CMAKE_SOURCE_DIR})
# Symbols of other packages' libraries, as of another TBB, are not to be met by ours, and ours not by them.
target_link_options(_retable PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS _retable COMPONENT python LIBRARY DESTINATION retable)
# The scripts that `retable shap` and `retable forest` document serve the package too.
install(FILES ${CMAKE_SOURCE_DIR}/apps/shap/from_scikit_learn.py
              ${CMAKE_SOURCE_DIR}/apps/forest/to_scikit_learn.py COMPONENT python DESTINATION retable)
install(FILES ${CMAKE_SOURCE_DIR}/baselines/contender.py COMPONENT python DESTINATION retable
        RENAME contender_loop.py)
