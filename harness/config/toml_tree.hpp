#pragma once
//! @file
//! A configuration tree with a source position on every value.
//!
//! TOML is read once into this plain tree; the heavy parser's header stays in config/toml_tree.cpp.
//! Positions travel with the values, so that a check made much later (an unknown algorithm, an axis
//! a protocol does not have) can still name file, line and column.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/protocol.hpp"

namespace retable::harness {

//! Where a value stands. Line and column count from 1; 0 means "not from a file" (built in, --set).
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
  //! "experiments/quantiles/published/table2.toml:12:5", or the file alone.
  std::string text() const;
};

//! One or more configuration errors, each a line "file:line:column: what, and what to do".
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<std::string> lines);
  ConfigError(const Position& where, const std::string& what);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

class TomlTree;
struct TomlMember;
using TomlArray = std::vector<TomlTree>;
//! Keys in file order.
using TomlTable = std::vector<TomlMember>;

//! A value of the tree.
class TomlTree {
 public:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, TomlArray, TomlTable> data;
  Position where;

  bool empty() const { return std::holds_alternative<std::monostate>(data); }
  bool is_table() const { return std::holds_alternative<TomlTable>(data); }
  bool is_array() const { return std::holds_alternative<TomlArray>(data); }
  const TomlTable& table() const { return std::get<TomlTable>(data); }
  TomlTable& table() { return std::get<TomlTable>(data); }
  const TomlArray& array() const { return std::get<TomlArray>(data); }
  TomlArray& array() { return std::get<TomlArray>(data); }
  //! The member, or nullptr. Only for tables.
  const TomlTree* find(const std::string& key) const;
  TomlTree* find(const std::string& key);
  //! The parts of a member; none where there is no such member.
  const TomlTable& table(const std::string& key) const;
  const TomlArray& array(const std::string& key) const;
  //! A number of either kind.
  double real() const;
  //! The scalar as a Value. @throws ConfigError when it is a table or an array.
  Value scalar() const;
  //! "a string", "an integer", ... for messages.
  std::string kind() const;
  //! The value written as TOML would write it (for messages, labels and the resolved dump).
  std::string text() const;
};

//! A key and its value. No pair, which may not be made of what is not complete.
struct TomlMember {
  std::string key;
  TomlTree value;
};

//! A scalar as text: 15, 0.5, true, name.
std::string ValueText(const Value& value);

//! Reads a TOML file. @throws ConfigError with position on a syntax error or an unreadable file.
TomlTree ReadToml(const std::string& path, const std::string& shown_name);
//! Reads TOML from text; `name` stands for the file in messages.
TomlTree ParseToml(const std::string& text, const std::string& name);

}  // namespace retable::harness
