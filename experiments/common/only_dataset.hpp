#pragma once
//! @file
//! Protocols that measure one data set, which they make themselves.

#include <string>
#include <vector>

#include "harness/protocol.hpp"

namespace retable::experiments {

//! The data set of that name and origin. @throws harness::UnknownName where `asked` is another
inline std::vector<harness::DatasetInfo> ResolveOnly(const std::string& name,
                                                     const std::string& origin,
                                                     const std::string& asked) {
  if (asked != name) {
    throw harness::UnknownName("\"" + asked + "\": this protocol measures \"" + name + "\"", asked,
                               {name});
  }
  harness::DatasetInfo info;
  info.name = name;
  info.present = true;
  info.origin = origin;
  return {info};
}

}  // namespace retable::experiments
