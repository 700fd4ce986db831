#pragma once
//! @file
//! `retable advise`: which estimator of Shapley values the measurements recommend.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments {

//! @return 0 done; 1 wrong usage; 2 it failed
int AdviseMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments
