#pragma once
//! @file
//! For tests only: a web server on 127.0.0.1 that misbehaves as told. A handler gets each request
//! and may send anything, in any pieces, stall, or reset the connection.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace retable::datasets {

struct TestRequest {
  std::string path;
  std::string head;       //!< the whole request
  long range_start = -1;  //!< N in "Range: bytes=N-", or -1
  int number = 0;         //!< how many requests for this path came before
};

class TestConnection {
 public:
  TestConnection(int socket, const std::atomic<bool>& stop) : socket_(socket), stop_(stop) {}

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        closed_ = true;
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  //! Announces the whole body and sends so many bytes of it.
  void Begin(std::string_view body, std::size_t sent) {
    Send("HTTP/1.1 200 X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    Send(body.substr(0, sent));
  }
  void Reply(int status, std::string_view body, const std::string& headers = "") {
    Send("HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n");
    Send(body);
  }
  void Close() { closed_ = true; }
  //! RST instead of FIN.
  void Reset() {
    const linger now = {1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    closed_ = true;
  }
  //! Says nothing, until the time is up or the server stops.
  void Stall(double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!stop_ && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    closed_ = true;
  }
  bool closed() const { return closed_; }

 private:
  int socket_;
  const std::atomic<bool>& stop_;
  bool closed_ = false;
};

class TestServer {
 public:
  using Handler = std::function<void(const TestRequest&, TestConnection&)>;

  explicit TestServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, plain, size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, plain, &size) != 0) {
      throw std::runtime_error("no port on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~TestServer() {
    stop_ = true;
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::string base() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  int most_at_once() const { return most_at_once_; }
  //! Heads of all requests so far.
  std::vector<TestRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int CountPath(const std::string& path) const {
    int count = 0;
    for (const TestRequest& request : requests()) count += request.path == path;
    return count;
  }

 private:
  void Accept() {
    while (!stop_) {
      pollfd wait = {listener_, POLLIN, 0};
      if (poll(&wait, 1, 20) <= 0) continue;
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      ++connections_;
      threads_.emplace_back([this, connection] { Serve(connection); });
    }
  }

  bool ReadHead(int connection, std::string& head) {
    head.clear();
    char piece[4096];
    while (!stop_ && head.find("\r\n\r\n") == head.npos) {
      pollfd wait = {connection, POLLIN, 0};
      if (poll(&wait, 1, 20) <= 0) continue;
      const ssize_t got = recv(connection, piece, sizeof piece, 0);
      if (got <= 0) return false;
      head.append(piece, static_cast<std::size_t>(got));
    }
    return !stop_;
  }

  TestRequest Parse(const std::string& head) {
    TestRequest request;
    request.head = head;
    const auto first = head.find(' ');
    request.path = head.substr(first + 1, head.find(' ', first + 1) - first - 1);
    const auto range = head.find("Range: bytes=");
    if (range != head.npos) request.range_start = std::stol(head.substr(range + 13));
    const std::lock_guard lock(mutex_);
    for (const TestRequest& earlier : requests_) request.number += earlier.path == request.path;
    requests_.push_back(request);
    return request;
  }

  void Serve(int socket) {
    TestConnection connection(socket, stop_);
    std::string head;
    while (!connection.closed() && ReadHead(socket, head)) {
      const int now = ++at_once_;
      int most = most_at_once_;
      while (now > most && !most_at_once_.compare_exchange_weak(most, now)) {
      }
      handler_(Parse(head), connection);
      --at_once_;
    }
    close(socket);
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> at_once_{0};
  std::atomic<int> most_at_once_{0};
  mutable std::mutex mutex_;
  std::vector<TestRequest> requests_;
  std::thread acceptor_;
  std::vector<std::thread> threads_;
};

}  // namespace retable::datasets
