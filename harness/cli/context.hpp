#pragma once
//! @file
//! What every verb of the program is given, and what it returns.

#include <functional>
#include <string>
#include <vector>

namespace retable::harness {

enum ExitCode {
  kOk = 0,
  kUsage = 1,
  kCellFailed = 2,
  kWrongResult = 3,
  kVerdictFailed = 4,
  kSlower = 5,
  kNothingToRun = 6,
  kInterrupted = 130,
};

//! What the program knows about itself and its surroundings.
struct Context {
  std::string root;          //!< folder that holds experiments/, plots/ and results/recorded/
  std::string program;       //!< path of this program
  std::string invoked;       //!< its name as typed, for usage lines
  std::string command_line;  //!< all that was typed, for run.json
  bool terminal = false;     //!< progress may overwrite its line
  //! Sentences for the top of the report (no network, no GPU); may be empty.
  std::function<std::vector<std::string>()> banner;
  //! Asks at a terminal whether to fetch these data sets, of so many megabytes, and fetches them.
  //! @return whether any was fetched; may be empty
  std::function<bool(const std::vector<std::string>& names, int megabytes)> offer_data;
};

}  // namespace retable::harness
