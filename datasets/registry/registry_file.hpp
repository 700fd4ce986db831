#pragma once
//! @file
//! registry.toml: every data set of the works that Retable reruns. It is compiled into the program,
//! so that the program works from anywhere.

#include <cstdint>
#include <string>
#include <vector>

namespace retable::datasets {

//! One [[dataset]] table; see the head of registry.toml for the fields' meaning.
struct RegistryEntry {
  std::string name;
  std::vector<std::string> aliases;
  int openml = 0;         //!< OpenML data id, 0 when it is none
  bool embedded = false;  //!< compiled in, an OpenML data set perhaps
  std::string generator;  //!< definition, or empty
  std::int64_t rows = 0;
  std::int64_t attributes = 0;  //!< target and identifiers included
  int megabytes = 0;            //!< size of the text that is fetched; 0: not known
  std::vector<std::string> works;
  std::string licence;
  std::string citation;
  std::string md5;
  std::string sha256;
  std::string note;
};

//! A named suite of OpenML data sets.
struct Suite {
  std::string name;  //!< "cc18"
  int openml = 0;    //!< study id
  std::string title;
  std::string note;
  int megabytes = 0;  //!< size of all members together
  std::vector<int> members;
};

class DataRegistry {
 public:
  //! Parses the text. @throws std::invalid_argument with line and column for malformed text, an
  //! unknown key, or a name given twice.
  static DataRegistry Parse(const std::string& toml, const std::string& file);
  //! The one compiled into the program, parsed once.
  static const DataRegistry& BuiltIn();

  //! By name or alias (ASCII case, '-' and '_' and ' ' are alike), or nullptr.
  const RegistryEntry* Find(const std::string& name) const;
  const RegistryEntry* FindOpenMl(int id) const;
  //! By name, title ("OpenML-CC18") or study ("openml-suite-99"), or nullptr.
  const Suite* FindSuite(const std::string& name) const;
  const std::vector<RegistryEntry>& entries() const { return entries_; }
  const std::vector<Suite>& suites() const { return suites_; }

 private:
  std::vector<RegistryEntry> entries_;
  std::vector<Suite> suites_;
};

//! The name of an OpenML data set: the registry's, or "openml-61".
std::string OpenMlName(int id);

//! Lower case with '_' and ' ' turned to '-'; what names are compared by.
std::string FoldName(const std::string& name);

}  // namespace retable::datasets
