#pragma once
//! @file
//! Where the cells of an artifact come from: profile, dates, commit and machine of each group.
//!
//! A results folder is filled by many commands, and environment.json and run.json tell of the last
//! one. So each run leaves its environment in runs/<hash>.json, named by the hash that every cell
//! carries: machine, card, clocks, driver, processors, load, commit, profile. The artifact's meta
//! file gathers them under "provenance", and a recording keeps that.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

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
void WriteOrigin(const std::string& folder, const std::string& environment);

//! The hash that cells carry of an environment.json.
std::string EnvironmentHash(const std::string& environment);

//! The environment of the run whose cells carry this hash; null where the folder has none or
//! another in its place (folders of older programs).
nlohmann::json EnvironmentOfRun(const std::string& folder, const std::string& hash);

//! What cells that a table compares have in common: machine since it was started, processors,
//! commit, and for "cuda" the card. @return 12 digits; empty for null
std::string StretchOf(const nlohmann::json& environment, const std::string& device);

//! The stretches of a folder's cells and of this run. Each is found once.
class Stretches {
 public:
  //! @param here the environment of this run
  Stretches(std::string folder, const nlohmann::json& here)
      : folder_(std::move(folder)),
        here_{{"cpu", StretchOf(here, "cpu")}, {"cuda", StretchOf(here, "cuda")}} {}
  //! StretchOf the run whose cells carry this hash.
  const std::string& Of(const std::string& hash, const std::string& device);
  //! StretchOf this run.
  const std::string& Here(const std::string& device) const { return here_.at(device); }

 private:
  std::string folder_;
  std::map<std::string, std::string> here_;   // by device
  std::map<std::string, std::string> known_;  // by hash and device
};

//! The first card as a reader tells it from its like: "NVIDIA H200, card 1f2e3d4c"; may be empty.
std::string CardText(const nlohmann::json& environment);

//! "42754d0abcde", "+changes" after it where the tree differed when the program was built or when
//! it ran; empty where it is not known.
std::string CommitText(const nlohmann::json& environment);

//! What a run left: profile, commit and machine of the cells that carry this hash. Folders of older
//! programs know of their last run alone, and not its profile.
Origin OriginOfRun(const std::string& folder, const std::string& hash);

}  // namespace retable::harness
