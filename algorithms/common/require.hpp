#pragma once
//! @file
//! Checks of what a caller or a file gives.

#include <stdexcept>
#include <string>
#include <type_traits>

namespace retable {

//! @throws std::invalid_argument unless it holds, with the parts one after the other as its text.
template <class... Parts>
void Require(bool holds, const Parts&... parts) {
  if (holds) return;
  std::string text;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (append(parts), ...);
  throw std::invalid_argument(text);
}

}  // namespace retable
