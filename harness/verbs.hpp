#pragma once
//! @file
//! Commands of the program that a family brings along (`retable forest ...`). A build without the
//! family has no such command, and the program names none of them.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace retable::harness {

struct Verb {
  std::string name;     //!< "forest"
  std::string summary;  //!< one line for --help
  //! Takes the words after the name; returns the exit status.
  std::function<int(const std::vector<std::string>&, std::ostream&, std::ostream&)> run;
};

//! All registered verbs.
inline std::vector<Verb>& Verbs() {
  static std::vector<Verb> verbs;
  return verbs;
}

struct VerbRegistration {
  explicit VerbRegistration(Verb verb) { Verbs().push_back(std::move(verb)); }
};

}  // namespace retable::harness
