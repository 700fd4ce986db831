# Read when the harness has become a library.
include(${CMAKE_CURRENT_SOURCE_DIR}/harness/environment.cmake)
