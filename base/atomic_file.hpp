#pragma once
//! @file
//! Files that are either there whole or not at all, and locks between processes.

#include <cstdio>
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>

namespace retable {

//! Names the path and why; `error` is the system's number (ENOSPC, EACCES, ...).
class FileError : public std::runtime_error {
 public:
  FileError(const std::filesystem::path& path, int number);
  int error;
};

//! Writes to a file without a name in the folder of `path` (where the file system has no such
//! files: under a temporary name); Commit syncs it, gives it its name in one step and syncs the
//! folder. Without Commit, or if the process is killed, nothing is there and what `path` held
//! stays. A link is followed; a device or a pipe (/dev/stdout) is written directly.
class AtomicFile {
 public:
  //! Makes the folder. @throws FileError, as Write and Commit do
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void Write(std::string_view bytes);
  void Commit();

 private:
  void Open();
  void Name();
  [[noreturn]] void Fail(int error) const;
  std::filesystem::path path_;
  std::filesystem::path temporary_;  //!< empty: written directly
  bool nameless_ = false;            //!< temporary_ does not exist before Commit
  std::FILE* file_ = nullptr;
};

//! A file of that kind to write to with <<, for what a command leaves its user. Opened before the
//! work starts, it refuses before the work is done. @throws FileError from any <<
class OutputFile : private std::streambuf, public std::ostream {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  void Commit() { file_.Commit(); }

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int overflow(int letter) override;
  AtomicFile file_;
};

//! Writes a whole small file that way.
void WriteAtomically(const std::filesystem::path& path, std::string_view bytes);

//! The bytes of a file. @throws std::runtime_error naming the path and why
std::string ReadWhole(const std::filesystem::path& path);
//! The same; empty where the file cannot be read (/proc, /sys, what older runs do not have).
std::string ReadOrEmpty(const std::filesystem::path& path);

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

}  // namespace retable
