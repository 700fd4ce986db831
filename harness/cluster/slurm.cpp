#include "harness/cluster/slurm.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "base/atomic_file.hpp"
#include "harness/cli/context.hpp"
#include "harness/cli/shell.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPatience = 300;  // seconds without an answer of squeue

// The words of a run without those of these options, as one text for a shell.
std::string RunCommand(const SlurmRun& run, const std::vector<std::string>& without) {
  std::string text = ShellWord(run.program) + " run";
  for (const std::string& word : run.words) {
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::count(without, name) == 0) {
      text += " " + ShellWord(word);
    }
  }
  return text;
}

std::string LogFolder(const SlurmRun& run) {
  return fs::absolute(run.out).lexically_normal().string() + "/slurm";
}

// The numbers that a job of this name was given.
std::string Submit(const std::string& command) {
  const ShellAnswer answer = AskShell(command);
  const std::string id = answer.text.substr(0, answer.text.find_first_of(";\n"));
  if (answer.status == 127) {
    throw std::runtime_error(
        "there is no sbatch here; --submit slurm is for a machine of a Slurm cluster");
  }
  if (answer.status != 0 || id.empty() || id.find_first_not_of("0123456789") != std::string::npos) {
    throw std::runtime_error("Slurm did not take the job: " + command);
  }
  return id;
}

// An array and the job that collects.
struct Jobs {
  std::string array, collect;
};

Jobs SubmitBoth(const SlurmRun& run, std::ostream& err) {
  const SlurmCommands commands = MakeSlurmCommands(run);
  err << commands.array << "\n" << std::flush;
  Jobs jobs;
  jobs.array = Submit(commands.array);
  try {
    jobs.collect = Submit(commands.collect + jobs.array);
  } catch (const std::runtime_error&) {
    AskShell("scancel " + jobs.array);
    throw;
  }
  return jobs;
}

// How many tasks are in each state, and whether Slurm answered.
struct Queue {
  bool known = false;
  int running = 0, waiting = 0;
  bool collecting = false;
  std::string why;  // of a waiting task
  bool Empty() const { return known && running == 0 && waiting == 0 && !collecting; }
};

// Slurm forgets a job some minutes after its end: a job that it does not know has ended.
Queue ReadQueue(const Jobs& jobs) {
  const ShellAnswer answer =
      AskShell(fmt::format("squeue --noheader --array --jobs={},{} --format='%A %F %T %r' 2>&1",
                           jobs.array, jobs.collect));
  Queue queue;
  queue.known = answer.status == 0 || answer.text.find("Invalid job id") != std::string::npos;
  if (answer.status != 0) return queue;
  std::istringstream lines(answer.text);
  std::string id, array, state, why;
  while (lines >> id >> array >> state && std::getline(lines, why)) {
    const bool waits = state == "PENDING";
    if (array == jobs.collect) {
      queue.collecting = true;
      if (waits && queue.why.empty() && why != " Dependency") queue.why = why;
    } else {
      ++(waits ? queue.waiting : queue.running);
      if (waits) queue.why = why;
    }
  }
  return queue;
}

// The end of a log: its last lines say how far the task is.
std::string Tail(const std::string& path) {
  constexpr long kBytes = 4096;
  std::string text(kBytes, '\0');
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  if (std::fseek(file, -kBytes, SEEK_END) != 0) std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TaskProgress ProgressOfTasks(const std::string& folder, const std::string& array) {
  TaskProgress all;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(array + "-") || !name.ends_with(".log")) continue;
    const TaskProgress task = ProgressOfLog(Tail(file.path().string()));
    all.done += task.done;
    all.total += task.total;
  }
  return all;
}

std::string StatusLine(const std::string& folder, const Jobs& jobs, const Queue& queue) {
  const TaskProgress cells = ProgressOfTasks(folder, jobs.array);
  std::string line =
      fmt::format("array {}: {}/{} cells of the tasks begun, {} tasks running, {} waiting",
                  jobs.array, cells.done, cells.total, queue.running, queue.waiting);
  if (!queue.known) return line + ", Slurm does not answer";
  if (queue.running + queue.waiting == 0) line += ", collecting";
  if (!queue.why.empty() && queue.why != " None") line += " (" + queue.why.substr(1) + ")";
  return line;
}

volatile sig_atomic_t interrupted = 0;
void OnSignal(int) {
  interrupted = 1;
}

// Until no job is left; false when interrupted. Slurm is asked every second at first, every ten
// after a while.
bool Follow(const Jobs& jobs, const std::string& folder, bool terminal, std::ostream& err) {
  const auto begun = Clock::now();
  auto said = begun - std::chrono::hours(1), answered = begun;
  std::string before;
  while (true) {
    const Queue queue = ReadQueue(jobs);
    if (interrupted) return false;
    if (queue.Empty()) return true;
    if (queue.known) answered = Clock::now();
    if (std::chrono::duration<double>(Clock::now() - answered).count() > kPatience) {
      throw std::runtime_error(fmt::format(
          "squeue has not answered for {}; the jobs {} and {} go on, and the same command follows "
          "them again",
          DurationText(kPatience), jobs.array, jobs.collect));
    }
    std::string line = StatusLine(folder, jobs, queue);
    if (terminal) {
      err << "\r\033[K" << OneLine(std::move(line)) << std::flush;
    } else if (line != before && Clock::now() - said >= std::chrono::seconds(5)) {
      err << line << "\n" << std::flush;
      said = Clock::now();
      before = std::move(line);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    poll(nullptr, 0, static_cast<int>(1000 * std::clamp(seconds / 10, 1.0, 10.0)));
    if (interrupted) return false;
  }
}

// What the last job left; a network folder may show it some seconds late.
int Collected(const std::string& folder, const Jobs& jobs, std::ostream& out, std::ostream& err) {
  const std::string path = folder + "/" + jobs.collect;
  for (int i = 0; i < 100 && !fs::exists(path + ".status"); ++i) poll(nullptr, 0, 100);
  out << ReadOrEmpty(path + ".txt") << std::flush;
  const std::string status = ReadOrEmpty(path + ".status");
  if (!status.empty()) return std::atoi(status.c_str());
  err << fmt::format(
      "the job that collects ({}) did not end by itself; its log: {}.log; the same "
      "command goes on\n",
      jobs.collect, path);
  return kCellFailed;
}

}  // namespace

SlurmCommands MakeSlurmCommands(const SlurmRun& run) {
  std::string tasks = "1-8", options;
  bool counts = false;  // this word is the array of tasks
  for (const std::string& word : ShellWords(run.options)) {
    if (counts) {
      tasks = word;
      counts = false;
    } else if (word == "--array" || word == "-a") {
      counts = true;
    } else if (word.starts_with("--array=")) {
      tasks = word.substr(word.find('=') + 1);
    } else if (word.starts_with("-a")) {
      tasks = word.substr(2);
    } else {
      options += " " + ShellWord(word);
    }
  }
  const std::string folder = ShellWord(LogFolder(run));
  SlurmCommands commands;
  commands.array = fmt::format(
      "sbatch --parsable --job-name=retable --requeue --array={} --output={}/%A-%a.log{} --wrap={}",
      tasks, folder, options, ShellWord("exec " + RunCommand(run, {"--report"}) + " --shard=auto"));
  // Not what would measure stored cells again.
  std::string collect = RunCommand(run, {"--force", "--only", "--budget"});
  const bool budget = std::ranges::any_of(
      run.words, [](const auto& word) { return word.starts_with("--budget="); });
  if (budget) collect += " --budget=1s";
  commands.collect = fmt::format(
      "sbatch --parsable --job-name=retable-collect --output={0}/%j.log{1} --wrap={2} "
      "--dependency=afterany:",
      folder, options,
      ShellWord(fmt::format("{0} >{1}/$SLURM_JOB_ID.txt; echo $? >{1}/$SLURM_JOB_ID.status",
                            collect, folder)));
  return commands;
}

TaskProgress ProgressOfLog(const std::string& text) {
  TaskProgress progress;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    TaskProgress read;
    if (std::sscanf(line.c_str(), "[%ld/%ld", &read.done, &read.total) == 2) progress = read;
  }
  return progress;
}

int RunOnSlurm(const SlurmRun& run, std::ostream& out, std::ostream& err) {
  const std::string folder = LogFolder(run), path = folder + "/jobs";
  CheckWritable(folder);
  interrupted = 0;
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, OnSignal);
  Jobs jobs;
  std::istringstream(ReadOrEmpty(path)) >> jobs.array >> jobs.collect;
  if (!jobs.collect.empty() && !ReadQueue(jobs).Empty()) {
    err << fmt::format("array {} is still there; nothing more is submitted\n", jobs.array);
  } else {
    jobs = SubmitBoth(run, err);
    WriteFileAtomically(path, jobs.array + " " + jobs.collect + "\n");
  }
  const bool ended = Follow(jobs, folder, run.terminal, err);
  if (run.terminal) err << "\r\033[K" << std::flush;
  if (ended) return Collected(folder, jobs, out, err);
  err << fmt::format(
      "the jobs {0} and {1} go on, and the same command follows them again; to stop "
      "them: scancel {0} {1}\n",
      jobs.array, jobs.collect);
  return kInterrupted;
}

}  // namespace retable::harness
