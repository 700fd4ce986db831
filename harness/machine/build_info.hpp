#pragma once
//! @file
//! How this program was built: compiler, flags, libraries, commit. CMake passes what the compiler
//! does not know (environment.cmake, commit.cmake).

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
};

BuildInfo GetBuildInfo();

struct SourceState {
  std::string commit;  //!< empty: not known
  bool dirty = false;  //!< sources were changed or are new, against the commit
};
//! The sources when this program was built; those of an archive are known too.
SourceState BuiltSourceState();
//! The clone that experiments are read from (RETABLE_ROOT, else where the program was built), as it
//! is now; not known where it is gone, or no clone.
SourceState ReadSourceState();

}  // namespace retable::harness
