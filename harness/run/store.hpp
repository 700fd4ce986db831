#pragma once
//! @file
//! The crash-safe store: one JSON file per cell.
//!
//! A file is written under a temporary name, synced, and renamed; the folder is synced after. A run
//! killed at any moment, and a power cut, lose at most the cell in hand. What killed runs left
//! under temporary names goes when a store is opened.
//!
//! The second line of a cell's file holds the SHA-256 of all that follows it
//! (`tail -n +3 FILE | sha256sum`). A file that fails it, is no regular file, or contradicts itself
//! (a status that the correctness gate would not give) is damaged: it counts as not measured, and
//! is set aside as <key>.json.damaged when the cell is measured again; it never stops a run.
//!
//! One run at a time writes to a folder: an advisory lock says who holds it. Shards of one plan
//! take none: each writes cells of its own, names of temporary files hold host and process, and
//! renaming is atomic, also where locks are not (network folders).

#include <optional>
#include <stdexcept>
#include <string>

#include "harness/protocol.hpp"

namespace retable::harness {

//! The output folder cannot be used: the message names it and the remedy.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! A finished cell, as stored.
struct CellRecord {
  std::string key;
  CellConfig config;
  Outcome outcome;
  double seconds = 0;       //!< wall time of the worker
  double peak_mib = 0;      //!< largest resident memory seen
  std::string started;      //!< UTC, ISO 8601
  std::string environment;  //!< hash of the environment's JSON
  std::string command;      //!< what to type to measure it again
  bool checked = true;      //!< false: of an earlier version, whose files have no checksum
};

//! A record as the text of its file, and back; attachments are files of their own. Reading takes
//! any bytes. @throws std::runtime_error, nlohmann::json::exception: why it is damaged
std::string CellText(const CellRecord& record);
//! The text of a cell's file, from its third line on, as such a file. @return the whole text
std::string WithChecksum(const std::string& body);
CellRecord CellFromText(const std::string& text);

enum class LockMode { kExclusive, kNone };

class Store {
 public:
  //! Opens (and creates) the folder; what is in it then survives a power cut.
  //! @throws StoreError when it cannot be created, written or locked.
  Store(std::string folder, LockMode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  //! Writes the record and its attachments; a damaged file in its place is set aside.
  //! @throws StoreError (disk full, read-only)
  void Save(const CellRecord& record) const;
  const std::string& folder() const { return folder_; }

 private:
  void Lock();
  std::string folder_;
  int lock_ = -1;
};

//! The record of a cell; nothing where there is no file or a damaged one: then `problem` says what
//! is wrong. Takes no lock and changes nothing. @throws StoreError when no file can be opened, or
//! this one may not be read
std::optional<CellRecord> LoadRecord(const std::string& folder, const std::string& key,
                                     std::string* problem = nullptr);

//! The key of the cell whose file is called so; empty where it is no cell's.
std::string KeyOfFile(const std::string& name);

//! Whether a run holds the lock of the folder. Shards hold none.
bool IsBeingWritten(const std::string& folder);

//! Makes the folder where it is missing. @throws StoreError where no file can be put into it
void CheckWritable(const std::string& folder);

//! WriteAtomically over nothing or a regular file, with what the user can do about a failure.
//! @throws StoreError
void WriteFileAtomically(const std::string& path, const std::string& content);

//! Now, as "2026-01-31T12:34:56Z".
std::string UtcNow();

}  // namespace retable::harness
