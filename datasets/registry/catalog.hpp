#pragma once
//! @file
//! The one way to data: names in, frames out.
//!
//! A name is an embedded data set ("iris", "breast_cancer", "wine", "digits", "diabetes"), a group
//! ("embedded", "cc18"), a registry name or alias ("mnist_784", "adult", "cal_housing"), any OpenML
//! id ("openml-61"), or a generator's definition ("normal(1000,1)", "synthetic gamma(0.2)",
//! "make_regression(n_samples=1000)").
//! Order of places: what is compiled in (adult and cal_housing are, too); the cache; the server or
//! mirror of RETABLE_OPENML_URL (http(s):// or file://; OpenML's own by default).
//!
//! resolve is quick and safe at plan time: it asks the network for no more than the policy allows,
//! and a dead network is noticed once per process and remembered. load never uses the network; what
//! resolve reported present is in the cache.
//! Thread-safe: all state is in files, guarded by locks between processes too.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

enum class FetchPolicy {
  kNone,    //!< only what is here: embedded, generated, cached
  kIfCheap  //!< a file:// mirror: everything; a server: files up to 4 MiB, as transferred
};

//! One concrete data set.
struct Member {
  std::string name;    //!< unique and resolvable: "iris", "mnist_784", "openml-37",
                       //!< "synthetic normal(1000,1)"
  std::string sha256;  //!< hash of the text or definition; empty when absent
  bool present = false;
  std::string reason;        //!< why it is absent
  std::int64_t rows = 0;     //!< 0 for a stream of any length; as published when absent
  std::int64_t columns = 0;  //!< features, without target and identifiers
  bool complete = true;      //!< false: fewer rows than published, and must be reported so
  bool synthetic = false;
  std::string origin;  //!< "embedded", "openml 61", "generator"
  int openml = 0;
  std::string fetch;  //!< name for `datasets fetch` where absent, a suite perhaps
  int megabytes = 0;  //!< size of what that brings; 0: not known
};

//! A name nobody knows. `candidates` are all names there are.
class UnknownDataset : public std::invalid_argument {
 public:
  UnknownDataset(std::string name_in, std::vector<std::string> candidates_in);
  std::string name;
  std::vector<std::string> candidates;
};

struct LoadOptions {
  std::int64_t rows = 0;  //!< generators: this many rows (0: a table's own n_samples; streams 1000)
  std::uint64_t seed = 0;  //!< generators only
};

class Catalog {
 public:
  //! Every concrete name and group, in the order: groups, embedded, registry, generators.
  std::vector<std::string> Names() const;

  //! The members a name stands for. Absent ones are among them, with the reason.
  //! @throws UnknownDataset; std::invalid_argument for a wrong generator definition.
  std::vector<Member> Resolve(const std::string& name,
                              FetchPolicy policy = FetchPolicy::kIfCheap) const;

  //! @throws std::runtime_error with the reason and the command that fetches it.
  Frame Load(const Member& member, const LoadOptions& options = {}) const;
  //! By name, which must stand for one data set; nothing is fetched.
  Frame Load(const std::string& name, const LoadOptions& options = {}) const;
};

}  // namespace retable::datasets
