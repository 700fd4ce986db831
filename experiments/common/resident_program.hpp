#pragma once
//! @file
//! A contender in another language: a program that is started once, stays, and answers requests.
//!
//! A request is one line of JSON on its standard input, followed by the raw bytes of the arrays
//! that the line lists (little-endian, row-major, nothing between them). An answer has the same
//! form. What the program writes to standard error is kept as its last words.
//!
//!     <- {"ready": "NumPy 1.24.2"}
//!     -> {"do": "load", "task": "shuffle", "seed": 1, "arrays": [{"name": "items", "type":
//!         "uint8", "shape": [1000, 8]}]}  then 8000 bytes
//!     <- {"ok": true}
//!     -> {"do": "run"}                     timed: from this line to the answer's
//!     <- {"ok": true}
//!     -> {"do": "answer"}
//!     <- {"ok": true, "arrays": [...]}     then its bytes
//!
//! "load" and "answer" are not timed, so neither the start of the program nor the pipe counts; a
//! "run" carries no data, and costs a round trip (some 10 us, measured by "ping" and reported).
//! {"ok": false, "error": "..."} is a failure with its reason. A program that finds that this
//! machine lacks what it needs says {"unavailable": "why"} in place of "ready": its cells are not
//! run. One that does not start in any other way is a failed cell. docs/other-languages.md tells
//! the whole of it to somebody who writes such a program.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/protocol.hpp"

namespace retable::experiments {

//! An array as it travels; one that is sent views its bytes.
template <class Bytes>
struct WireArrayOf {
  std::string name;                  //!< "items"
  std::string type;                  //!< "uint8", "float32", "float64"
  std::vector<std::uint64_t> shape;  //!< row-major
  Bytes bytes;
};
using SentArray = WireArrayOf<std::span<const std::byte>>;
using WireArray = WireArrayOf<std::vector<std::byte>>;

//! What the program itself says that this machine lacks.
class ProgramUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ResidentProgram {
 public:
  //! Starts `command` by the shell, in the repository's root (RETABLE_ROOT), and waits until it is
  //! ready. @param patience_ms waits so long for its whole first line; -1: for ever
  //! @param own_group in a process group of its own, which is ended with it. Else in that of this
  //! process, a worker, so that whoever stops the cell stops what it started as well
  //! @throws ProgramUnavailable, and std::runtime_error when it ends or says something else first
  explicit ResidentProgram(const std::string& command, int patience_ms = -1,
                           bool own_group = false);
  ~ResidentProgram();
  ResidentProgram(const ResidentProgram&) = delete;
  ResidentProgram& operator=(const ResidentProgram&) = delete;

  //! What it said it is: "NumPy 1.24.2".
  const std::string& description() const { return description_; }

  //! Sends the arrays. @param header further keys: task, seed, ...
  //! @throws std::runtime_error with the program's own reason
  void Load(nlohmann::json header, const std::vector<SentArray>& arrays = {});
  //! Lets it work; what is timed.
  void Run();
  //! The arrays of its answer. @param header further keys, and small arrays as JSON
  std::vector<WireArray> Answer(nlohmann::json header);
  //! Seconds of an empty request: the median of twenty.
  double RoundTrip();

 private:
  nlohmann::json Ask(const nlohmann::json& request, std::span<const SentArray> arrays = {});
  void Send(const void* data, std::size_t bytes);
  void Receive(void* data, std::size_t bytes);
  std::string ReceiveLine(int patience_ms = -1);
  [[noreturn]] void Ended();

  struct Process;
  std::unique_ptr<Process> process_;
  std::string description_;
};

//! What a command says of itself when it is started.
struct ResidentState {
  std::string description;          //!< "NumPy 1.24.2"; empty where it does not start
  std::optional<std::string> lack;  //!< what it lacks here, such as a module
};
//! Asked once in a process.
ResidentState StateOfResident(const std::string& command);
//! What a cell's command lacks here; nothing also where it does not start, which is found when the
//! cell is measured, and where its algorithm is not "External".
std::optional<std::string> WhyNotExternal(const harness::CellConfig& cell);
//! What a time of it includes, for the row: "runs of NumPy 1.24.2, resident; round trip of 12 us
//! included".
std::string DescribeResident(ResidentProgram& program);

}  // namespace retable::experiments
