#include "algorithms/common/parameters.hpp"

#include <limits>

#include "algorithms/common/require.hpp"

namespace retable {
namespace {

template <class T>
T Get(const Parameters& parameters, const std::string& name, T fallback, const char* kind) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return fallback;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw std::invalid_argument("parameter \"" + name + "\" must be " + kind);
}

}  // namespace

std::int64_t IntegerParameter(const Parameters& parameters, const std::string& name,
                              std::int64_t fallback) {
  return Get<std::int64_t>(parameters, name, fallback, "an integer");
}

int IntParameter(const Parameters& parameters, const std::string& name, int fallback, int least) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const std::int64_t value = IntegerParameter(parameters, name, fallback);
  Require(value >= least && value <= kMost, "parameter \"", name, "\" must be an integer from ",
          least, " to ", kMost, ", not ", value);
  return static_cast<int>(value);
}

double RealParameter(const Parameters& parameters, const std::string& name, double fallback) {
  const auto found = parameters.find(name);
  if (found != parameters.end()) {
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
      return static_cast<double>(*whole);
    }
  }
  return Get<double>(parameters, name, fallback, "a number");
}

std::string TextParameter(const Parameters& parameters, const std::string& name,
                          const std::string& fallback) {
  return Get<std::string>(parameters, name, fallback, "a text");
}

bool SwitchParameter(const Parameters& parameters, const std::string& name, bool fallback) {
  return Get<bool>(parameters, name, fallback, "true or false");
}

}  // namespace retable
