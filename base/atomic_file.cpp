#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <stdexcept>

namespace retable {
namespace {

namespace fs = std::filesystem;

void Tell(DiskChange::Kind kind, const fs::path& path, std::string_view more = {}) {
  if (DiskObserver()) DiskObserver()({kind, path, std::string(more)});
}

// How the temporary files of this machine end. Processes of several may write to one folder.
const std::string& TemporaryEnd() {
  static const std::string end = [] {
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    return std::string(".") + host + ".retable-tmp";
  }();
  return end;
}

fs::path TemporaryName(const fs::path& path) {
  static std::atomic<unsigned> count{0};
  constexpr std::size_t kMostOfName = 128;  // with numbers and host, fewer than 255 bytes
  fs::path name = path.parent_path() / path.filename().string().substr(0, kMostOfName);
  for (const unsigned long number : {static_cast<unsigned long>(getpid()), 0ul + count++}) {
    name += ".";
    name += std::to_string(number);
  }
  name += TemporaryEnd();
  return name;
}

// Held while the file is open: the sign that its writer lives (RemoveStaleTemporaries).
void Lock(int file) {
  while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
  }
}

void RemoveIfStale(const fs::path& path) {
  constexpr std::time_t kDay = 86400;
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return;
  struct stat found {};
  const bool known = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  const bool ours = path.string().ends_with(TemporaryEnd());
  if (known && flock(file, LOCK_EX | LOCK_NB) == 0 &&
      (ours || std::time(nullptr) - found.st_mtime > kDay) && unlink(path.c_str()) == 0) {
    Tell(DiskChange::kRemoved, path);
  }
  close(file);
}

// Once a process and folder: what dies while this process lives is for the next one.
void RemoveStaleOnce(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> done;
  const std::lock_guard<std::mutex> guard(mutex);
  if (done.insert(folder).second) RemoveStaleTemporaries(folder);
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The number of this process's open file that a path names, or -1.
int NumberOfOpenFile(const fs::path& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const fs::path folder = path.parent_path();
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool known = folder == "/dev/fd" || folder == "/proc/self/fd";
  return known && error == std::errc() && end == name.data() + name.size() ? number : -1;
}

bool IsDevice(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

// Where a link leads, though nothing be there yet.
fs::path Followed(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == kMostLinks) throw FileError(path, ELOOP);
    const fs::path target = fs::read_symlink(path, error);
    if (error) throw FileError(path, error.value());
    path = FolderOf(path) / target;
  }
  return path;
}

}  // namespace

FileError::FileError(const fs::path& path, int number)
    : std::runtime_error("cannot write " + path.string() + ": " + std::strerror(number)),
      error(number) {}

std::function<void(const DiskChange&)>& DiskObserver() {
  static std::function<void(const DiskChange&)> observer;
  return observer;
}

void SyncFolder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // one that may be written to and not read
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // Some file systems sync no folder; the file's name stands all the same.
  if (error != 0 && error != EINVAL && error != ENOTSUP && error != EROFS && error != EBADF) {
    throw FileError(folder, error);
  }
  Tell(DiskChange::kFolderSynced, folder);
}

void MakeFolder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  MakeFolder(folder.parent_path());
  const bool made = fs::create_directory(folder, error);
  if (error) throw FileError(folder, error.value());
  if (made) Tell(DiskChange::kFolder, folder);
  SyncFolder(FolderOf(folder));
  SyncFolder(FolderOf(folder) / "..");  // a process may have been killed before it did so
}

void MoveFile(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) throw FileError(from, errno);
  Tell(DiskChange::kRenamed, from, to.string());
}

void RemoveStaleTemporaries(const fs::path& folder) {
  std::error_code error;
  std::set<fs::path> found;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() == ".retable-tmp") found.insert(file->path());
  }
  for (const fs::path& path : found) RemoveIfStale(path);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) Fail(EISDIR);
  if (const int open_file = NumberOfOpenFile(path_); open_file >= 0) {
    const int file = dup(open_file);  // opened anew, it would begin at its start
    file_ = file < 0 ? nullptr : fdopen(file, "wb");
  } else if (IsDevice(path_)) {
    file_ = std::fopen(path_.c_str(), "wb");
  } else {
    path_ = Followed(path_);
    Open();
  }
  if (file_ == nullptr) Fail(errno);
}

void AtomicFile::Open() {
  const fs::path folder = FolderOf(path_);
  try {
    MakeFolder(folder);
  } catch (const FileError& problem) {
    Fail(problem.error);
  }
  struct stat old {};
  const bool replaces = stat(path_.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) Fail(errno);  // as of a name that is too long
  RemoveStaleOnce(folder);
  // Naming it needs /proc.
  int file = access("/proc/self/fd", X_OK) == 0
                 ? open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666)
                 : -1;
  nameless_ = file >= 0;
  if (nameless_) {
    temporary_ = TemporaryName(path_);
    Lock(file);
  } else {
    file = OpenNamed();
  }
  // Whoever could not read the old file must not read the new one. Where its group cannot be kept,
  // no group may.
  if (file >= 0 && replaces) {
    const bool same_group = fchown(file, static_cast<uid_t>(-1), old.st_gid) == 0;
    fchmod(file, old.st_mode & (same_group ? 0777 : 0707));  // some file systems have no modes
  }
  file_ = file < 0 ? nullptr : fdopen(file, "wb");
}

// A temporary file that is there and locked; -1 and errno where there can be none.
int AtomicFile::OpenNamed() {
  while (true) {
    const fs::path name = TemporaryName(path_);
    const int file = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;  // left by a process of the same number
    if (file < 0) return -1;
    Lock(file);
    struct stat found {};
    if (fstat(file, &found) == 0 && found.st_nlink > 0) {
      temporary_ = name;
      Tell(DiskChange::kNamed, temporary_);
      return file;
    }
    close(file);  // another process took it for a stale one before it was locked
  }
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code ignored;
  if (!nameless_ && !temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::Fail(int error) const {
  throw FileError(path_, error);
}

void AtomicFile::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) Fail(errno);
  Tell(DiskChange::kBytes, temporary_, bytes);
}

void AtomicFile::Rewrite(std::string_view start) {
  if (std::fseek(file_, 0, SEEK_SET) != 0 ||
      std::fwrite(start.data(), 1, start.size(), file_) != start.size() ||
      std::fseek(file_, 0, SEEK_END) != 0) {
    Fail(errno);
  }
}

void AtomicFile::Name() {
  const std::string here = "/proc/self/fd/" + std::to_string(fileno(file_));
  while (nameless_) {
    if (linkat(AT_FDCWD, here.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      nameless_ = false;
      Tell(DiskChange::kNamed, temporary_);
    } else if (errno == EEXIST) {
      temporary_ = TemporaryName(path_);  // left by a process of the same number
    } else {
      Fail(errno);
    }
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(errno);
  Tell(DiskChange::kRenamed, temporary_, path_.string());
  SyncFolder(FolderOf(path_));
}

void AtomicFile::Commit() {
  // A device or a pipe has nothing to sync.
  if (std::fflush(file_) != 0 || (fsync(fileno(file_)) != 0 && errno != EINVAL)) Fail(errno);
  Tell(DiskChange::kSynced, temporary_);
  if (!temporary_.empty()) Name();
  temporary_.clear();
  std::FILE* file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0) Fail(errno);
}

OutputFile::OutputFile(const fs::path& path) : std::ostream(this), file_(path) {
  exceptions(std::ios::badbit);  // so that << throws what Write throws
}

std::streamsize OutputFile::xsputn(const char* text, std::streamsize size) {
  file_.Write({text, static_cast<std::size_t>(size)});
  return size;
}

int OutputFile::overflow(int letter) {
  using Traits = std::streambuf::traits_type;
  const char text = Traits::to_char_type(letter);
  if (!Traits::eq_int_type(letter, Traits::eof())) file_.Write({&text, 1});
  return Traits::not_eof(letter);
}

void WriteAtomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.Write(bytes);
  file.Commit();
}

std::string ReadWhole(const fs::path& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;
  if (in && fs::is_directory(path, ignored)) errno = EISDIR;
  std::string bytes;
  if (in && errno == 0) {
    const auto size = fs::file_size(path, ignored);  // a pipe has none
    bytes.resize(ignored ? 0 : size);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    bytes.append(std::istreambuf_iterator<char>(in), {});  // /proc: files of size 0
  }
  if (in.bad() || !in.is_open() || errno == EISDIR) {
    throw std::runtime_error("cannot read " + path.string() + ": " + std::strerror(errno));
  }
  return bytes;
}

std::string ReadOrEmpty(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  try {
    return ReadWhole(path);
  } catch (const std::runtime_error&) {
    return "";
  }
}

FileLock::FileLock(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return;
  while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace retable
