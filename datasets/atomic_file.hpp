#pragma once
//! @file
//! Files that are either there whole or not at all, and locks between processes.

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace retable::datasets {

//! Writes under a temporary name beside `path`; Commit syncs and renames. Without Commit the
//! temporary file is removed.
class AtomicFile {
 public:
  //! Makes the folder. @throws std::runtime_error naming the path
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void Write(std::string_view bytes);
  void Commit();

 private:
  [[noreturn]] void Fail(const char* what) const;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

//! Writes a whole small file that way.
void WriteAtomically(const std::filesystem::path& path, std::string_view bytes);

//! The bytes of a file. @throws std::runtime_error
std::string ReadWhole(const std::filesystem::path& path);

//! Holds an exclusive lock on a file while it lives (flock: released when the process dies).
class FileLock {
 public:
  //! Waits for the lock. Where locks cannot be had (a read-only cache) there is none, silently:
  //! then nothing can be written either.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace retable::datasets
