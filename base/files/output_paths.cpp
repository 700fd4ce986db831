#include "base/files/output_paths.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace retable {
namespace {

namespace fs = std::filesystem;

bool Same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, ignored);
}

bool IsHome(const fs::path& folder) {
  const char* named = std::getenv("HOME");
  const passwd* user = getpwuid(getuid());
  return (named != nullptr && Same(folder, named)) ||
         (user != nullptr && user->pw_dir != nullptr && Same(folder, user->pw_dir));
}

bool InSourceTree(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = fs::weakly_canonical(folder, ignored); at != at.parent_path();
       at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored) || fs::exists(at / "CMakeLists.txt", ignored)) return true;
  }
  return false;
}

// Whether the folder holds files, none of which is among `own`.
bool HoldsOtherFiles(const fs::path& folder, std::initializer_list<const char*> own) {
  bool any = false;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (std::find(own.begin(), own.end(), name) != own.end()) return false;
    any = any || !name.starts_with(".");
  }
  return any;
}

}  // namespace

void KeepInputs(const fs::path& out, std::initializer_list<fs::path> inputs) {
  std::error_code ignored;
  if (!fs::is_regular_file(out, ignored) && !fs::is_directory(out, ignored)) return;
  for (const fs::path& input : inputs) {
    if (!Same(out, input)) continue;
    throw OutputRefused(out.string() + " is read and would be overwritten" +
                        (out == input ? "" : " (it is also called " + input.string() + ")") +
                        "; write to another file");
  }
}

bool IsStandardOutput(const fs::path& path) {
  struct stat named {
  }, standard{};
  if (path.empty()) return true;
  return stat(path.c_str(), &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
         named.st_dev == standard.st_dev && named.st_ino == standard.st_ino;
}

void CheckOutputFolder(const fs::path& folder, std::initializer_list<const char*> own) {
  const auto refuse = [&](const char* what) {
    throw OutputRefused("\"" + folder.string() + "\" " + what +
                        "; name a folder for results alone, such as results/latest");
  };
  if (folder.empty()) refuse("is no folder");
  if (Same(folder, "/")) refuse("is the root of the file system");
  if (IsHome(folder)) refuse("is a home folder");
  if (InSourceTree(folder) && HoldsOtherFiles(folder, own)) {
    refuse("is in a source tree and holds files that are no results");
  }
}

}  // namespace retable
