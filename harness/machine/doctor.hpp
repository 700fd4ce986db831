#pragma once
//! @file
//! `retable doctor`: what this machine is, what it can do, what is missing and how to get it.
//!
//! First the facts (machine, GPU, build, libraries, programs), then the findings: everything that
//! will keep rows from running or make times less sure, each with the command that mends it. With
//! --measure also the ceilings (harness/roofline/ceilings.hpp), in a few seconds.

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/machine/activity.hpp"
#include "harness/machine/build_info.hpp"
#include "harness/machine/device.hpp"
#include "harness/machine/host_info.hpp"

namespace retable::harness {

//! Prints all of it. @return exit code: 0, also when something is missing (nothing has failed)
//! @param ceilings_path where the measured ceilings are also written as JSON; empty: nowhere
//! @throws std::runtime_error when that file cannot be written
int Doctor(std::ostream& out, bool measure, const std::string& ceilings_path = "");

//! A program or module that the project uses when it is there.
struct Program {
  std::string name;  //!< "matplotlib of /usr/bin/python3"
  bool found = false;
  std::string without;  //!< what does not work without it
  std::string remedy;   //!< the command that installs it
};

//! Looks for git, and for the report's modules in the Python that draws it.
std::vector<Program> FindPrograms();

//! Something to know or to mend.
struct Finding {
  std::string what;
  std::string remedy;  //!< a command or an advice; may be empty
};

//! What in these facts keeps rows from running or makes times unsure. Pure.
std::vector<Finding> Diagnose(const HostInfo& machine, const Activity& activity,
                              const BuildInfo& build, const CudaPlatform& cuda,
                              const std::vector<Program>& programs);

}  // namespace retable::harness
