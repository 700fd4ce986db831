#include "experiments/common/resident_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace retable::experiments {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

std::size_t ItemBytes(const std::string& type) {
  static const std::map<std::string, std::size_t> sizes = {
      {"uint8", 1},  {"int32", 4},   {"uint32", 4}, {"int64", 8},
      {"uint64", 8}, {"float32", 4}, {"float64", 8}};
  const auto found = sizes.find(type);
  if (found == sizes.end()) throw std::runtime_error("unknown type of array \"" + type + "\"");
  return found->second;
}

std::size_t Bytes(const std::string& type, const std::vector<std::uint64_t>& shape) {
  std::size_t bytes = ItemBytes(type);
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && bytes > (std::size_t{1} << 40) / extent) {
      throw std::runtime_error("an array of more than 2^40 bytes");
    }
    bytes *= extent;
  }
  return bytes;
}

// A program that ended must be an error of the write, not a signal.
class NoPipeSignal {
 public:
  NoPipeSignal() : previous_(signal(SIGPIPE, SIG_IGN)) {}
  ~NoPipeSignal() { signal(SIGPIPE, previous_); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  void (*previous_)(int);
};

}  // namespace

struct ResidentProgram::Process {
  pid_t child = -1;
  pid_t group = -1;  // its own, where it has one
  int to = -1, from = -1;
  std::string command;
  std::string read_ahead;

  ~Process() {
    if (to >= 0) close(to);
    if (from >= 0) close(from);
    // It was told to end by the end of its input; nobody waits for more.
    if (group > 0) kill(-group, SIGKILL);
    if (child > 0) {
      kill(child, SIGKILL);
      int ignored = 0;
      waitpid(child, &ignored, 0);
    }
  }
};

ResidentProgram::ResidentProgram(const std::string& command, int patience_ms, bool own_group)
    : process_(std::make_unique<Process>()) {
  if (command.empty()) throw std::invalid_argument("an external contender needs its command");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw std::runtime_error("no pipe: too many open files");
  process_->to = in[1];
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    throw std::runtime_error("no pipe: too many open files");
  }
  process_->from = out[0];
  process_->command = command;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    if (own_group) setpgid(0, 0);
    const char* root = std::getenv("RETABLE_ROOT");
    if (root != nullptr && chdir(root) != 0) _exit(126);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  if (child < 0) throw std::runtime_error("no process can be started");
  process_->child = child;
  if (own_group) {
    setpgid(child, child);  // whichever of the two is first
    process_->group = child;
  }
  const auto hello = nlohmann::json::parse(ReceiveLine(patience_ms), nullptr, false);
  if (hello.is_object() && hello.contains("unavailable") && hello["unavailable"].is_string()) {
    throw ProgramUnavailable(hello["unavailable"].get<std::string>());
  }
  if (!hello.is_object() || !hello.contains("ready") || !hello["ready"].is_string()) {
    throw std::runtime_error(command +
                             ": its first line must be {\"ready\": \"name and version\"}");
  }
  description_ = hello["ready"].get<std::string>();
}

ResidentProgram::~ResidentProgram() = default;

void ResidentProgram::Ended() {
  int status = 0;
  waitpid(process_->child, &status, 0);
  process_->child = -1;
  const std::string how = WIFSIGNALED(status)
                              ? "was ended by signal " + std::to_string(WTERMSIG(status))
                              : "ended with exit code " + std::to_string(WEXITSTATUS(status));
  throw std::runtime_error(process_->command + ": " + how + " instead of answering");
}

void ResidentProgram::Send(const void* data, std::size_t bytes) {
  const NoPipeSignal guard;
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = write(process_->to, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Ended();
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

std::string ResidentProgram::ReceiveLine(int patience_ms) {
  using Milliseconds = std::chrono::milliseconds;
  const auto until = std::chrono::steady_clock::now() + Milliseconds(patience_ms);
  std::string& ahead = process_->read_ahead;
  std::array<char, 4096> buffer;
  std::size_t end = 0;
  while ((end = ahead.find('\n')) == std::string::npos) {
    const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
    pollfd more{process_->from, POLLIN, 0};
    if (patience_ms >= 0 &&
        poll(&more, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) == 0) {
      throw std::runtime_error(process_->command + ": says nothing");
    }
    const ssize_t n = read(process_->from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Ended();
    ahead.append(buffer.data(), static_cast<std::size_t>(n));
    if (ahead.size() > kLongestLine && ahead.find('\n') == std::string::npos) {
      throw std::runtime_error(process_->command + ": a line of more than a megabyte");
    }
  }
  std::string line = ahead.substr(0, end);
  ahead.erase(0, end + 1);
  return line;
}

void ResidentProgram::Receive(void* data, std::size_t bytes) {
  std::string& ahead = process_->read_ahead;
  char* at = static_cast<char*>(data);
  const std::size_t there = std::min(bytes, ahead.size());
  std::copy_n(ahead.data(), there, at);  // `at` may be null when nothing is asked for
  ahead.erase(0, there);
  at += there;
  bytes -= there;
  while (bytes > 0) {
    const ssize_t n = read(process_->from, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) Ended();
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

nlohmann::json ResidentProgram::Ask(const nlohmann::json& request,
                                    std::span<const SentArray> arrays) {
  pollfd early{process_->from, POLLIN, 0};
  if (!process_->read_ahead.empty() || (poll(&early, 1, 0) > 0 && (early.revents & POLLIN) != 0)) {
    throw std::runtime_error(process_->command + ": answered before it was asked");
  }
  const std::string line = request.dump() + "\n";
  Send(line.data(), line.size());
  for (const SentArray& array : arrays) Send(array.bytes.data(), array.bytes.size());
  const std::string text = ReceiveLine();
  auto reply = nlohmann::json::parse(text, nullptr, false);
  if (!reply.is_object() || !reply.contains("ok") || !reply["ok"].is_boolean()) {
    throw std::runtime_error(process_->command + ": not an answer: " + text.substr(0, 200));
  }
  if (!reply["ok"].get<bool>()) {
    const auto& why = reply["error"];
    throw std::runtime_error(process_->command + ": " +
                             (why.is_string() ? why.get<std::string>() : "failed"));
  }
  return reply;
}

void ResidentProgram::Load(nlohmann::json header, const std::vector<SentArray>& arrays) {
  header["do"] = "load";
  header["arrays"] = nlohmann::json::array();
  for (const SentArray& array : arrays) {
    header["arrays"].push_back(
        {{"name", array.name}, {"type", array.type}, {"shape", array.shape}});
  }
  Ask(header, arrays);
}

void ResidentProgram::Run() {
  Ask({{"do", "run"}});
}

std::vector<WireArray> ResidentProgram::Answer(nlohmann::json header) {
  header["do"] = "answer";
  const nlohmann::json reply = Ask(header);
  std::vector<WireArray> arrays;
  try {
    for (const auto& item : reply.value("arrays", nlohmann::json::array())) {
      arrays.push_back({item.value("name", ""),
                        item.at("type").get<std::string>(),
                        item.at("shape").get<std::vector<std::uint64_t>>(),
                        {}});
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(process_->command +
                             R"(: "arrays" is a list of {"name": text, "type": text, "shape": )"
                             "[numbers]}, not " +
                             reply["arrays"].dump().substr(0, 200));
  }
  for (WireArray& array : arrays) {
    array.bytes.resize(Bytes(array.type, array.shape));
    Receive(array.bytes.data(), array.bytes.size());
  }
  return arrays;
}

double ResidentProgram::RoundTrip() {
  std::vector<double> seconds;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    Ask({{"do", "ping"}});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds.push_back(took.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + 10, seconds.end());
  return seconds[10];
}

ResidentState StateOfResident(const std::string& command) {
  static std::map<std::string, ResidentState> known;
  const auto [entry, unknown] = known.try_emplace(command);
  ResidentState& state = entry->second;
  if (!unknown) return state;
  try {
    // What else it says belongs to its cell, not on the screen.
    constexpr int kPatienceMs = 20000;
    const ResidentProgram program(command + " 2>/dev/null", kPatienceMs, true);
    state.description = program.description();
  } catch (const ProgramUnavailable& lack) {
    state.lack = "the contender " + command + " is not available: " + lack.what();
  } catch (const std::exception&) {
  }
  return state;
}

std::optional<std::string> WhyNotExternal(const harness::CellConfig& cell) {
  const auto command = cell.parameters.find("command");
  if (cell.algorithm != "External" || command == cell.parameters.end()) return std::nullopt;
  return StateOfResident(std::get<std::string>(command->second)).lack;
}

std::string DescribeResident(ResidentProgram& program) {
  return fmt::format("runs of {}, resident; a round trip of {:.0f} us included",
                     program.description(), 1e6 * program.RoundTrip());
}

}  // namespace retable::experiments
