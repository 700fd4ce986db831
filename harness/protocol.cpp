#include "harness/protocol.hpp"

namespace retable::harness {

std::vector<std::unique_ptr<Protocol>>& Protocols() {
  static std::vector<std::unique_ptr<Protocol>> protocols;
  return protocols;
}

Protocol& FindProtocol(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& protocol : Protocols()) {
    if (protocol->name() == name) return *protocol;
    names.push_back(protocol->name());
  }
  throw UnknownName("unknown protocol \"" + name + "\"", name, names);
}

}  // namespace retable::harness
