#include "harness/record/paths.hpp"

#include <algorithm>

namespace retable::harness {
namespace {

constexpr std::string_view kEnds = " =`\"',;()[]{}<>|\\\n\r\t";

std::string_view WordAt(std::string_view text, std::size_t at) {
  return text.substr(at, std::min(text.find_first_of(kEnds, at), text.size()) - at);
}

// Whether a word may begin here: not within another, as in "GB/s" or in an address.
bool Begins(std::string_view text, std::size_t at) {
  return at == 0 || kEnds.find(text[at - 1]) != kEnds.npos;
}

bool OfTheSystem(std::string_view path) {
  for (const std::string_view folder :
       {"/proc/", "/sys/", "/dev/", "/usr/", "/etc/", "/lib/", "/lib64/", "/bin/"}) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

// What stands for a path of this machine; the word itself where it is none.
std::string_view Instead(std::string_view word) {
  if (word.starts_with("file://")) return "the mirror";
  const bool of_a_folder = word.starts_with('/') || word.starts_with('.');
  if (of_a_folder && word.ends_with("/retable")) return "build/retable";
  const auto slash = word.rfind('/', word.size() - 2);
  const bool path = word.starts_with('/') && slash != 0 && slash != word.npos &&
                    !word.starts_with("//") && !OfTheSystem(word);
  return path ? word.substr(slash + 1) : word;
}

}  // namespace

std::string WithoutPaths(std::string_view text) {
  constexpr std::string_view kOut = " --out ";
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kOut)) {
      at += kOut.size() + WordAt(text, at + kOut.size()).size();
      continue;
    }
    const std::string_view word = Begins(text, at) ? WordAt(text, at) : std::string_view();
    if (word.size() < 2) {
      result += text[at++];
      continue;
    }
    result += Instead(word);
    at += word.size();
  }
  return result;
}

}  // namespace retable::harness
