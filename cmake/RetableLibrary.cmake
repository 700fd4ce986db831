# The library without the harness: a component a family (include/retable/<family>.hpp over
# library/<family>.cpp), installed with a CMake package and a pkg-config file, and the Python module.
#
#     cmake -S . -B B -DRETABLE_LIBRARY_ONLY=ON && cmake --build B && cmake --install B --prefix P
#     find_package(retable COMPONENTS treeshap shuffle)      target retable::treeshap
#
# A method registers before main, and a linker drops the members of an archive that nobody names. So the
# objects of a family become one object (ld -r): whoever uses the family has all its methods.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(PkgConfig QUIET)

# What the families need of base and algorithms/common, and no more: no OpenSSL, no file.
set(RETABLE_CORE_SOURCES algorithms/common/bulk_random.cpp algorithms/common/forest_bytes.cpp
    algorithms/common/parameters.cpp base/bit_count.cpp base/csv/number.cpp base/cuda/cards.cpp base/cuda/devices.cpp
    base/cuda/no_device.cpp base/cuda/tuned.cpp base/memory/large_memory.cpp base/memory/streaming_copy.cpp
    base/parallel.cpp library/core.cpp)

if(RETABLE_LIBRARY_ONLY)
  add_library(retable_base INTERFACE)  # what the families' objects name; they are linked with the core
endif()

# retable_exported(<component>): the target retable_<component>, installed and exported.
function(retable_exported component target)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component} OUTPUT_NAME retable_${component}
                        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_library(retable::${component} ALIAS ${target})
  install(TARGETS ${target} EXPORT retable_${component} COMPONENT library
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT retable_${component} FILE retable-${component}.cmake NAMESPACE retable::
          COMPONENT library DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/retable)
endfunction()

function(retable_core)
  list(TRANSFORM RETABLE_CORE_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
  add_library(retable_core STATIC ${RETABLE_CORE_SOURCES})
  target_compile_features(retable_core INTERFACE cxx_std_20)
  target_link_libraries(retable_core PRIVATE $<BUILD_INTERFACE:retable_flags>
                        PUBLIC Threads::Threads TBB::tbb ${CMAKE_DL_LIBS})
  if(RETABLE_HAS_CUDA)
    target_link_libraries(retable_core PUBLIC CUDA::cudart_static)
  endif()
  target_compile_definitions(retable_core PRIVATE RETABLE_VERSION="${PROJECT_VERSION}")
  target_include_directories(retable_core PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  retable_exported(core retable_core)
endfunction()

function(retable_component family)
  add_library(retable_facade_${family} OBJECT ${CMAKE_SOURCE_DIR}/library/${family}.cpp)
  target_include_directories(retable_facade_${family} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(retable_facade_${family} PRIVATE retable_flags)
  set(object ${CMAKE_BINARY_DIR}/lib/retable_${family}.o)
  set(objects $<TARGET_OBJECTS:retable_${family}> $<TARGET_OBJECTS:retable_facade_${family}>)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
    COMMAND ${CMAKE_LINKER} -r -o ${object} ${objects}
    DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Joining the objects of ${family}")
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(retable_component_${family} STATIC ${object})
  # Make takes files for dependencies of one target alone.
  add_dependencies(retable_component_${family} retable_${family} retable_facade_${family})
  set_target_properties(retable_component_${family} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(retable_component_${family} PUBLIC retable_core)
  retable_exported(${family} retable_component_${family})
  install(FILES ${CMAKE_SOURCE_DIR}/include/retable/${family}.hpp COMPONENT library
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/retable)
  if(family STREQUAL "shuffle" AND RETABLE_HAS_CUDA)
    install(FILES ${CMAKE_SOURCE_DIR}/algorithms/shuffle/thrust_drop_in.cuh COMPONENT library
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/retable RENAME thrust_shuffle.cuh)
  endif()
  retable_pkg_config(${family} "retable_core = ${PROJECT_VERSION}" "-lretable_${family}")
endfunction()

# retable_pkg_config(<component> <requires> <libs>)
function(retable_pkg_config component requires libs)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(file ${CMAKE_BINARY_DIR}/lib/retable_${component}.pc)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: retable_@component@
Description: the @component@ component of Retable
Version: @PROJECT_VERSION@
Requires: @requires@
Libs: -L${libdir} @libs@
Cflags: -I${includedir}
]])
  install(FILES ${file} COMPONENT library DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(retable_components)
  get_filename_component(cuda_libraries "${CUDAToolkit_LIBRARY_DIR}" ABSOLUTE)
  set(libs "-lretable_core -ltbb -lpthread -ldl")
  if(RETABLE_HAS_CUDA)
    string(APPEND libs " -L${cuda_libraries} -lcudart_static -lrt")
  endif()
  retable_core()
  retable_pkg_config(core "" "${libs} -lstdc++")
  set(components core)
  file(GLOB facades CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/library/*.cpp)
  foreach(facade ${facades})
    get_filename_component(family ${facade} NAME_WE)
    if(TARGET retable_${family} AND NOT family STREQUAL "core")
      retable_component(${family})
    endif()
  endforeach()
  install(FILES ${CMAKE_SOURCE_DIR}/include/retable/core.hpp COMPONENT library
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/retable)
  configure_package_config_file(
    ${CMAKE_SOURCE_DIR}/cmake/retable-config.cmake.in ${CMAKE_BINARY_DIR}/lib/retable-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/retable)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/lib/retable-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/lib/retable-config.cmake
          ${CMAKE_BINARY_DIR}/lib/retable-config-version.cmake COMPONENT library
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/retable)
endfunction()

if(RETABLE_LIBRARY_ONLY)
  set(families extratrees quantiles shapley shuffle treeshap)
  foreach(family ${RETABLE_ONLY})
    if(NOT family IN_LIST families)
      message(FATAL_ERROR "RETABLE_ONLY names no family \"${family}\"; there are ${families}")
    endif()
  endforeach()
  foreach(family ${families})
    if(NOT RETABLE_ONLY OR family IN_LIST RETABLE_ONLY)
      retable_library(${family} algorithms/${family})
    endif()
  endforeach()
  retable_components()
endif()
