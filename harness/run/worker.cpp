#include "harness/run/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <typeinfo>

#include "harness/plan/cell_json.hpp"
#include "harness/run/correctness_gate.hpp"

namespace retable::harness {
namespace {

constexpr int kAnswerDescriptor = 3;
constexpr double kGraceSeconds = 2;       // between SIGTERM and SIGKILL
constexpr std::size_t kErrorTail = 2000;  // characters of standard error kept

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe: too many open files");
    read = ends[0];
    write = ends[1];
  }
};

void CloseQuietly(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// Reads what is there without waiting, and no more than a few pipes full: one that is written as
// fast as it is read must not keep the watch from time and memory.
void ReadAvailable(int descriptor, std::string& text) {
  char buffer[65536];
  for (int i = 0; i < 64; ++i) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

Outcome MeasureCell(const CellConfig& cell) {
  Outcome outcome;
  try {
    return Gate(FindProtocol(cell.protocol).measure(cell));
  } catch (const std::bad_alloc& problem) {
    outcome.status = "oom";
    // A device's memory says how much is missing (algorithms/common/out_of_memory.hpp).
    const bool plain = typeid(problem) == typeid(std::bad_alloc);
    outcome.reason = plain ? "an allocation was refused" : problem.what();
  } catch (const std::exception& problem) {
    outcome.status = "failed";
    outcome.reason = problem.what();
  } catch (...) {
    outcome.status = "failed";
    outcome.reason = "threw something that is not a std::exception";
  }
  return outcome;
}

}  // namespace

int WorkerMain() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  const Outcome outcome = MeasureCell(CellFromJson(nlohmann::json::parse(text)));
  const std::string answer = ToJson(outcome).dump();
  std::size_t done = 0;
  while (done < answer.size()) {
    const ssize_t n = write(kAnswerDescriptor, answer.data() + done, answer.size() - done);
    if (n < 0 && errno != EINTR) return 1;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

Worker::Worker(const std::string& program, const CellConfig& cell, const WorkerLimits& limits)
    : limits_(limits), started_(std::chrono::steady_clock::now()) {
  Pipe input, answer, errors;
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0)
    throw std::runtime_error("no process can be started: " + std::string(std::strerror(errno)));
  if (child_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    // Move the three ends out of the way first: a later dup2 must not overwrite an earlier one.
    const int in = fcntl(input.read, F_DUPFD_CLOEXEC, 10);
    const int out = fcntl(answer.write, F_DUPFD_CLOEXEC, 10);
    const int err = fcntl(errors.write, F_DUPFD_CLOEXEC, 10);
    dup2(in, STDIN_FILENO);
    dup2(err, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    dup2(out, kAnswerDescriptor);
    char worker[] = "worker";
    char* arguments[] = {const_cast<char*>(program.c_str()), worker, nullptr};
    execv(program.c_str(), arguments);
    _exit(127);
  }
  setpgid(child_, child_);
  close(input.read);
  close(answer.write);
  close(errors.write);
  answer_ = answer.read;
  errors_ = errors.read;
  fcntl(answer_, F_SETFL, O_NONBLOCK);
  fcntl(errors_, F_SETFL, O_NONBLOCK);
  // A cell is far smaller than a pipe's buffer, so that this cannot block.
  const std::string text = ToJson(cell).dump();
  const auto previous = signal(SIGPIPE, SIG_IGN);
  const ssize_t written = write(input.write, text.data(), text.size());
  signal(SIGPIPE, previous);
  close(input.write);
  if (written != static_cast<ssize_t>(text.size())) Stop("crash", "the worker did not start");
}

Worker::~Worker() {
  if (child_ > 0) {
    kill(-child_, SIGKILL);
    int ignored = 0;
    waitpid(child_, &ignored, 0);
  }
  CloseQuietly(answer_);
  CloseQuietly(errors_);
}

double Worker::Elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void Worker::Drain() {
  if (answer_ >= 0) ReadAvailable(answer_, answer_text_);
  if (errors_ >= 0) ReadAvailable(errors_, error_text_);
  if (error_text_.size() > 2 * kErrorTail) {
    error_text_.erase(0, error_text_.size() - kErrorTail);
  }
}

void Worker::WatchMemory() {
  std::ifstream statm("/proc/" + std::to_string(child_) + "/statm");
  double total = 0, resident = 0;
  if (!(statm >> total >> resident)) return;
  const double mib = resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
  peak_mib_ = std::max(peak_mib_, mib);
  if (mib > limits_.memory_mib) {
    Stop("oom", fmt::format("used {:.0f} MiB, over its limit of {:.0f} MiB (memory_limit)", mib,
                            limits_.memory_mib));
  }
}

void Worker::Stop(const std::string& status, const std::string& reason) {
  if (!stop_status_.empty()) return;
  stop_status_ = status;
  stop_reason_ = reason;
  stopped_at_ = std::chrono::steady_clock::now();
  // Memory does not wait for a polite end.
  kill(-child_, status == "oom" ? SIGKILL : SIGTERM);
}

std::optional<WorkerResult> Worker::Poll() {
  Drain();
  int wait_status = 0;
  rusage usage{};
  const pid_t ended = wait4(child_, &wait_status, WNOHANG, &usage);
  if (ended == child_) {
    peak_mib_ = std::max(peak_mib_, static_cast<double>(usage.ru_maxrss) / 1024);
    Drain();
    kill(-child_, SIGKILL);  // whatever it left behind
    child_ = -1;
    return Finish(wait_status);
  }
  WatchMemory();
  if (Elapsed() > limits_.seconds) {
    Stop("timeout", fmt::format("stopped after {:g} s (time_limit)", limits_.seconds));
  }
  if (!stop_status_.empty()) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - stopped_at_;
    if (since.count() > kGraceSeconds) kill(-child_, SIGKILL);
  }
  return std::nullopt;
}

WorkerResult Worker::Finish(int wait_status) {
  WorkerResult result;
  result.seconds = Elapsed();
  result.peak_mib = peak_mib_;
  Outcome& outcome = result.outcome;
  if (!stop_status_.empty()) {
    outcome.status = stop_status_;
    outcome.reason = stop_reason_;
    return result;
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
    try {
      outcome = OutcomeFromJson(nlohmann::json::parse(answer_text_));
      return result;
    } catch (const std::exception& problem) {
      outcome = Outcome{};
      outcome.status = "crash";
      outcome.reason = fmt::format("the worker's answer cannot be read ({})", problem.what());
      return result;
    }
  }
  outcome.status = "crash";
  const std::string last = LastLine(error_text_);
  outcome.reason =
      WIFSIGNALED(wait_status)
          ? fmt::format("killed by signal {} ({})", WTERMSIG(wait_status),
                        strsignal(WTERMSIG(wait_status)))
          : fmt::format("ended with exit code {} and no answer", WEXITSTATUS(wait_status));
  if (!last.empty()) outcome.reason += "; its last words: " + last;
  return result;
}

}  // namespace retable::harness
