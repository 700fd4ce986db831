#pragma once
//! @file
//! The archive of a recording: a tar file packed with zstd, `tar --zstd -tf cells.tar.zst` lists
//! it.
//!
//! Equal files give equal bytes: no dates, no owners, files in the order of their names, one
//! thread. A cut, changed or overlong archive is an error by name: zstd's checksum is of all that
//! is in it, and the tar file must end as it began to.

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace retable::harness {

//! What is wrong with an archive; without its path and the remedy, which its reader knows.
class ArchiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! Content by path, with '/' between folders.
using Files = std::map<std::string, std::string>;

//! O(bytes); 0.7 MB a second: archives are made seldom and travel often. @throws ArchiveError for a
//! name that no archive holds: of more than 100 bytes, absolute, or with ".." in it
std::string PackArchive(const Files& files);

//! Calls `visit` for each file, in the order of the archive, and holds one at a time.
//! @throws ArchiveError; then what was visited before may be of a damaged archive
void ReadArchive(std::string_view archive,
                 const std::function<void(const std::string& path, std::string content)>& visit);

}  // namespace retable::harness
