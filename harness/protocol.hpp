#pragma once
//! @file
//! What a family gives to the harness: its algorithms, its data sets, and how one cell is measured.
//!
//! The harness knows no family. A family's measuring protocol (experiments/<family>/) implements
//! Protocol and registers itself with RETABLE_PROTOCOL; experiments name it in their TOML. The
//! protocol, not the algorithm, owns the reference, the metric and the threshold, so that an
//! algorithm cannot grade itself.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace retable::harness {

//! A parameter's value; the same plain type as retable::ParameterValue.
using Value = std::variant<bool, std::int64_t, double, std::string>;
using Values = std::map<std::string, Value>;

//! A parameter or setting that an algorithm or protocol takes.
struct ParameterSpec {
  std::string name;
  Value fallback;  //!< default; its alternative fixes the type
  std::string help;
  bool optional = false;  //!< an axis that cells lack where the experiment leaves it out
};

//! An algorithm a protocol can run, on the devices it has a backend for.
struct AlgorithmInfo {
  std::string name;
  std::vector<std::string> devices;  //!< "cpu", "cuda"
  std::vector<ParameterSpec> parameters;
  std::string summary;
  std::string citation;
};

//! One concrete data set, after groups such as "cc18" were expanded.
struct DatasetInfo {
  std::string name;    //!< "iris", "openml-61", "normal(1000,1)"; synthetic ones say so
  std::string sha256;  //!< hash of the data or a generator's definition; empty when absent
  bool present = false;
  std::string reason;  //!< why it is absent
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool complete = true;     //!< false: a subset of the published data, and must be reported as such
  std::string origin;       //!< "embedded", "openml 61", "generator"
  bool of_group = false;    //!< set by the plan: came in with others under one name
  std::string fetch;        //!< name for `datasets fetch`, where the data are absent or replaced
  int fetch_megabytes = 0;  //!< size of what is fetched; 0: not known
};

//! Everything that fixes one measurement. Its canonical JSON is hashed into the cell's key.
struct CellConfig {
  std::string experiment;  //!< "quantiles/table2"
  std::string family;
  std::string protocol;
  std::string algorithm;  //!< registered name
  std::string label;      //!< row label in the paper's words: "ME-central (l=15)"
  std::string device;     //!< "cpu" or "cuda"
  std::string dataset;    //!< concrete name
  std::string dataset_sha256;
  Values parameters;  //!< the algorithm's
  Values axes;        //!< the experiment's axes: {"n": 1000000}
  Values settings;    //!< the protocol's
  std::int64_t seed = 0;
  std::int64_t repeats = 1;
};

//! A measured quantity with every sample. NaN is a failed sample and is counted, never dropped.
struct Metric {
  std::string name;  //!< "niae", "time"
  std::string unit;  //!< "1", "s", "items/s"
  std::vector<double> samples;
  std::vector<std::string> groups;  //!< empty, or one class per sample ("continuous", "constant")
  std::vector<std::string> items;   //!< empty, or what each sample is of (a column's name)
  std::vector<double> sm_mhz;       //!< empty, or the GPU's effective clock at each sample
};

//! Work that a timed body must do, as its method declares it. Held against what the machine can do
//! at best (harness/roofline/ceilings.hpp) it says how much there is left to gain.
struct Cost {
  std::string ceiling;  //!< what bounds it: "copy", "read", "gather", "atomics", "FMA fp64", ...
  double amount = 0;    //!< work of one run: bytes (copy: read and written), accesses or operations
  bool parallel = true;  //!< CPU: on all allowed processors; false: on one
};

//! A curve for a figure: y over x, both of equal length.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};

//! The correctness gate. An unverified result is not timed.
struct Verification {
  bool done = false;
  bool ok = false;
  std::string metric;
  double value = 0;
  double threshold = 0;
  std::string reference;
};

//! What a worker reports for a cell.
struct Outcome {
  std::string status = "ok";  //!< ok, wrong_result, failed, skipped, not_run
  std::string reason;
  std::vector<Metric> metrics;
  std::vector<Curve> curves;
  Verification verification;
  Values facts;  //!< shown with the row: threads, isa, library versions, bytes, "columns"
  std::vector<Cost> costs;  //!< work behind the metric "time" (seconds); the largest fraction binds
  std::map<std::string, std::string> attachments;  //!< file suffix -> content, kept beside the cell
};

//! Thrown for a name nobody knows; the caller offers the nearest of `candidates`.
class UnknownName : public std::runtime_error {
 public:
  UnknownName(std::string what, std::string name_in, std::vector<std::string> candidates_in)
      : std::runtime_error(std::move(what)),
        name(std::move(name_in)),
        candidates(std::move(candidates_in)) {}
  std::string name;
  std::vector<std::string> candidates;
};

//! A family's measuring protocol.
class Protocol {
 public:
  using Algorithms = std::vector<AlgorithmInfo>;
  using Cell = CellConfig;
  using Datasets = std::vector<DatasetInfo>;
  using Names = std::vector<std::string>;
  using Outcome = harness::Outcome;
  using Reason = std::optional<std::string>;
  using Specs = std::vector<ParameterSpec>;

  virtual ~Protocol() = default;
  virtual std::string name() const = 0;     //!< "quantiles/niae": the family first
  virtual std::string summary() const = 0;  //!< one line for `retable list`
  //! Every metric that measure() may report: those that columns and figures may show.
  virtual std::vector<std::string> metrics() const = 0;
  virtual std::vector<AlgorithmInfo> algorithms() const = 0;
  //! The settings an experiment may give under [settings].
  virtual std::vector<ParameterSpec> settings() const { return {}; }
  //! The axes an experiment may give under [axes], with the type of each.
  virtual std::vector<ParameterSpec> axes() const { return {}; }
  //! Concrete data sets for a name in the TOML. Runs in the parent, at plan time.
  //! @throws UnknownName
  virtual std::vector<DatasetInfo> resolve(const std::string& dataset) const = 0;
  //! A reason not to run this cell here (not enough memory, over a method's limit), or nothing.
  virtual std::optional<std::string> unsupported(const CellConfig& /*cell*/) const { return {}; }
  //! Measures one cell, inside the worker process. May throw: that is status "failed".
  virtual Outcome measure(const CellConfig& cell) = 0;
};

//! All protocols linked into the program.
std::vector<std::unique_ptr<Protocol>>& Protocols();
//! The protocol by name. @throws UnknownName
Protocol& FindProtocol(const std::string& name);

struct ProtocolRegistration {
  //! @throws std::logic_error where the name is taken
  explicit ProtocolRegistration(std::unique_ptr<Protocol> protocol,
                                const char* file = __builtin_FILE());
};
#define RETABLE_PROTOCOL(Class)                                              \
  static const ::retable::harness::ProtocolRegistration registered_##Class { \
    std::make_unique<Class>()                                                \
  }

}  // namespace retable::harness
