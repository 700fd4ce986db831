#include "harness/protocol.hpp"

namespace retable::harness {

std::vector<std::unique_ptr<Protocol>>& Protocols() {
  static std::vector<std::unique_ptr<Protocol>> protocols;
  return protocols;
}

Protocol& FindProtocol(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& protocol : Protocols()) {
    names.push_back(protocol->name());
    if (names.back() == name) return *protocol;
  }
  throw UnknownName("unknown protocol \"" + name + "\"", name, names);
}

ProtocolRegistration::ProtocolRegistration(std::unique_ptr<Protocol> protocol, const char* file) {
  static std::map<std::string, std::string> files;  // by the protocol's name
  const auto [other, fresh] = files.emplace(protocol->name(), file);
  if (!fresh) {
    throw std::logic_error(other->second + " and " + file + " both register a protocol \"" +
                           other->first + "\": give one of them another name");
  }
  Protocols().push_back(std::move(protocol));
}

}  // namespace retable::harness
