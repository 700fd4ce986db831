#include "harness/run/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/cli/reason.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/run/correctness_gate.hpp"

namespace retable::harness {
namespace {

constexpr int kAnswerDescriptor = 3;
// Seconds between two looks at the child's own children; more where a look takes long.
constexpr double kDescendantsPause = 0.05;
constexpr std::size_t kErrorTail = 2000;  // characters of standard error kept
constexpr int kLastLines = 3;             // lines of it in the reason

// This program, by the name it had when it began: what a build writes there later is another one.
const std::string kOwnPath = [] {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}();

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
  char buffer[16384];
  for (int i = 0; i < 256; ++i) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
}

// The last lines of a text that are not empty, as one.
std::string LastLines(std::string text) {
  std::string lines;
  for (int i = 0; i < kLastLines; ++i) {
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    if (text.empty()) break;
    const std::size_t begin = text.find_last_of('\n') + 1;  // npos + 1 is 0
    const std::size_t word = text.find_first_not_of(" \t\r", begin);
    lines = text.substr(word) + (lines.empty() ? "" : " | " + lines);
    text.resize(begin);
  }
  return lines;
}

Outcome MeasureCell(const CellConfig& cell) {
  Outcome outcome;
  try {
    Protocol& protocol = FindProtocol(cell.protocol);
    outcome = Gate(protocol.measure(cell));
    const std::vector<std::string> known = protocol.metrics();
    for (const Metric& metric : outcome.metrics) {
      if (std::ranges::count(known, metric.name) > 0) continue;
      throw std::logic_error("the protocol reports \"" + metric.name +
                             "\", which its metrics() lack");
    }
    return outcome;
  } catch (const std::bad_alloc& problem) {
    outcome.status = "oom";
    outcome.reason = ReasonOf(problem);
  } catch (const std::exception& problem) {
    outcome.status = "failed";
    outcome.reason = ReasonOf(problem);
  } catch (...) {
    outcome.status = "failed";
    outcome.reason = "threw something that is not a std::exception";
  }
  return outcome;
}

// MiB; 0 for a process that has ended.
double ResidentMib(pid_t process) {
  std::ifstream statm("/proc/" + std::to_string(process) + "/statm");
  double total = 0, resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Of all that a process started, and what that started; none where the kernel has no such lists.
double DescendantsMib(pid_t process) {
  double mib = 0;
  std::error_code error;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child; children >> child;) mib += ResidentMib(child) + DescendantsMib(child);
  }
  return mib;
}

// Ends this process and what it started: a contender in another language, and whatever that
// started.
void EndGroup(int) {
  kill(0, SIGKILL);
}

}  // namespace

int WorkerMain() {
  signal(SIGTERM, EndGroup);
  const std::string text((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  const Outcome outcome = MeasureCell(CellFromJson(nlohmann::json::parse(text)));
  const std::string answer = JsonText(ToJson(outcome));
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
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the worker then ends its whole group
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
    // What runs now is what measures, though the file be replaced: keys name its sources.
    execv(program == kOwnPath ? "/proc/self/exe" : program.c_str(), arguments);
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
  const std::string text = JsonText(ToJson(cell));
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
  double mib = ResidentMib(child_);
  bool over = mib > limits_.memory_mib;
  if (const double begun = Elapsed(); begun >= next_look_) {
    mib += DescendantsMib(child_);
    next_look_ = Elapsed() + std::max(kDescendantsPause, 50 * (Elapsed() - begun));
    // Twice: a process that is about to start another program shows its parent's memory.
    looks_over_ = mib > limits_.memory_mib ? looks_over_ + 1 : 0;
    over = over || looks_over_ > 1;
  }
  peak_mib_ = std::max(peak_mib_, mib);
  if (over) {
    Stop("oom", fmt::format("used {:.0f} MiB, over its limit of {:.0f} MiB (memory_limit)", mib,
                            limits_.memory_mib));
  }
}

void Worker::Stop(const std::string& status, const std::string& reason) {
  if (!stop_status_.empty()) return;
  stop_status_ = status;
  stop_reason_ = reason;
  kill(-child_, SIGKILL);
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
    AddLastWords(outcome);
    return result;
  }
  // A method may end the process by exit(0).
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && !answer_text_.empty()) {
    try {
      outcome = OutcomeFromJson(nlohmann::json::parse(answer_text_));
      if (outcome.status == "failed") AddLastWords(outcome);
      return result;
    } catch (const std::exception& problem) {
      outcome = Outcome{};
      outcome.status = "crash";
      outcome.reason = fmt::format("the worker's answer cannot be read ({})", problem.what());
      return result;
    }
  }
  outcome.status = "crash";
  outcome.reason =
      WIFSIGNALED(wait_status)
          ? fmt::format("killed by signal {} ({})", WTERMSIG(wait_status),
                        strsignal(WTERMSIG(wait_status)))
          : fmt::format("ended with exit code {} and no answer", WEXITSTATUS(wait_status));
  AddLastWords(outcome);
  return result;
}

WorkerResult RunCell(const std::string& program, const CellConfig& cell,
                     const WorkerLimits& limits) {
  Worker worker(program, cell, limits);
  while (true) {
    if (auto result = worker.Poll()) return std::move(*result);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// What was written to standard error, by the worker or by the contender that it started.
void Worker::AddLastWords(Outcome& outcome) const {
  const std::string last = LastLines(error_text_);
  if (!last.empty()) outcome.reason += "; its last words: " + last;
}

}  // namespace retable::harness
