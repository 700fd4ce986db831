#pragma once
//! @file
//! A recording: results/recorded/NAME holds the tables of a run in the papers' layouts, its
//! verdicts and claims, and in cells.tar.zst all that they are made of: every cell with its
//! samples (in seven significant digits), the environment of each run, the declarations.
//!
//! They are made again from the cells and compared, so that a committed number without its cells is
//! found. The other tables of a results folder (tidy.csv, meta.json, ...), which are large and for
//! programs, are in the archive too: whoever needs them reads recordings in the folder of
//! ReadableRecordings. What no recording holds: a cell of a changed source tree, of
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
  int missing = 0;   //!< planned and not measured yet
  int left_out = 0;  //!< stored, but planned by no table of the folder
  std::vector<std::string> machines;
  std::size_t archive_bytes = 0;
};

//! Whether a folder holds an archive of its cells.
bool HasArchive(const std::string& folder);

//! Path of the recording of this name. @throws StoreError naming the recordings that there are,
//! where it is none, and where it has no archive
std::string FindRecording(const std::string& root, const std::string& name);

//! The folder in which the recordings of `root` are read: each as it is committed, with the tables
//! that its archive holds. They are unpacked once, into root/build/recorded, and again when the
//! recording or an experiment has changed. A recording without an archive is a link.
//! @throws StoreError, FileError
std::string ReadableRecordings(const std::string& root);

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
//! @param rewrite writes them into the folder and its archive @throws StoreError
RecordingCheck CheckRecording(const std::string& folder, const std::string& root, bool rewrite);

//! Unpacks an archive into `out`, to measure there what it lacks.
//! @param here the environment of this run @param cpu, cuda the rows that it measures
//! @throws StoreError where the archive's are of another commit, compiler, card or processor
void ResumeFrom(const std::string& archive, const std::string& out, const nlohmann::json& here,
                bool cpu, bool cuda);

}  // namespace retable::harness
