# Everything comes from the distribution's packages; tools/setup.sh installs them.
find_package(Threads REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(Boost REQUIRED)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(benchmark REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)

# Optional: what is absent is left out of the build.
if(RETABLE_HAS_CUDA)
  find_package(NCCL QUIET)
  message(STATUS "NCCL paths: ${NCCL_FOUND}")
endif()

# Optional: runs the networks of the image games of the shapley family. Debian's packages of single
# modules have no CMake configuration.
option(RETABLE_OPENCV "Run image networks by OpenCV when it is found" ON)
if(RETABLE_OPENCV)
  find_path(OPENCV_INCLUDE_DIR opencv2/dnn.hpp PATH_SUFFIXES opencv4)
  find_library(OPENCV_DNN_LIBRARY opencv_dnn)
  find_library(OPENCV_CORE_LIBRARY opencv_core)
  if(NOT OPENCV_INCLUDE_DIR OR NOT OPENCV_DNN_LIBRARY OR NOT OPENCV_CORE_LIBRARY)
    set(RETABLE_OPENCV OFF)
  endif()
endif()
