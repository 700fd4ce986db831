#include "harness/plan/pooling.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

namespace retable::harness {
namespace {

using Names = std::set<std::string>;

// Adds the names that stand in braces.
void AddNames(const std::string& text, Names& names) {
  for (std::size_t open = text.find('{'); open != std::string::npos;) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return;
    names.insert(text.substr(open + 1, close - open - 1));
    open = text.find('{', close);
  }
}

// What tells the cells of an entry apart in a column whose row, pivot and `where` have these names.
Names NamedFor(const AlgorithmEntry& entry, Names names) {
  if (names.contains("label")) AddNames(entry.label, names);
  return names;
}

// What these names say of an entry. Values of two entries of which they say the same are mixed.
std::string Told(const AlgorithmEntry& entry, const Names& named) {
  std::string told;
  if (named.contains("label")) told += "|" + entry.label;
  if (named.contains("name") || named.contains("algorithm")) told += "|" + entry.name;
  if (named.contains("device")) told += "|" + entry.device;
  for (const auto& [name, values] : entry.parameters) {
    if (!named.contains(name)) continue;
    told += "|" + name;
    for (const Value& value : values) told += "=" + ValueText(value);
  }
  return told;
}

}  // namespace

void RefusePooling(const Experiment& experiment) {
  for (const ColumnSpec& column : experiment.table.columns) {
    if (column.metric.empty() && column.fact.empty()) continue;  // made of other columns
    Names names;
    AddNames(experiment.table.rows, names);
    AddNames(experiment.table.pivot, names);
    names.insert(experiment.table.over.begin(), experiment.table.over.end());
    for (const auto& [name, value] : column.where) names.insert(name);
    const auto refuse = [&](const Position& where, const std::string& what,
                            const std::string& name) {
      throw ConfigError(
          where, fmt::format("column \"{}\" of the table would mix {}: name {} in [table] rows or "
                             "pivot, or in the column's where; [table] over lists what is meant to "
                             "be mixed",
                             column.name, what, name));
    };
    std::set<std::string> told;
    for (const AlgorithmEntry& entry : experiment.algorithms) {
      const Names named = NamedFor(entry, names);
      const auto check = [&](const auto& varied, const Position& where) {
        for (const auto& [name, values] : varied) {
          if (values.size() < 2 || named.contains(name)) continue;
          refuse(where, fmt::format("the {} values of {}", values.size(), name), "it");
        }
      };
      check(experiment.axes, {experiment.file, 0, 0});
      check(entry.parameters, entry.where);
      if (!told.insert(Told(entry, named)).second) {
        refuse(entry.where, "this method with another", "what tells them apart");
      }
    }
  }
}

}  // namespace retable::harness
