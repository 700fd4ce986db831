#pragma once
//! @file
//! A recording: results/recorded/NAME holds the tables of a run, and in cells.tar.zst all that they
//! are made of: every cell with its samples, the environment of each run, the declarations.
//!
//! Tables, verdicts and claims are made again from the archive and compared, so that a committed
//! number without its cells is found. What no recording holds: a cell of a changed source tree, of
//! a second commit, without its environment, or damaged.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/report/results.hpp"

namespace retable::harness {

//! What stands in a recording.
struct RecordingFacts {
  std::string folder, commit;
  int cells = 0;
  int missing = 0;  //!< planned and not measured yet
  std::vector<std::string> machines;
  std::size_t archive_bytes = 0;
};

//! Whether a folder holds an archive of its cells.
bool HasArchive(const std::string& folder);

//! Path of the recording of this name. @throws StoreError naming the recordings that there are,
//! where it is none, and where it has no archive
std::string FindRecording(const std::string& root, const std::string& name);

//! Packs the results of `from` into root/results/recorded/NAME. Equal results give equal bytes.
//! @param replace writes over a recording of that name
//! @throws StoreError naming what cannot be recorded, and the remedy
RecordingFacts RecordResults(const std::string& from, const std::string& root,
                             const std::string& name, bool replace);

//! Unpacks an archive into a folder, but for files that are there.
//! @param archive a file, or a folder that holds one
//! @param wanted no others are unpacked; empty: all @throws StoreError
void Unpack(const std::string& archive, const std::string& folder,
            const std::function<bool(const std::string& path)>& wanted = {});

//! Makes of a copy of a recording a results folder with cells, as it was packed.
void UnpackInPlace(const std::string& folder);

//! A recording against its archive.
struct RecordingCheck {
  Scoreboard board;
  std::vector<std::string> differences;  //!< files that the archive gives otherwise, and why
};

//! Makes tables, verdicts and claims from the archive, by the experiments of `root`.
//! @param rewrite writes them into the folder @throws StoreError
RecordingCheck CheckRecording(const std::string& folder, const std::string& root, bool rewrite);

//! Unpacks an archive into `out`, to measure there what it lacks.
//! @param here the environment of this run @param cpu, cuda the rows that it measures
//! @throws StoreError where the archive's are of another commit, compiler, card or processor
void ResumeFrom(const std::string& archive, const std::string& out, const nlohmann::json& here,
                bool cpu, bool cuda);

}  // namespace retable::harness
