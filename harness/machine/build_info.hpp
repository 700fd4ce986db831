#pragma once
//! @file
//! How this program was built: compiler, flags, libraries, commit. CMake passes what the compiler
//! does not know (environment.cmake).

#include <map>
#include <string>

namespace retable::harness {

struct BuildInfo {
  std::string compiler, compiler_version;
  std::string standard;  //!< "C++20"
  std::string flags, build_type;
  bool sanitized = false;
  std::string cuda_compiler;       //!< "nvcc 13.0.88", or empty
  std::string cuda_architectures;  //!< "90", or "75, 80, 120, 120-virtual"
  std::map<std::string, std::string> libraries;
  std::string commit;  //!< when CMake last configured; empty outside of a clone
  bool dirty = false;
};

BuildInfo GetBuildInfo();

//! The clone this program was built from, as it is now.
struct SourceState {
  bool known = false;  //!< the folder is there and git answers
  std::string commit;
  bool dirty = false;
};
SourceState ReadSourceState();

}  // namespace retable::harness
