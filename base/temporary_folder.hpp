#pragma once
//! @file
//! An empty folder that goes, with all in it, when this object does: for files that are handed to
//! another program, and for tests, which run side by side.

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace retable {

class TemporaryFolder {
 public:
  //! @throws std::runtime_error where none can be made
  TemporaryFolder() {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    std::string name = (parent / "retable-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder in " + parent.string());
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace retable
