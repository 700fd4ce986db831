#pragma once
//! @file
//! The crash-safe store: one JSON file per cell.
//!
//! A file is written under a temporary name, synced, and renamed; the folder is synced after. A run
//! killed at any moment therefore loses at most the cell in hand. A file that cannot be read back
//! (torn by a foreign hand or a failing disk) is set aside as <key>.json.torn and the cell is
//! measured again; it never stops a run. One run at a time writes to a folder: an advisory lock
//! says who holds it. Shards of one plan take none: each writes cells of its own, names of
//! temporary files hold host and process, and renaming is atomic, also where locks are not (network
//! folders).

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
};

enum class LockMode { kExclusive, kNone };

class Store {
 public:
  //! Opens (and creates) the folder. @throws StoreError when it cannot be created, written or
  //! locked.
  Store(std::string folder, LockMode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  //! The record, or nothing. A torn file is set aside, and `note` says so.
  std::optional<CellRecord> Load(const std::string& key, std::string* note = nullptr) const;
  //! Writes the record and its attachments. @throws StoreError (disk full, read-only)
  void Save(const CellRecord& record) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  int lock_ = -1;
};

//! Reads a record without taking the lock (report, check, explain).
std::optional<CellRecord> LoadRecord(const std::string& folder, const std::string& key,
                                     std::string* note = nullptr);

//! Makes the folder where it is missing. @throws StoreError where no file can be put into it
void CheckWritable(const std::string& folder);

//! WriteAtomically, with what the user can do about a failure. @throws StoreError
void WriteFileAtomically(const std::string& path, const std::string& content);

//! Now, as "2026-01-31T12:34:56Z".
std::string UtcNow();

}  // namespace retable::harness
