#include "harness/config/toml_tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/atomic_file.hpp"

namespace retable::harness {
namespace {

Position At(const toml::source_region& source, const std::string& name) {
  return {name, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

// An experiment's deepest name has three.
constexpr int kMostParts = 64;

TomlTree Convert(const toml::node& node, const std::string& name);

TomlTable ConvertTable(const toml::table& table, const std::string& name) {
  TomlTable members;
  for (const auto& [key, value] : table) {
    TomlTree child = Convert(value, name);
    // A wrong key is shown where the key stands; a wrong value is on the same line.
    child.where = At(key.source(), name);
    members.push_back({std::string(key.str()), std::move(child)});
  }
  std::ranges::stable_sort(members, {}, [](const auto& member) {
    return std::pair(member.value.where.line, member.value.where.column);
  });
  return members;
}

TomlTree Convert(const toml::node& node, const std::string& name) {
  TomlTree result;
  result.where = At(node.source(), name);
  if (const auto* table = node.as_table()) {
    result.data = ConvertTable(*table, name);
  } else if (const auto* array = node.as_array()) {
    TomlArray items;
    for (const auto& item : *array) items.push_back(Convert(item, name));
    result.data = std::move(items);
  } else if (const auto* text = node.as_string()) {
    result.data = text->get();
  } else if (const auto* whole = node.as_integer()) {
    result.data = whole->get();
  } else if (const auto* real = node.as_floating_point()) {
    if (!std::isfinite(real->get())) throw ConfigError(result.where, "nan and inf are no values");
    result.data = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    result.data = flag->get();
  } else {
    throw ConfigError(result.where, "dates and times are not used in an experiment");
  }
  return result;
}

// Refuses a character outside of quotes and comments; counts the parts of the dotted name there.
void RefuseBare(char c, const Position& where, int& parts) {
  if ((c & 0x80) != 0) throw ConfigError(where, "a letter beyond ASCII outside of quotes");
  if (std::string_view("\n,=[]{}").find(c) != std::string_view::npos) parts = 0;
  if (c == '.' && ++parts > kMostParts) throw ConfigError(where, "a name of more than 64 parts");
}

// Refuses a letter beyond ASCII as the first after a backslash, line ends and blanks aside.
void RefuseAfterBackslash(std::string_view rest, const Position& where) {
  const std::size_t next = rest.find_first_not_of(" \t\r\n");
  if (next == rest.npos || (rest[next] & 0x80) == 0) return;
  throw ConfigError(where,
                    "a letter beyond ASCII right after a backslash: write it as \\u and four "
                    "hexadecimal digits, or leave the backslash out");
}

// toml++ 3.3 marks as unreachable what a letter beyond ASCII reaches outside of quotes and
// comments, where no version of TOML allows one, and after a backslash, where TOML allows one on
// the next line. Both are refused before. Malformed text may be read otherwise here only behind the
// place at which toml++ gives up. And it takes a stack frame for each of a name's parts.
void RefuseWhatTheParserCannotBear(std::string_view text, const std::string& name) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  int line = 1, column = 0;
  std::string end;  // what ends the string or comment here; empty: neither
  int parts = 0;    // of the dotted name here
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    ++column;
    if (end.empty()) RefuseBare(c, {name, line, column}, parts);
    if (end[0] == '"' && c == '\\') RefuseAfterBackslash(text.substr(at + 1), {name, line, column});
    if (c == '\n') {
      ++line;
      column = 0;
      if (end.size() == 1) end.clear();  // a comment's end, or a string that should not go on
    } else if (end[0] == '"' && c == '\\' && text.substr(at + 1, 1) != "\n") {
      ++at;  // an escaped quote ends nothing
    } else if (!end.empty() && text.substr(at, end.size()) == end) {
      at += end.size() - 1;
      end.clear();
    } else if (end.empty() && c == '#') {
      end = "\n";
    } else if (end.empty() && (c == '"' || c == '\'')) {
      end.assign(text.substr(at, 3) == std::string(3, c) ? 3 : 1, c);
      at += end.size() - 1;
    }
  }
}

}  // namespace

std::string Position::text() const {
  if (line == 0) return file;
  return fmt::format("{}:{}:{}", file, line, column);
}

ConfigError::ConfigError(std::vector<std::string> lines)
    : std::runtime_error(fmt::format("{}", fmt::join(lines, "\n"))), lines_(std::move(lines)) {}

ConfigError::ConfigError(const Position& where, const std::string& what)
    : ConfigError(std::vector<std::string>{where.text() + ": " + what}) {}

const TomlTree* TomlTree::find(const std::string& key) const {
  for (const auto& [name, value] : table()) {
    if (name == key) return &value;
  }
  return nullptr;
}

TomlTree* TomlTree::find(const std::string& key) {
  return const_cast<TomlTree*>(std::as_const(*this).find(key));
}

const TomlTable& TomlTree::table(const std::string& key) const {
  static const TomlTable kNone;
  const TomlTree* member = find(key);
  return member ? member->table() : kNone;
}

const TomlArray& TomlTree::array(const std::string& key) const {
  static const TomlArray kNone;
  const TomlTree* member = find(key);
  return member ? member->array() : kNone;
}

double TomlTree::real() const {
  const auto* whole = std::get_if<std::int64_t>(&data);
  return whole ? static_cast<double>(*whole) : std::get<double>(data);
}

Value TomlTree::scalar() const {
  if (const auto* flag = std::get_if<bool>(&data)) return *flag;
  if (const auto* whole = std::get_if<std::int64_t>(&data)) return *whole;
  if (const auto* real = std::get_if<double>(&data)) return *real;
  if (const auto* text_value = std::get_if<std::string>(&data)) return *text_value;
  throw ConfigError(where, "expected a single value, found " + kind());
}

std::string TomlTree::kind() const {
  static const char* const names[] = {"nothing", "true/false", "an integer", "a number",
                                      "a text",  "an array",   "a table"};
  return names[data.index()];
}

std::string TomlTree::text() const {
  if (is_array()) {
    std::string items;
    for (const auto& item : array()) items += (items.empty() ? "" : ", ") + item.text();
    return "[" + items + "]";
  }
  if (is_table()) {
    std::string items;
    for (const auto& [key, value] : table()) {
      items += (items.empty() ? "" : ", ") + key + " = " + value.text();
    }
    return "{" + items + "}";
  }
  if (empty()) return "";
  if (const auto* quoted = std::get_if<std::string>(&data)) return "\"" + *quoted + "\"";
  return ValueText(scalar());
}

std::string ValueText(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return v;
        } else if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

TomlTree ParseToml(const std::string& text, const std::string& name) {
  RefuseWhatTheParserCannotBear(text, name);
  try {
    // Malformed text ends here, before letters beyond ASCII meet toml++ in a place of its guessing.
    std::string folded;
    for (const char c : text) {
      const bool ascii = (c & 0x80) == 0;
      folded += ascii ? c : static_cast<char>('a' + (c >> 4 & 15));
      if (!ascii) folded += static_cast<char>('a' + (c & 15));  // two letters tell all bytes apart
    }
    if (folded != text) static_cast<void>(toml::parse(folded, name));
    const toml::table parsed = toml::parse(text, name);
    TomlTree root;
    root.where = {name, 1, 1};
    root.data = ConvertTable(parsed, name);
    return root;
  } catch (const toml::parse_error& error) {
    throw ConfigError(At(error.source(), name), std::string(error.description()));
  }
}

TomlTree ReadToml(const std::string& path, const std::string& shown_name) {
  std::string text;
  try {
    text = ReadWhole(path);
  } catch (const std::runtime_error&) {
    throw ConfigError({shown_name, 0, 0}, "cannot be read; check that it is a file and exists");
  }
  return ParseToml(text, shown_name);
}

}  // namespace retable::harness
