#pragma once
//! @file
//! One GET over libcurl, with the manners a client owes a public server: connections kept alive by
//! each thread, at most two requests at once in a process, stalls and slow deaths noticed,
//! redirects counted, and bodies never trusted for their length. Knows http, https and file;
//! nothing of OpenML.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace retable::datasets {

struct HttpRequest {
  std::string url;
  std::int64_t resume_from = 0;  //!< asks for the rest from this byte on
  std::int64_t max_bytes = 0;    //!< gives up beyond this many; 0: no limit
  double connect_timeout = 10;   //!< seconds
  double stall_timeout = 20;     //!< seconds below 100 bytes/s
  //! Gets the body of a successful answer. Return false to give up.
  std::function<bool(std::string_view)> write;
  //! The server sends the whole body after all: forget what was written before.
  std::function<void()> restart;
  //! Bytes so far and in all (0 when the server does not say), resumed ones included.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

struct HttpResponse {
  int status = 0;              //!< 200, 206, ...; 200 for a file that was read; 0 when nothing came
  std::string error;           //!< empty when the whole body came
  std::string error_body;      //!< body of an unsuccessful answer, at most 64 KiB
  bool no_connection = false;  //!< the host is unknown, refuses, or does not answer
  bool interrupted = false;    //!< came in part: worth another try
  bool too_large = false;
  bool wrong_range = false;  //!< what came is not the rest that was asked for
  bool not_a_file = false;   //!< file:// without such a file
  double retry_after = 0;    //!< seconds, as the server asks

  bool ok() const { return error.empty() && (status == 200 || status == 206); }
};

//! Performs the request; blocks. Thread-safe. Never throws for what a server does.
HttpResponse HttpGet(const HttpRequest& request);

//! Seconds to wait before attempt `attempt` (from 0): base * 2^attempt, at most 60, give or take a
//! quarter at random, so that clients which failed together do not come back together.
double BackOff(int attempt, double base);

}  // namespace retable::datasets
