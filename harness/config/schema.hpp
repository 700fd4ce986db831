#pragma once
//! @file
//! The declared table of every field an experiment's TOML may have: one source for validation,
//! defaults, `retable list --fields` and docs/configuration.md.

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "harness/config/toml_tree.hpp"

namespace retable::harness {

enum class SchemaKind {
  kText,
  kInteger,
  kReal,
  kSwitch,
  kTextArray,
  kTable,
  kTableArray,
  kOpenTable
};

//! One field. `path` uses "[]" for the members of an array of tables: "claim[].check".
struct SchemaField {
  std::string path;
  SchemaKind kind;
  bool required = false;
  std::string fallback;                   //!< shown in the docs; applied where the field is read
  std::string help;                       //!< one line, with unit
  std::vector<std::string> allowed = {};  //!< texts allowed; empty: any
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

//! Every field of an experiment file.
const std::vector<SchemaField>& ExperimentSchema();

//! Every complaint about a tree: unknown keys (nearest spelling offered), wrong types, values out
//! of range, missing fields. Each line starts with file:line:column.
std::vector<std::string> CheckSchema(const TomlTree& root);

//! The table as Markdown, for the docs.
void WriteSchemaTable(std::ostream& out);

}  // namespace retable::harness
