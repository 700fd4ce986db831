#pragma once
//! @file
//! The cache of OpenML data on this machine.
//!
//! Layout, under RETABLE_CACHE, else $XDG_CACHE_HOME/retable, else ~/.cache/retable:
//!   openml/api/v1/json/data/{id}             description, as the server sent it
//!   openml/api/v1/json/data/features/{id}    feature list
//!   openml/data/v1/download/...              the file, gzip, under its path on the server
//!   records/{id}.json                        what is here: hashes, rows, source; written last
//!   frames/{id}-{sha256}.frame               the parsed frame, rebuilt whenever it is missing
//!   partial/                                 downloads that stopped, to be resumed
//!   rejected/                                bodies which failed their hash or are no data
//!   locks/                                   one per data set, between processes
//! openml/ has the paths of the REST interface, so it is a mirror: `mirror` copies it.
//!
//! A data set is here when its record is; everything else was written, synced and renamed before.
//! So a crash or a second process never shows half of one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "datasets/frame/frame.hpp"
#include "datasets/openml/server.hpp"

namespace retable::datasets {

//! What records/{id}.json says.
struct CacheRecord {
  int id = 0;
  std::string name;  //!< OpenML's
  std::string version;
  std::string licence;
  std::string file;     //!< relative to openml/
  std::string md5;      //!< hash of the ARFF text
  std::string sha256;   //!< hash of the ARFF text
  std::string pinned;   //!< "pinned" when the registry's SHA-256 agrees, "" when it has none
  std::string source;   //!< server it came from
  std::string fetched;  //!< UTC, ISO 8601
  std::int64_t text_bytes = 0;
  std::int64_t stored_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  //!< features
  std::int64_t attributes = 0;
  bool complete = true;
};

//! What verify found for one data set.
struct VerifyResult {
  bool ok = false;
  std::string why;
};

struct CacheFetchOptions {
  std::int64_t max_bytes = 0;  //!< as transferred; 0: no limit
  bool refresh = false;        //!< also when it is here
  ByteProgress progress;
};

class Cache {
 public:
  explicit Cache(std::filesystem::path root);
  //! The folder from the environment. @throws std::runtime_error when there is none to be had
  static std::filesystem::path DefaultRoot();

  const std::filesystem::path& root() const { return root_; }

  std::optional<CacheRecord> Find(int id) const;
  //! All records, by id.
  std::vector<CacheRecord> List() const;

  //! Brings one data set: description, features, file, checks, frame, record.
  //! @throws FetchError; nothing of it is then in the cache but a part to resume or a rejected body
  CacheRecord Fetch(OpenMlServer& server, int id, const CacheFetchOptions& options);

  //! The frame of a record, from its frame file, or parsed again from the ARFF file.
  //! @throws std::runtime_error for a file that vanished or changed
  Frame Load(const CacheRecord& record) const;

  //! Hashes the stored file again and compares frame and file.
  VerifyResult Verify(const CacheRecord& record) const;

  //! Copies the records' files into `target` as a mirror with a MANIFEST.tsv, which keeps what it
  //! lists already. @throws std::runtime_error, before anything is copied, for a damaged file
  void Mirror(const std::vector<CacheRecord>& records, const std::filesystem::path& target) const;

  std::filesystem::path FilePath(const CacheRecord& record) const;

 private:
  std::filesystem::path RecordPath(int id) const;
  std::filesystem::path FramePath(const CacheRecord& record) const;
  std::filesystem::path ApiPath(int id, bool features) const;
  //! Sets a body aside. @throws FetchError with the reason and where it is now
  [[noreturn]] void Reject(const std::filesystem::path& body, int id, const std::string& why) const;
  void DownloadChecked(OpenMlServer& server, const Description& description, CacheRecord& record,
                       const CacheFetchOptions& options, std::filesystem::path& part) const;
  Frame Parse(const CacheRecord& record) const;
  //! What is wrong with the stored file; empty where it is the record's.
  std::string DamageOf(const CacheRecord& record) const;

  std::filesystem::path root_;
};

//! Roles by OpenML's feature list and description (v1 leaves values out of either at times).
//! @throws FetchError where a target is named that no column is called
std::vector<ColumnRole> RolesOf(const std::vector<ColumnInfo>& columns,
                                const Description& description,
                                const std::vector<Feature>& features);

}  // namespace retable::datasets
