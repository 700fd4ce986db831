#include "harness/machine/build_info.hpp"

#include <Eigen/src/Core/util/Macros.h>
#include <curl/curlver.h>
#include <fmt/core.h>
#include <openssl/opensslv.h>
#include <tbb/version.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <boost/version.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/detail/abi_macros.hpp>

namespace retable::harness {
namespace {

std::string Dotted(int a, int b, int c) {
  return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
}

// What a command prints, without the last line end; nothing when it fails.
std::string Answer(const std::string& command, bool& ok) {
  ok = false;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    text.append(buffer.data(), n);
  }
  ok = pclose(pipe.release()) == 0;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Quoted(const std::string& path) {
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
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
  info.commit = RETABLE_GIT_COMMIT;
  info.dirty = RETABLE_GIT_DIRTY;
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
  SourceState state;
  // An unpacked archive is not part of a repository around it.
  const std::string above = std::filesystem::path(RETABLE_SOURCES).parent_path();
  const std::string git =
      "GIT_CEILING_DIRECTORIES=" + Quoted(above) + " git -C " + Quoted(RETABLE_SOURCES) + " ";
  state.commit = Answer(git + "rev-parse HEAD 2>/dev/null", state.known);
  if (!state.known) return {};
  bool answered = false;
  state.dirty =
      !Answer(git + "status --porcelain --untracked-files=no 2>/dev/null", answered).empty();
  return state;
}

}  // namespace retable::harness
