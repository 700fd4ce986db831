#pragma once
//! @file
//! What only the network brings, said once before a run: which data sets are not here, how large
//! they are, and how many published cells wait for them.

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/context.hpp"
#include "harness/plan/plan.hpp"

namespace retable::harness {

struct MissingData {
  std::string name;   //!< what `retable datasets fetch` is given
  int megabytes = 0;  //!< 0: not known
  std::map<std::string, int>
      published;  //!< number of published cells that name the data, by artifact
};

//! In the order of the plans. A group of data sets counts all published cells of its artifact: each
//! of them is an average over the members. @throws CsvError for a .paper.csv that cannot be read
std::vector<MissingData> FindMissingData(const std::vector<Plan>& plans);

//! Says on `err` in one line what is missing and how it is fetched, and lets the program offer it.
//! Nothing is said where nothing is missing.
//! @return whether data came: the plans must then be made again
bool OfferMissingData(const Context& context, const std::vector<Plan>& plans, std::ostream& err);

}  // namespace retable::harness
