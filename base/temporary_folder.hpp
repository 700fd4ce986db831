#pragma once
//! @file
//! An empty folder that goes, with all in it, when this object does: for files that are handed to
//! another program, and for tests, which run side by side. What a killed process leaves goes when
//! the next one makes such a folder: a lock on it says whether its owner lives.

#include <filesystem>

namespace retable {

class TemporaryFolder {
 public:
  //! @throws std::runtime_error where none can be made
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace retable
