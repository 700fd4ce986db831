#include "base/temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

namespace retable {
namespace {

namespace fs = std::filesystem;

// No other program's folders are named so: what begins with it may be removed.
const char* const kBegin = "retable-temporary-";

int OpenFolder(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void RemoveStale(const fs::path& parent) {
  std::error_code error;
  std::set<fs::path> found;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kBegin)) found.insert(it->path());
  }
  for (const fs::path& path : found) {
    const int folder = OpenFolder(path);
    if (folder < 0) continue;
    struct stat owner {};
    if (fstat(folder, &owner) == 0 && owner.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(path, error);
    }
    close(folder);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const fs::path parent = fs::temp_directory_path();
  static std::once_flag once;
  std::call_once(once, RemoveStale, parent);
  while (true) {
    std::string name = (parent / (std::string(kBegin) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder in " + parent.string());
    }
    lock_ = OpenFolder(name);
    while (lock_ >= 0 && flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
    }
    path_ = name;
    std::error_code ignored;
    if (fs::exists(path_, ignored)) return;
    if (lock_ >= 0) close(lock_);  // another process took it for a stale one before it was locked
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace retable
