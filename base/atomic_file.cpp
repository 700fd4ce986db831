#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace retable {
namespace {

namespace fs = std::filesystem;

// Processes of several machines may write to one folder.
std::string TemporarySuffix() {
  static std::atomic<unsigned> count{0};
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  return std::string(".") + host + "." + std::to_string(getpid()) + "." + std::to_string(count++) +
         ".tmp";
}

// Some file systems sync no folder; the file's name stands all the same.
void SyncFolder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Devices and pipes; and the standard output, though a file be behind it.
bool IsDevice(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  const std::string folder = fs::canonical(path.parent_path(), ignored).string();
  return !fs::is_regular_file(path, ignored) || folder == "/dev" || folder.starts_with("/proc/");
}

}  // namespace

FileError::FileError(const fs::path& path, int number)
    : std::runtime_error("cannot write " + path.string() + ": " + std::strerror(number)),
      error(number) {}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) Fail(EISDIR);
  if (IsDevice(path_)) {
    file_ = std::fopen(path_.c_str(), "wb");
  } else {
    const fs::path target = fs::canonical(path_, ignored);  // where a link leads
    if (!target.empty()) path_ = target;
    Open();
  }
  if (file_ == nullptr) Fail(errno);
}

void AtomicFile::Open() {
  const fs::path folder = FolderOf(path_);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) Fail(error.value());
  temporary_ = path_;
  temporary_ += TemporarySuffix();
  // Naming it needs /proc.
  const int file = access("/proc/self/fd", X_OK) == 0
                       ? open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666)
                       : -1;
  nameless_ = file >= 0;
  file_ = nameless_ ? fdopen(file, "wb") : std::fopen(temporary_.c_str(), "wb");
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
}

void AtomicFile::Name() {
  if (nameless_) {
    const std::string here = "/proc/self/fd/" + std::to_string(fileno(file_));
    if (linkat(AT_FDCWD, here.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      Fail(errno);
    }
    nameless_ = false;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(errno);
  SyncFolder(FolderOf(path_));
}

void AtomicFile::Commit() {
  // A device or a pipe has nothing to sync.
  if (std::fflush(file_) != 0 || (fsync(fileno(file_)) != 0 && errno != EINVAL)) Fail(errno);
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
  if (in && errno == 0) bytes.assign(std::istreambuf_iterator<char>(in), {});
  if (in.bad() || !in.is_open() || errno == EISDIR) {
    throw std::runtime_error("cannot read " + path.string() + ": " + std::strerror(errno));
  }
  return bytes;
}

std::string ReadOrEmpty(const fs::path& path) {
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
