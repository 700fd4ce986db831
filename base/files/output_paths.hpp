#pragma once
//! @file
//! What a command must not write to: the files that it reads, and folders that are no place for
//! results.

#include <filesystem>
#include <initializer_list>
#include <stdexcept>

namespace retable {

//! A path that is not written to: what() names it, the reason and the remedy.
class OutputRefused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

//! @throws OutputRefused where `out` is one of the files or folders that are read, by whatever
//! name: a relative path, a link, a hard link. A device, a pipe and what does not exist yet lose
//! nothing.
void KeepInputs(const std::filesystem::path& out,
                std::initializer_list<std::filesystem::path> inputs);

//! Whether a result goes to the standard output, by its path or for want of one: what is said
//! beside it belongs elsewhere.
bool IsStandardOutput(const std::filesystem::path& path);

//! @param own names of which a folder of such results has at least one
//! @throws OutputRefused for a folder that no command fills: an empty path, the root of the file
//! system, a home, and in a source tree (.git or CMakeLists.txt stands in it or above it) a folder
//! that holds files but none of `own`.
void CheckOutputFolder(const std::filesystem::path& folder, std::initializer_list<const char*> own);

}  // namespace retable
