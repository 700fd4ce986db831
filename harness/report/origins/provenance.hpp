#pragma once
//! @file
//! Where the cells of an artifact come from: profile, dates, commit and machine of each group.
//!
//! A results folder is filled by many commands, and environment.json and run.json tell of the last
//! one. So each run leaves what it was in runs/<environment>.json, named by the hash that every
//! cell carries; the artifact's meta file gathers them under "provenance", and a recording keeps
//! that.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retable::harness {

//! Cells of equal profile, commit and machine.
struct Origin {
  std::string profile;
  std::string started, finished;  //!< when the first and the last cell was begun, UTC
  std::string commit;             //!< 12 digits, "+changes" where the tree differed; may be unknown
  std::string machine;  //!< "Intel Xeon, 16 threads, NVIDIA H200, 4810 GB/s"; may be unknown
  int cells = 0;

  //! "profile paper, 2026-11-20 to 2026-11-22, commit 42754d0, Intel Xeon, 16 cores".
  std::string Text() const;
};

//! The machine of an environment.json in a few words.
std::string MachineText(const nlohmann::json& environment);

//! Leaves what a run is in the folder. @param environment its environment.json, as written
void WriteOrigin(const std::string& folder, const std::string& profile,
                 const std::string& environment);

//! The hash that cells carry of an environment.json.
std::string EnvironmentHash(const std::string& environment);

//! What a run left: profile, commit and machine of the cells that carry this hash. Folders of older
//! programs know of their last run alone, and not its profile.
Origin OriginOfRun(const std::string& folder, const std::string& hash);

}  // namespace retable::harness
