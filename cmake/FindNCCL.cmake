# NCCL, optional: for the paths that join several GPUs. Only the header is needed to build: the library
# is opened at run time (algorithms/common/nccl.hpp), so that one program serves machines with and without it.
#
#     cmake -DNCCL_ROOT=/path ...     a folder with include/nccl.h; a distribution's package needs no hint
#
# Sets NCCL_FOUND, NCCL_INCLUDE_DIR, NCCL_VERSION; defines the target NCCL::headers.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT PATH_SUFFIXES include)
if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h nccl_numbers REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX MATCHALL "[0-9]+" nccl_numbers "${nccl_numbers}")
  string(REPLACE ";" "." NCCL_VERSION "${nccl_numbers}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::headers)
  add_library(NCCL::headers INTERFACE IMPORTED)
  target_include_directories(NCCL::headers INTERFACE ${NCCL_INCLUDE_DIR})
endif()
mark_as_advanced(NCCL_INCLUDE_DIR)
