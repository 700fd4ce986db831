#pragma once
//! @file
//! Explains a missing cell and names the command that fills it.
//!
//! A claim or a published cell may ask for a row that a run does not have: another profile has it,
//! a synthetic data set replaced its data, or no profile has it and its name is misspelt. To tell
//! these apart a run keeps, with each artifact, the names that every profile of the experiment has.

#include <string>
#include <utility>
#include <vector>

#include "harness/report/artifact.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {

//! The names of an experiment that was loaded with `profile`. @param resolved as in
//! VisitNominalCells @throws ConfigError like MakePlan
ProfileNames NamesOf(const Experiment& experiment, const std::string& profile,
                     const Devices& devices, bool resolved = false);

//! @param profiles all of an experiment, resolved
//! @throws ConfigError for a claim whose check asks for a row or column that none has, or for none
void RefuseUnknownNames(const std::vector<ClaimSpec>& claims,
                        const std::vector<ProfileNames>& profiles);

//! Says why cells of one artifact's table have no value. Keeps references.
class MissingCells {
 public:
  MissingCells(const Artifact& artifact, const Table& table,
               const std::vector<PublishedCell>& published)
      : artifact_(artifact), table_(table), published_(published) {}

  //! "needs rows of the paper profile: build/retable run shuffle/table3 --profile paper".
  std::string WhyCell(const std::string& row, const std::string& column) const;
  //! The same for a set of rows or columns that no name matches.
  std::string WhyPatterns(const std::vector<std::string>& patterns, bool rows) const;

 private:
  const ProfileNames* Names(const std::string& profile) const;
  std::string InProfile(const std::string& profile, const ProfileRow* row) const;
  std::string StandIn(const std::string& row) const;
  std::string Unknown(const std::string& row, const std::string& column) const;
  bool IsPublished(const std::string& row, const std::string& column) const;

  const Artifact& artifact_;
  const Table& table_;
  const std::vector<PublishedCell>& published_;
};

//! What a published cell that was not run needs ("a CUDA device", "data", "the paper profile",
//! "something else") by the reason it was given, and the data set to fetch, where it is one.
std::pair<std::string, std::string> NeedOf(const std::string& reason);

}  // namespace retable::harness
