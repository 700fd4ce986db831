#include "harness/protocol.hpp"

namespace retable::harness {

std::vector<std::unique_ptr<Protocol>>& Protocols() {
  static std::vector<std::unique_ptr<Protocol>> protocols;
  return protocols;
}

Protocol& FindProtocol(const std::string& name) {
  std::vector<std::string> names;
  Protocol* found = nullptr;
  for (const auto& protocol : Protocols()) {
    names.push_back(protocol->name());
    if (names.back() != name) continue;
    if (found != nullptr) throw std::logic_error("two protocols register as " + name);
    found = protocol.get();
  }
  if (found != nullptr) return *found;
  throw UnknownName("unknown protocol \"" + name + "\"", name, names);
}

}  // namespace retable::harness
