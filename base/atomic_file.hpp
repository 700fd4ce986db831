#pragma once
//! @file
//! Files that are either there whole or not at all, and locks between processes.

#include <cstdio>
#include <filesystem>
#include <functional>
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

//! A change of the disk that a power cut may undo, alone or with others, until it is synced.
struct DiskChange {
  enum Kind { kFolder, kBytes, kSynced, kNamed, kRenamed, kRemoved, kFolderSynced };
  Kind kind;
  std::filesystem::path path;  //!< an AtomicFile's temporary name
  std::string more;            //!< kBytes: what was written; kRenamed: the new name
};
//! Told of every change that this header's functions make, in order. Empty but in tests, which
//! build what a power cut may leave.
std::function<void(const DiskChange&)>& DiskObserver();

//! Makes the folder and those above it, each synced into its parent. @throws FileError
void MakeFolder(const std::filesystem::path& folder);
//! Makes the names in a folder survive a power cut, where the file system syncs folders at all.
//! @throws FileError where the disk fails
void SyncFolder(const std::filesystem::path& folder);
//! Renames; not synced. @throws FileError
void MoveFile(const std::filesystem::path& from, const std::filesystem::path& to);

//! Removes the temporary files that killed processes left in a folder. Their writers hold a lock on
//! them, so that those of living processes stay. A lock may be unknown to other machines: what one
//! of them left goes after a day.
void RemoveStaleTemporaries(const std::filesystem::path& folder);

//! Writes to a file without a name in the folder of `path` (where the file system has no such
//! files: under a temporary name); Commit syncs it, gives it its name in one step and syncs the
//! folder. Without Commit, or if the process is killed, what `path` held stays, and what is left
//! under a temporary name goes when a process next opens a file in the folder. A link is followed;
//! a device, a pipe and an open file of this process (/dev/stdout) are written directly.
class AtomicFile {
 public:
  //! Makes the folder. @throws FileError, as Write and Commit do
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void Write(std::string_view bytes);
  //! Writes over the first bytes, which there must be. A device or a pipe has none to go back to.
  void Rewrite(std::string_view start);
  void Commit();

 private:
  void Open();
  int OpenNamed();
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
//! The same; empty where there is no such file (/proc, /sys, what older runs do not have), or a
//! pipe or a device stands in its place.
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
