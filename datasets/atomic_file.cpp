#include "datasets/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

std::string TemporarySuffix() {
  static std::atomic<unsigned> count{0};
  return ".tmp." + std::to_string(getpid()) + "." + std::to_string(count++);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  fs::create_directories(path_.parent_path(), ignored);
  temporary_ = path_;
  temporary_ += TemporarySuffix();
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) Fail("write");
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
}

void AtomicFile::Fail(const char* what) const {
  throw std::runtime_error(std::string("cannot ") + what + " " + path_.string() + ": " +
                           std::strerror(errno));
}

void AtomicFile::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) Fail("write");
}

void AtomicFile::Commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) Fail("write");
  std::FILE* file = file_;
  file_ = nullptr;
  std::error_code ignored;
  if (std::fclose(file) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fs::remove(temporary_, ignored);
    Fail("write");
  }
}

void WriteAtomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.Write(bytes);
  file.Commit();
}

std::string ReadWhole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  if (!in.good() && !in.eof()) throw std::runtime_error("cannot read " + path.string());
  return bytes;
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

}  // namespace retable::datasets
