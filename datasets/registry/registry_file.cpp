#include "datasets/registry/registry_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/text/ascii.hpp"
#include "datasets/registry/embedded.hpp"

namespace retable::datasets {
namespace {

[[noreturn]] void FailAt(const std::string& file, const toml::source_region& region,
                         std::string_view why) {
  throw std::invalid_argument(
      fmt::format("{}:{}:{}: {}", file, region.begin.line, region.begin.column, why));
}

//! Reads the fields of one table and knows which were asked for, so that others are errors.
class Fields {
 public:
  Fields(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  template <class T>
  void Read(const char* key, T& out) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<T>();
    if (!value) Fail(*node, std::string("\"") + key + "\" has the wrong type");
    out = *value;
  }
  void Read(const char* key, int& out) {
    std::int64_t wide = out;
    Read(key, wide);
    out = static_cast<int>(wide);
  }
  template <class T>
  void ReadList(const char* key, std::vector<T>& out) {
    known_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) Fail(*node, std::string("\"") + key + "\" must be a list");
    for (const toml::node& item : *node->as_array()) {
      const auto value = item.value<T>();
      if (!value) Fail(item, std::string("\"") + key + "\" has an item of the wrong type");
      out.push_back(*value);
    }
  }
  //! @throws for a key nobody read.
  void Finish() const {
    for (auto&& [key, node] : table_) {
      if (known_.count(std::string(key.str())) == 0) {
        std::string allowed;
        for (const std::string& name : known_) allowed += (allowed.empty() ? "" : ", ") + name;
        FailAt(file_, key.source(),
               "unknown key \"" + std::string(key.str()) + "\"; allowed are " + allowed);
      }
    }
  }
  [[noreturn]] void Fail(const toml::node& node, const std::string& why) const {
    FailAt(file_, node.source(), why);
  }

 private:
  const toml::table& table_;
  std::string file_;
  std::set<std::string> known_;
};

RegistryEntry ReadEntry(const toml::table& table, const std::string& file) {
  Fields fields(table, file);
  RegistryEntry entry;
  fields.Read("name", entry.name);
  fields.ReadList("aliases", entry.aliases);
  fields.Read("openml", entry.openml);
  fields.Read("embedded", entry.embedded);
  fields.Read("generator", entry.generator);
  fields.Read("rows", entry.rows);
  fields.Read("attributes", entry.attributes);
  fields.Read("megabytes", entry.megabytes);
  fields.ReadList("works", entry.works);
  fields.Read("licence", entry.licence);
  fields.Read("citation", entry.citation);
  fields.Read("md5", entry.md5);
  fields.Read("sha256", entry.sha256);
  fields.Read("note", entry.note);
  fields.Finish();
  const bool real = entry.openml != 0 || entry.embedded;
  if (entry.name.empty() || real == !entry.generator.empty()) {
    fields.Fail(table, "a data set needs a name, and either openml or embedded or a generator");
  }
  return entry;
}

Suite ReadSuite(const std::string& name, const toml::table& table, const std::string& file) {
  Fields fields(table, file);
  Suite suite;
  std::string citation;
  std::vector<std::int64_t> members;
  suite.name = name;
  fields.Read("openml", suite.openml);
  fields.Read("title", suite.title);
  fields.Read("citation", citation);
  fields.Read("note", suite.note);
  fields.Read("megabytes", suite.megabytes);
  fields.ReadList("members", members);
  fields.Finish();
  suite.members.assign(members.begin(), members.end());
  return suite;
}

toml::table ParseText(const std::string& text, const std::string& file) {
  try {
    return toml::parse(std::string_view(text), std::string_view(file));
  } catch (const toml::parse_error& error) {
    FailAt(file, error.source(), error.description());
  }
}

}  // namespace

std::string FoldName(const std::string& name) {
  std::string folded = LowerCase(name);
  std::replace(folded.begin(), folded.end(), '_', '-');
  std::replace(folded.begin(), folded.end(), ' ', '-');
  return folded;
}

DataRegistry DataRegistry::Parse(const std::string& text, const std::string& file) {
  const toml::table root = ParseText(text, file);
  DataRegistry registry;
  Fields top(root, file);
  std::int64_t version = 0;
  top.Read("version", version);
  if (version != 1) throw std::invalid_argument(file + ": version must be 1");
  std::set<std::string> names;
  if (const toml::array* list = root["dataset"].as_array()) {
    for (const toml::node& node : *list) {
      if (!node.is_table()) top.Fail(node, "[[dataset]] must be a table");
      registry.entries_.push_back(ReadEntry(*node.as_table(), file));
      const RegistryEntry& entry = registry.entries_.back();
      std::set<std::string> own = {FoldName(entry.name)};
      for (const std::string& alias : entry.aliases) own.insert(FoldName(alias));
      for (const std::string& name : own) {
        if (!names.insert(name).second) {
          top.Fail(node, "the name \"" + name + "\" is given twice");
        }
      }
    }
  }
  if (const toml::table* suites = root["suites"].as_table()) {
    for (const auto& [key, node] : *suites) {
      if (!node.is_table()) top.Fail(node, "a suite must be a table");
      registry.suites_.push_back(ReadSuite(std::string(key.str()), *node.as_table(), file));
    }
  }
  return registry;
}

const DataRegistry& DataRegistry::BuiltIn() {
  static const DataRegistry registry =
      Parse(std::string(EmbeddedFile("registry.toml")), "datasets/registry.toml");
  return registry;
}

const RegistryEntry* DataRegistry::Find(const std::string& name) const {
  const std::string folded = FoldName(name);
  for (const RegistryEntry& entry : entries_) {
    if (FoldName(entry.name) == folded) return &entry;
    for (const std::string& alias : entry.aliases) {
      if (FoldName(alias) == folded) return &entry;
    }
  }
  return nullptr;
}

const RegistryEntry* DataRegistry::FindOpenMl(int id) const {
  for (const RegistryEntry& entry : entries_) {
    if (entry.openml == id && id != 0) return &entry;
  }
  return nullptr;
}

std::string OpenMlName(int id) {
  const RegistryEntry* entry = DataRegistry::BuiltIn().FindOpenMl(id);
  return entry != nullptr ? entry->name : "openml-" + std::to_string(id);
}

const Suite* DataRegistry::FindSuite(const std::string& name) const {
  const std::string folded = FoldName(name);
  for (const Suite& suite : suites_) {
    if (folded == FoldName(suite.name) || folded == FoldName(suite.title) ||
        folded == "openml-suite-" + std::to_string(suite.openml)) {
      return &suite;
    }
  }
  return nullptr;
}

}  // namespace retable::datasets
