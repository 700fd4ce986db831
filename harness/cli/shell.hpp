#pragma once
//! @file
//! Words for a POSIX shell: for commands that we start and for those that we print to be typed.

#include <sys/wait.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <string>
#include <vector>

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

//! The words of a command, without their quotes: whitespace in single or double quotes does not
//! separate. Nothing else of a shell's language is known. O(length).
inline std::vector<std::string> ShellWords(const std::string& command) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : command) {
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote == 0 ? c == '"' || c == '\'' : c == quote) {
      quote = quote == 0 ? c : 0;
    } else {
      words.back() += c;
    }
  }
  return words;
}

//! What a command said.
struct ShellAnswer {
  int status = -1;   //!< its exit status; -1 where it did not start or was killed
  std::string text;  //!< what it printed; its standard error is ours
};

//! Runs a command and waits for it.
inline ShellAnswer AskShell(const std::string& command) {
  ShellAnswer answer;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return answer;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    answer.text.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

//! What a command prints, without the line ends behind it; nothing where it fails.
inline std::string PrintedBy(const std::string& command) {
  auto [status, text] = AskShell(command);
  if (status != 0) return "";
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace retable::harness
