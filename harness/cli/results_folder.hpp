#pragma once
//! @file
//! Which folders the verbs of the harness read results from and write them to.

#include <string>

namespace retable::harness {

//! For whoever reads or writes. @throws OutputRefused (base/files/output_paths.hpp)
void CheckResultsFolder(const std::string& folder);

//! For whoever writes: as above, and refuses a folder of results without their cells, such as those
//! of results/recorded/: what it holds cannot be made again. @throws StoreError
void CheckFolderToWrite(const std::string& folder);

//! Copies a results folder to one that is new or empty, to be written to there.
//! @throws OutputRefused, StoreError
void CopyResults(const std::string& from, const std::string& to);

}  // namespace retable::harness
