#pragma once
//! @file
//! Named parameters of a method, as an experiment's TOML gives them ("l" = 15, "rounds" = 24).
//! The type is a plain standard container on purpose: the harness hands over the same type without
//! knowing this library.

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>

namespace retable {

using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using Parameters = std::map<std::string, ParameterValue>;

//! The parameter as an integer. @throws std::invalid_argument when it is of another type.
std::int64_t IntegerParameter(const Parameters& parameters, const std::string& name,
                              std::int64_t fallback);
//! The same as an int of `least` or more. @throws std::invalid_argument as above, or out of range.
int IntParameter(const Parameters& parameters, const std::string& name, int fallback,
                 int least = 0);
//! The parameter as a double; an integer is widened. @throws std::invalid_argument as above.
double RealParameter(const Parameters& parameters, const std::string& name, double fallback);
//! The parameter as text. @throws std::invalid_argument as above.
std::string TextParameter(const Parameters& parameters, const std::string& name,
                          const std::string& fallback);
//! The parameter as a switch. @throws std::invalid_argument as above.
bool SwitchParameter(const Parameters& parameters, const std::string& name, bool fallback);

}  // namespace retable
