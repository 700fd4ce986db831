#pragma once
//! @file
//! OpenML's REST interface on one server: which path holds what, which answer means what, when to
//! try again. A mirror is a server too; on a file:// one nothing is ever slow or busy.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "datasets/openml/json.hpp"

namespace retable::datasets {

struct HttpResponse;

//! Anything that keeps data from coming; `kind` says what to make of it.
class FetchError : public std::runtime_error {
 public:
  enum class Kind {
    kNotFound,   //!< the server is there and does not have it
    kNoNetwork,  //!< nobody answers
    kTooLarge,   //!< over the limit asked for
    kDamaged,    //!< came, but is not what it should be (hash, HTML, truncated)
    kServer      //!< anything else the server does wrong, after all retries
  };
  FetchError(Kind kind_in, const std::string& what) : std::runtime_error(what), kind(kind_in) {}
  Kind kind;
};

//! What failed in this process, and why, so that nobody asks again. Thread-safe.
class KnownFailures {
 public:
  //! Empty where nothing is known.
  std::string Why(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? "" : found->second;
  }
  void Add(const std::string& key, const std::string& why) {
    const std::lock_guard lock(mutex_);
    known_.emplace(key, why);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    known_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

struct ServerOptions {
  std::string base;             //!< "https://www.openml.org", "file:///mirror"; "off": no network
  bool own_base = false;        //!< given by the user: files' paths are kept under it
  double connect_timeout = 10;  //!< seconds
  double stall_timeout = 20;
  int retries = 5;        //!< after the first attempt
  double back_off = 0.5;  //!< seconds before the first retry
  double spacing = 0;     //!< seconds between requests, for politeness

  //! From RETABLE_OPENML_URL (a plain absolute path is a file:// one; "off" forbids the network).
  static ServerOptions FromEnvironment();
};

//! Bytes so far, and in all or 0.
using ByteProgress = std::function<void(std::int64_t, std::int64_t)>;

class OpenMlServer {
 public:
  explicit OpenMlServer(ServerOptions options);

  //! The raw body of a description, and so on. @throws FetchError
  std::string DescriptionBody(int id);
  std::string FeaturesBody(int id);

  //! Downloads a description's url into `part`, going on where an earlier attempt stopped.
  //! @param max_bytes 0: no limit  @throws FetchError; what came stays in `part`
  void Download(const std::string& url, const std::filesystem::path& part, std::int64_t max_bytes,
                const ByteProgress& progress);

  //! Where a description's url is on this server. @throws FetchError for an url which is none.
  std::string FileUrl(const std::string& url) const;

  const std::string& base() const { return options_.base; }
  //! The base without what may be a secret: for messages, records and tables.
  std::string shown_base() const;
  bool is_file() const { return options_.base.rfind("file://", 0) == 0; }

  //! Forgets that a network was found dead. For tests.
  static void ForgetDeadNetworks();

 private:
  std::string ApiBody(const std::string& v1_path, const std::string& v2_path,
                      const std::string& what);
  std::string ApiAttempts(const std::string& path, const std::string& what, bool& try_v2);
  //! One request for what `part` lacks.
  HttpResponse Resume(const std::string& where, const std::filesystem::path& part,
                      std::int64_t max_bytes, const ByteProgress& progress);
  void CheckNetwork() const;
  //! On a file:// mirror: @throws FetchError where a link or a name leads out of its folder, or to
  //! what is no file.
  void StaysInside(const std::string& url) const;
  [[noreturn]] void NoConnection(const std::string& why) const;
  void Pause(int attempt, double asked) const;
  void Space() const;

  ServerOptions options_;
  std::atomic<bool> v2_{false};
};

}  // namespace retable::datasets
