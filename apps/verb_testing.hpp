#pragma once
//! @file
//! For tests that run a family's verb within their own process.

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cli/verbs.hpp"

namespace retable {

//! What the registered verb returns for the words after its name.
//! @throws std::out_of_range where there is no such verb
inline int RunVerbNamed(const std::string& name, const std::vector<std::string>& words,
                        std::ostream& out, std::ostream& err) {
  for (const auto& verb : harness::Verbs()) {
    if (verb.name == name) return verb.run(words, out, err);
  }
  throw std::out_of_range("no verb \"" + name + "\"");
}

}  // namespace retable
