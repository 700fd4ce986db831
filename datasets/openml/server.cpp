#include "datasets/openml/server.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "datasets/openml/answer.hpp"
#include "datasets/openml/http.hpp"
#include "datasets/openml/url.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnServer = "https://www.openml.org";

//! Networks found dead, by base.
KnownFailures dead_networks;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::int64_t SizeOrZero(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

// What means something in a URL, but nothing in a path.
std::string EscapePath(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    const bool special = c == '%' || c == '?' || c == '#';
    escaped += special ? (c == '%' ? "%25" : c == '?' ? "%3F" : "%23") : std::string(1, c);
  }
  return escaped;
}

}  // namespace

ServerOptions ServerOptions::FromEnvironment() {
  ServerOptions options;
  const char* value = std::getenv("RETABLE_OPENML_URL");
  options.base = value != nullptr && *value != '\0' ? value : kOwnServer;
  options.own_base = options.base != kOwnServer;
  if (options.base[0] == '/') options.base = "file://" + EscapePath(options.base);
  while (options.base.size() > 8 && options.base.back() == '/') options.base.pop_back();
  const bool known = options.base == "off" || options.base.rfind("http://", 0) == 0 ||
                     options.base.rfind("https://", 0) == 0 ||
                     options.base.rfind("file:///", 0) == 0;
  if (!known) {
    throw std::invalid_argument(
        "RETABLE_OPENML_URL is \"" + ShownUrl(options.base) +
        "\"; it must start with http://, https:// or file:///, or be \"off\"");
  }
  if (!options.own_base) options.spacing = 0.2;
  return options;
}

OpenMlServer::OpenMlServer(ServerOptions options) : options_(std::move(options)) {}

void OpenMlServer::ForgetDeadNetworks() {
  dead_networks.Clear();
}

void OpenMlServer::CheckNetwork() const {
  if (options_.base == "off") {
    throw FetchError(FetchError::Kind::kNoNetwork,
                     "the network is switched off (RETABLE_OPENML_URL=off)");
  }
  const std::string why = dead_networks.Why(options_.base);
  if (!why.empty()) throw FetchError(FetchError::Kind::kNoNetwork, why);
}

std::string OpenMlServer::shown_base() const {
  return ShownUrl(options_.base);
}

void OpenMlServer::StaysInside(const std::string& url) const {
  if (!is_file()) return;
  const auto path_of = [](const std::string& file_url) {
    return fs::path(PercentDecoded(std::string_view(file_url).substr(7)));
  };
  std::error_code error;
  const fs::path root = fs::canonical(path_of(options_.base), error);
  const fs::path target = fs::canonical(path_of(url), error);
  if (error) return;  // there is nothing: the answer says so
  if (std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first != root.end()) {
    throw FetchError(FetchError::Kind::kDamaged,
                     ShownUrl(url) + ": a link leads out of the mirror's folder");
  }
  // A pipe would be waited for.
  if (!fs::is_regular_file(target, error)) {
    throw FetchError(FetchError::Kind::kNotFound, ShownUrl(url) + ": not found (no file)");
  }
}

void OpenMlServer::NoConnection(const std::string& why) const {
  const std::string text = "no connection to " + shown_base() + ": " + why;
  dead_networks.Add(options_.base, text);
  throw FetchError(FetchError::Kind::kNoNetwork, text);
}

void OpenMlServer::Pause(int attempt, double asked) const {
  const double wait = std::max(BackOff(attempt, options_.back_off), asked);
  std::this_thread::sleep_for(std::chrono::duration<double>(wait));
}

void OpenMlServer::Space() const {
  if (options_.spacing <= 0) return;
  static std::mutex mutex;
  static std::chrono::steady_clock::time_point next;
  std::chrono::steady_clock::time_point mine;
  {
    const std::lock_guard lock(mutex);
    mine = std::max(next, std::chrono::steady_clock::now());
    next = mine + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(options_.spacing));
  }
  std::this_thread::sleep_until(mine);
}

std::string OpenMlServer::ApiAttempts(const std::string& path, const std::string& what,
                                      bool& try_v2) {
  CheckNetwork();
  const std::string not_found = what + ": not found on " + shown_base();
  for (int attempt = 0;; ++attempt) {
    Space();
    std::string body;
    HttpRequest request;
    request.url = options_.base + path;
    request.max_bytes = kLargestAnswer;
    request.connect_timeout = options_.connect_timeout;
    request.stall_timeout = options_.stall_timeout;
    request.write = [&body](std::string_view piece) {
      body.append(piece);
      return true;
    };
    StaysInside(request.url);
    const HttpResponse r = HttpGet(request);
    if (r.no_connection) NoConnection(r.error);
    if (r.not_a_file) throw FetchError(FetchError::Kind::kNotFound, not_found);
    ApiAnswer answer = JudgeAnswer(r, r.ok() ? std::move(body) : r.error_body);
    if (answer.good) return std::move(answer.text);
    if (answer.not_found) {
      try_v2 = answer.unknown_path;
      throw FetchError(FetchError::Kind::kNotFound,
                       not_found + (answer.error.empty() ? "" : " (" + answer.error + ")"));
    }
    if (!answer.again || attempt >= options_.retries) {
      throw FetchError(FetchError::Kind::kServer,
                       what + " from " + shown_base() + ": " + answer.error +
                           (attempt > 0 ? " (" + std::to_string(attempt + 1) + " attempts)" : ""));
    }
    Pause(attempt, r.retry_after);
  }
}

std::string OpenMlServer::ApiBody(const std::string& v1_path, const std::string& v2_path,
                                  const std::string& what) {
  bool try_v2 = false;
  if (!v2_) {
    try {
      return ApiAttempts(v1_path, what, try_v2);
    } catch (const FetchError&) {
      // A v2 server answers 404 with JSON for paths it does not know.
      if (!try_v2) throw;
    }
  }
  std::string body = ApiAttempts(v2_path, what, try_v2);
  v2_ = true;
  return body;
}

std::string OpenMlServer::DescriptionBody(int id) {
  const std::string n = std::to_string(id);
  return ApiBody("/api/v1/json/data/" + n, "/datasets/" + n, "data set " + n);
}

std::string OpenMlServer::FeaturesBody(int id) {
  const std::string n = std::to_string(id);
  return ApiBody("/api/v1/json/data/features/" + n, "/datasets/features/" + n,
                 "the features of data set " + n);
}

std::string OpenMlServer::FileUrl(const std::string& url) const {
  const bool web = url.rfind("http://", 0) == 0 || url.rfind("https://", 0) == 0;
  const std::string path = SafePath(url);
  if (!web || path.empty()) {
    throw FetchError(
        FetchError::Kind::kDamaged,
        "the description's url \"" + ShownUrl(url).substr(0, 200) + "\" names no file");
  }
  return options_.own_base ? options_.base + "/" + path : url;
}

HttpResponse OpenMlServer::Resume(const std::string& where, const fs::path& part,
                                  std::int64_t max_bytes, const ByteProgress& progress) {
  Space();
  HttpRequest request;
  request.url = where;
  request.resume_from = SizeOrZero(part);
  request.max_bytes = max_bytes;
  request.connect_timeout = options_.connect_timeout;
  request.stall_timeout = options_.stall_timeout;
  request.progress = progress;
  File file(std::fopen(part.c_str(), request.resume_from > 0 ? "ab" : "wb"));
  if (file == nullptr) throw std::runtime_error("cannot write " + part.string());
  request.write = [&](std::string_view piece) {
    if (file != nullptr && std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size()) {
      return true;
    }
    throw std::runtime_error("cannot write " + part.string() + ": is the disk full?");
  };
  request.restart = [&] { file.reset(std::fopen(part.c_str(), "wb")); };
  const HttpResponse response = HttpGet(request);
  if (file != nullptr && std::fclose(file.release()) != 0) {
    throw std::runtime_error("cannot write " + part.string() + ": is the disk full?");
  }
  return response;
}

void OpenMlServer::Download(const std::string& url, const fs::path& part, std::int64_t max_bytes,
                            const ByteProgress& progress) {
  CheckNetwork();
  const std::string where = FileUrl(url), shown = ShownUrl(where);
  StaysInside(where);
  int attempt = 0;
  std::int64_t best = SizeOrZero(part);
  for (int total = 0;; ++total) {
    const bool resumed = SizeOrZero(part) > 0;
    const HttpResponse r = Resume(where, part, max_bytes, progress);
    if (r.ok()) return;
    if (r.no_connection) NoConnection(r.error);
    if (r.too_large) throw FetchError(FetchError::Kind::kTooLarge, shown + ": " + r.error);
    const auto api = ParseApiError(r.error_body);
    if (r.not_a_file || r.status == 404 || (api && IsUnknown(*api))) {
      throw FetchError(FetchError::Kind::kNotFound, shown + ": not found");
    }
    bool again = r.interrupted || IsBusy(r.status) || (api && api->code == 107);
    if (resumed && r.wrong_range) {
      // What is here cannot be continued: once more from the start.
      fs::remove(part);
      best = 0;
      again = true;
    }
    // A server that dies again and again but brings a little more each time is let go on.
    const std::int64_t now = SizeOrZero(part);
    if (now > best) {
      best = now;
      attempt = 0;
    } else {
      ++attempt;
    }
    if (!again || attempt > options_.retries || total >= 200) {
      throw FetchError(FetchError::Kind::kServer, shown + ": " + (api ? Describe(*api) : r.error) +
                                                      " (" + std::to_string(total + 1) +
                                                      " attempts)");
    }
    Pause(attempt, r.retry_after);
  }
}

}  // namespace retable::datasets
