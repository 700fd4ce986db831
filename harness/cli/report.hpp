#pragma once
//! @file
//! Drawing a report, for the verbs that end with one.

#include <iosfwd>
#include <string>

#include "harness/cli/context.hpp"

namespace retable::harness {

//! What draws them: the Python of RETABLE_PYTHON, or the distribution's, which has its matplotlib.
std::string PythonProgram();

//! Draws the figures and the page of a folder whose tables are written.
//! @param page gets the path of the page, where it was drawn
//! @return an exit code; `err` says what went wrong
int DrawReport(const Context& context, const std::string& folder, std::string& page,
               std::ostream& err);

}  // namespace retable::harness
