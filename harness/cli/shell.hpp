#pragma once
//! @file
//! Words for a POSIX shell: for commands that we start and for those that we print to be typed.

#include <string>

namespace retable::harness {

//! `text` as one word of a shell: in single quotes unless it is made of characters that no shell
//! touches. O(length).
inline std::string ShellWord(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace retable::harness
