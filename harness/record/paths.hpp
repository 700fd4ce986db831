#pragma once
//! @file
//! Texts without the paths of the machine that they were written on.

#include <string>
#include <string_view>

namespace retable::harness {

//! JSON or CSV without what is of one machine alone: an absolute path becomes its last name (but
//! for those of the system: /proc, /usr), a file:// address "the mirror", the program
//! "build/retable"; " --out FOLDER" goes. O(size).
std::string WithoutPaths(std::string_view text);

}  // namespace retable::harness
