#include "harness/machine/build_info.hpp"

#include <Eigen/src/Core/util/Macros.h>
#include <curl/curlver.h>
#include <fmt/core.h>
#include <openssl/opensslv.h>
#include <tbb/version.h>
#include <zlib.h>
#include <zstd.h>

#include <boost/version.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/detail/abi_macros.hpp>
#include <system_error>

#include "harness/cli/shell.hpp"

namespace retable::harness {
namespace {

std::string Dotted(int a, int b, int c) {
  return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
}

}  // namespace

BuildInfo GetBuildInfo() {
  BuildInfo info;
  info.compiler = RETABLE_COMPILER;
  info.compiler_version = RETABLE_COMPILER_VERSION;
  info.standard = "C++" + std::to_string(__cplusplus / 100 % 100);
  info.flags = RETABLE_COMPILER_FLAGS;
  info.build_type = RETABLE_BUILD_TYPE;
#if defined(RETABLE_SANITIZED)
  info.sanitized = true;
#endif
  info.cuda_compiler = RETABLE_CUDA_COMPILER;
  info.cuda_architectures = RETABLE_CUDA_ARCHITECTURES;
  info.libraries = {
      {"Eigen", Dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"Boost", Dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"Google Benchmark", RETABLE_BENCHMARK_VERSION},
      {"toml++", RETABLE_TOML_VERSION},
      {"nlohmann-json", Dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH)},
      {"fmt", Dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"oneTBB", std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR)},
      {"curl", LIBCURL_VERSION},
      {"OpenSSL", OPENSSL_VERSION_STR},
      {"zlib", ZLIB_VERSION},
      {"zstd", ZSTD_VERSION_STRING},
  };
  return info;
}

SourceState ReadSourceState() {
  const char* root = std::getenv("RETABLE_ROOT");
  std::error_code unknown;
  const auto sources = std::filesystem::canonical(
      root == nullptr || *root == '\0' ? RETABLE_SOURCES : root, unknown);
  if (unknown) return {};
  // An unpacked archive is not part of a repository around it.
  const std::string git = "GIT_CEILING_DIRECTORIES=" + ShellWord(sources.parent_path()) +
                          " git -C " + ShellWord(sources) + " ";
  SourceState state;
  state.commit = PrintedBy(git + "rev-parse HEAD 2>/dev/null");
  // New files count, too, where sources are globbed: the same folders as in commit.cmake.
  state.dirty = !state.commit.empty() &&
                !PrintedBy(git + "status --porcelain --untracked-files=no 2>/dev/null; " + git +
                           "status --porcelain -- algorithms apps base baselines cmake datasets "
                           "experiments harness include library CMakeLists.txt 2>/dev/null")
                     .empty();
  return state;
}

}  // namespace retable::harness
