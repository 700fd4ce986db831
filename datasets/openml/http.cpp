#include "datasets/openml/http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <semaphore>

#include "datasets/openml/http_header.hpp"

namespace retable::datasets {
namespace {

constexpr long kMostRedirects = 5;
constexpr std::size_t kErrorBody = 64 * 1024;

struct HandleCloser {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, HandleCloser>;

struct ListCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

//! One of the two slots, and this thread's handle, whose connections stay open between requests.
class Lease {
 public:
  Lease() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    slots.acquire();
    if (started == CURLE_OK && handle == nullptr) handle.reset(curl_easy_init());
  }
  ~Lease() {
    if (handle != nullptr) curl_easy_reset(handle.get());
    slots.release();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  CURL* get() const { return handle.get(); }

 private:
  static inline std::counting_semaphore<2> slots{2};
  static thread_local inline Handle handle;
};

//! What one transfer knows while it runs.
struct Transfer {
  const HttpRequest* request = nullptr;
  CURL* handle = nullptr;
  HttpResponse response;
  std::int64_t received = 0;
  HttpHeader header;
  bool checked = false;   //!< the first byte of the body came
  bool refused = false;   //!< the caller, or a wrong range, ended it
  bool accepted = false;  //!< the body goes to the caller

  long Status() const {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  bool IsFile() const { return request->url.rfind("file:", 0) == 0; }

  //! At the first byte: whose is this body?
  bool Begin() {
    checked = true;
    const long status = Status();
    if (IsFile()) {
      accepted = true;
      return true;
    }
    accepted = status == 200 || status == 206;
    if (!accepted || request->resume_from == 0) return true;
    if (status == 200) {
      received = 0;
      if (request->restart) request->restart();
    } else if (header.range_start != request->resume_from) {
      response.error = "the server sends another range than asked for";
      response.wrong_range = true;
      return false;
    }
    return true;
  }

  bool Write(std::string_view piece) {
    if (!checked && !Begin()) return false;
    if (!accepted) {
      const std::size_t room = kErrorBody - std::min(kErrorBody, response.error_body.size());
      response.error_body.append(piece.substr(0, room));
      return true;
    }
    received += static_cast<std::int64_t>(piece.size());
    if (request->max_bytes > 0 && received > request->max_bytes) {
      response.too_large = true;
      return false;
    }
    return request->write(piece);
  }
};

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  try {
    if (transfer->Write({data, size * count})) return size * count;
  } catch (const std::exception& error) {
    // Nothing may be thrown through libcurl's frames.
    transfer->response.error = error.what();
  }
  transfer->refused = true;
  return 0;
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  ReadHeaderLine({data, size * count}, transfer->header);
  return size * count;
}

int OnProgress(void* self, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto* transfer = static_cast<Transfer*>(self);
  const HttpRequest& request = *transfer->request;
  if (request.max_bytes > 0 && transfer->accepted && total > request.max_bytes) {
    transfer->response.too_large = true;
    return 1;
  }
  if (request.progress && transfer->accepted) {
    const std::int64_t before = transfer->received - now > 0 ? transfer->received - now : 0;
    request.progress(transfer->received, total > 0 ? before + total : 0);
  }
  return 0;
}

// libcurl refuses blanks in a URL, which folders may have.
std::string WithoutBlanks(const std::string& url) {
  std::string escaped;
  for (const char c : url) escaped += c == ' ' ? std::string("%20") : std::string(1, c);
  return escaped;
}

void Configure(CURL* h, const HttpRequest& request, Transfer& transfer, curl_slist* headers) {
  curl_easy_setopt(h, CURLOPT_URL, WithoutBlanks(request.url).c_str());
  curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(h, CURLOPT_USERAGENT, "retable/0.1 (libcurl)");
  // Asked for by hand: then libcurl leaves the bytes alone, and they can be resumed and are told by
  // their first two.
  curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(h, CURLOPT_MAXREDIRS, kMostRedirects);
  // As the program curl does: certificates of the user's own authority.
  if (const char* bundle = std::getenv("CURL_CA_BUNDLE"); bundle != nullptr && *bundle != '\0') {
    curl_easy_setopt(h, CURLOPT_CAINFO, bundle);
  }
  // Never from the web to a file, and never from an encrypted connection to a plain one.
  const bool encrypted = request.url.rfind("https:", 0) == 0;
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https,file");
  curl_easy_setopt(h, CURLOPT_REDIR_PROTOCOLS_STR, encrypted ? "https" : "http,https");
#else
  curl_easy_setopt(h, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE);
  curl_easy_setopt(h, CURLOPT_REDIR_PROTOCOLS,
                   encrypted ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, std::lround(request.connect_timeout * 1000));
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 100L);
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, std::max(1L, std::lround(request.stall_timeout)));
  if (request.resume_from > 0) {
    // A plain range: with libcurl's own resuming a server without ranges would be an error.
    curl_easy_setopt(h, CURLOPT_RANGE, (std::to_string(request.resume_from) + "-").c_str());
  }
  curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(h, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(h, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(h, CURLOPT_XFERINFODATA, &transfer);
}

//! True when the time-out came before the request could be sent; a connection kept from earlier has
//! no connect time, so the start of the transfer is what tells.
bool NeverConnected(CURL* handle) {
  curl_off_t started = 0;
  curl_easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME_T, &started);
  return started == 0;
}

bool FailedToConnect(CURLcode code, CURL* handle) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT ||
         (code == CURLE_OPERATION_TIMEDOUT && NeverConnected(handle));
}

//! Errors after which the same request may succeed.
bool IsInterruption(CURLcode code) {
  return code == CURLE_OPERATION_TIMEDOUT || code == CURLE_PARTIAL_FILE ||
         code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_SSL_CONNECT_ERROR;
}

void Judge(CURLcode code, Transfer& transfer, const char* detail) {
  HttpResponse& r = transfer.response;
  r.status = transfer.IsFile() ? (code == CURLE_OK ? 200 : 0) : static_cast<int>(transfer.Status());
  if (code == CURLE_OK) {
    if (r.status != 200 && r.status != 206) r.error = "HTTP status " + std::to_string(r.status);
    r.wrong_range = r.status == 416;
    return;
  }
  if (r.too_large) {
    r.error = "larger than the limit of " + std::to_string(transfer.request->max_bytes) + " bytes";
    return;
  }
  if (transfer.refused) {
    if (r.error.empty()) r.error = "given up";
    return;
  }
  r.error = *detail != '\0' ? detail : curl_easy_strerror(code);
  r.not_a_file = code == CURLE_FILE_COULDNT_READ_FILE;
  r.no_connection = FailedToConnect(code, transfer.handle);
  r.interrupted = !r.no_connection && IsInterruption(code);
}

}  // namespace

HttpResponse HttpGet(const HttpRequest& request) {
  const Lease lease;
  Transfer transfer;
  transfer.request = &request;
  transfer.handle = lease.get();
  transfer.received = request.resume_from;
  if (lease.get() == nullptr) {
    transfer.response.error = "libcurl cannot start";
    return transfer.response;
  }
  char detail[CURL_ERROR_SIZE] = "";
  const std::unique_ptr<curl_slist, ListCloser> headers(
      curl_slist_append(nullptr, "Accept-Encoding: gzip"));
  Configure(lease.get(), request, transfer, headers.get());
  curl_easy_setopt(lease.get(), CURLOPT_ERRORBUFFER, detail);
  const CURLcode code = curl_easy_perform(lease.get());
  transfer.response.retry_after = transfer.header.retry_after;
  Judge(code, transfer, detail);
  // An empty body never reached Begin: a whole answer of no bytes replaces what was there.
  if (transfer.response.ok() && !transfer.checked && request.resume_from > 0 &&
      !transfer.IsFile() && transfer.response.status == 200 && request.restart) {
    request.restart();
  }
  return transfer.response;
}

double BackOff(int attempt, double base) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const double jitter = std::uniform_real_distribution<double>(0.75, 1.25)(random);
  return std::min(60.0, base * std::ldexp(1.0, std::min(attempt, 20))) * jitter;
}

}  // namespace retable::datasets
