#pragma once
//! @file
//! `retable datasets list|fetch|verify|path|mirror`.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::datasets {

//! Runs one command; `args` start with the verb. Results go to `out`, progress and errors to `err`.
//! @return 0 done; 1 wrong usage; 2 some data set failed or is not to be had
int DatasetsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

//! Asks on `err` whether to fetch data sets of so many megabytes, and fetches them on "y" or "yes"
//! from `in`. "No" is remembered in the cache, so that each data set is offered once.
//! @return whether any was fetched
bool OfferFetch(const std::vector<std::string>& names, int megabytes, std::istream& in,
                std::ostream& err);

//! Whether somebody can be asked: a terminal, no CI, a network that is not switched off.
bool MayAsk();

//! The help text.
std::string DatasetsHelp();

}  // namespace retable::datasets
