#pragma once
//! @file
//! An artifact: one table or figure as a results folder holds it.
//!
//! <family>/<artifact>.meta.json keeps the resolved experiment with the keys of its cells, so that
//! tables, verdicts, claims and figures can be rebuilt from the folder alone: on another machine,
//! after the TOML has changed, without the data.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/roofline/ceilings.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {

//! A cell of an artifact: what was planned, and its record when it was measured.
struct ArtifactCell {
  CellConfig config;
  std::string key;
  std::string not_run;  //!< reason known at plan time, or empty
  std::string group;    //!< as PlannedCell
  std::optional<CellRecord> record;
  std::string problem;  //!< why its file is damaged, or empty

  //! The record's status, "not_run" or "missing".
  std::string status() const;
  std::string reason() const;
  bool ok() const { return record && record->outcome.status == "ok"; }
  //! Ended without an answer, or with a wrong one.
  bool broken() const;
};

struct Artifact {
  std::string id, family, artifact;
  std::string title, question, citation, where, profile;
  TableSpec table;
  std::vector<ClaimSpec> claims;
  std::vector<std::string> labels;  //!< row order
  std::vector<std::string> axes;
  std::int64_t coverage_total = 0;
  std::string coverage_unit;
  std::vector<ArtifactCell> cells;
  std::map<std::string, std::string>
      dataset_notes;                   //!< why one is absent, or what it stands in for
  std::vector<ProfileNames> profiles;  //!< empty in folders of older programs
  std::vector<Origin> provenance;      //!< as its meta file has it; OriginsOf tells it from cells
  std::vector<Ceiling> ceilings;       //!< the run's machine; empty when not measured
  std::string folder;                  //!< the results folder
  std::string repeat;                  //!< the command that measures it
  std::string figure_metric;           //!< drawn by its figure; may be empty
  std::string paper_file;              //!< published cells; empty when there are none

  //! Path of a file of this artifact: Path("tidy.csv").
  std::string Path(const std::string& suffix) const;
};

//! Name of the archive that a recording's cells are packed into (harness/record/record.hpp).
inline constexpr const char* kArchive = "cells.tar.zst";

//! Whether a folder holds results without a folder of cells, as results/recorded/ does: nothing is
//! measured into it.
bool HasNoCells(const std::string& folder);

//! Writes the meta file (and a copy of the published cells) of a plan.
//! `coverage` is a sentence such as "121 of 14072 columns".
void WriteMeta(const Plan& plan, const std::string& profile, const std::string& folder);

//! Adds what is only known after measuring: statuses, metrics, coverage.
void UpdateMeta(const Artifact& artifact, const std::string& coverage);

//! Writes what an artifact is declared as by now, its layout, claims and published cells, over what
//! it was measured with; the figure too, where its experiment is given.
void UpdateDeclared(const Artifact& artifact, const Experiment* today);

//! Groups of the artifact's measured cells, the oldest first.
std::vector<Origin> OriginsOf(const Artifact& artifact);

//! All artifacts of a results folder, with their records.
//! @param wanted no others are read; empty: all, of which there must be one. @throws StoreError
std::vector<Artifact> LoadArtifacts(const std::string& folder,
                                    const std::function<bool(const std::string& id)>& wanted = {});

}  // namespace retable::harness
