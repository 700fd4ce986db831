#pragma once
//! @file
//! Which folders the verbs of the harness read results from and write them to.

#include <iosfwd>
#include <string>

namespace retable::harness {

//! For whoever reads or writes. @throws OutputRefused (base/files/output_paths.hpp)
void CheckResultsFolder(const std::string& folder);

//! For whoever writes: as above, and refuses a folder of results without their cells, such as those
//! of results/recorded/: what it holds cannot be made again. @throws StoreError
void CheckFolderToWrite(const std::string& folder);

//! For whoever judges. @throws StoreError where there are tables, and neither cells nor an archive
void CheckHasCells(const std::string& folder);

//! For whoever makes another folder of it. @throws StoreError where there is none
void CheckIsThere(const std::string& folder);

//! ReadableRecordings (harness/record/record.hpp), or, where they cannot be made (a damaged
//! archive, a folder that nothing can be written to), results/recorded with the reason on `err`.
std::string RecordingsToShow(const std::string& root, std::ostream& err);

//! Copies a results folder to one that is new or empty, to be written to there.
//! @throws OutputRefused, StoreError
void CopyResults(const std::string& from, const std::string& to);

}  // namespace retable::harness
