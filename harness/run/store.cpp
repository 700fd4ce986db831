#include "harness/run/store.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/run/correctness_gate.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

constexpr int kSchema = 2;  // 1: without a checksum
constexpr off_t kMostBytes = off_t{256} << 20;

// Before the checksum and after it; the file's third line begins what it is of.
const std::string kHead = "{\n \"sha256\": \"", kNeck = "\",\n";

std::string Remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "the disk is full; free some space and run the same command again: finished cells are "
             "kept";
    case EFBIG:
      return "the file is larger than this process may write; raise the limit (ulimit -f) and run "
             "again";
    case EACCES:
    case EPERM:
    case EROFS:
      return "it is not writable; choose another folder with --out";
    case EEXIST:
    case ENOTDIR:
      return "it is not a folder; choose another with --out";
    default:
      return std::string(std::strerror(error)) + "; choose another folder with --out";
  }
}

[[noreturn]] void Fail(const std::string& path, int error) {
  throw StoreError(path + ": " + Remedy(error));
}

std::string CellPath(const std::string& folder, const std::string& key) {
  return folder + "/cells/" + key + ".json";
}

nlohmann::json ToJson(const CellRecord& record) {
  nlohmann::json json = retable::harness::ToJson(record.outcome);
  // Attachments are files of their own beside the cell.
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [suffix, content] : record.outcome.attachments) names.push_back(suffix);
  json["attachments"] = names;
  json["schema"] = kSchema;
  json["key"] = record.key;
  json["cell"] = retable::harness::ToJson(record.config);
  json["seconds"] = record.seconds;
  json["peak_mib"] = record.peak_mib;
  json["started"] = record.started;
  json["environment"] = record.environment;
  json["command"] = record.command;
  return json;
}

// Two statements of a record that cannot both be true.
void RefuseContradiction(const CellRecord& record) {
  static const std::set<std::string> kStatuses = {"ok",    "wrong_result", "failed",  "timeout",
                                                  "crash", "oom",          "skipped", "not_run"};
  const Outcome& outcome = record.outcome;
  if (!kStatuses.contains(outcome.status)) {
    throw std::runtime_error("there is no status \"" + outcome.status + "\"");
  }
  const Outcome judged = Gate(outcome);
  if (judged.status != outcome.status) {
    throw std::runtime_error(fmt::format("it contradicts itself: its status is {}, yet {}",
                                         outcome.status, judged.reason));
  }
  if (record.seconds < 0) {
    throw std::runtime_error(fmt::format("a cell cannot run for {} s", record.seconds));
  }
}

CellRecord FromJson(nlohmann::json json, int schema) {
  // Whole by type: 1e300 made an integer is undefined behaviour.
  const auto written = json.at("schema").get_ref<const nlohmann::json::number_integer_t&>();
  if (written != schema) {
    throw std::runtime_error(schema == kSchema ? fmt::format("schema {} is not known", written)
                                               : "it has no checksum");
  }
  CellRecord record;
  json["attachments"] = nlohmann::json::object();
  record.outcome = OutcomeFromJson(json);
  record.key = json.at("key").get<std::string>();
  record.config = CellFromJson(json.at("cell"));
  record.seconds = json.at("seconds").get<double>();
  record.peak_mib = json.at("peak_mib").get<double>();
  record.started = json.at("started").get<std::string>();
  record.environment = json.at("environment").get<std::string>();
  record.command = json.at("command").get<std::string>();
  record.checked = schema == kSchema;
  RefuseContradiction(record);
  return record;
}

// What a cell's file holds; nothing where there is none. A pipe is not waited for.
std::optional<std::string> ReadCellFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    // Says nothing of the file.
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      throw StoreError(path + ": " + std::strerror(error));
    }
    if (error == EACCES || error == EPERM) {
      throw StoreError(
          fmt::format("{}: {}; make it readable, such as by chmod, and run the same "
                      "command again",
                      path, std::strerror(error)));
    }
    throw std::runtime_error(std::strerror(error));
  }
  std::string text;
  std::string problem;
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    problem = "it is not a regular file";
  } else if (found.st_size > kMostBytes) {
    problem = fmt::format("its {} bytes are more than a cell has", found.st_size);
  } else {
    text.resize(static_cast<std::size_t>(found.st_size));
    std::size_t done = 0;
    ssize_t n = 1;
    while (done < text.size() && n != 0) {
      n = read(file, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) {
        problem = std::strerror(errno);
        break;
      }
      if (n > 0) done += static_cast<std::size_t>(n);
    }
    text.resize(done);
  }
  close(file);
  if (!problem.empty()) throw std::runtime_error(problem);
  return text;
}

// The first free name of its kind: what was set aside before stays.
std::string AsideName(const std::string& path) {
  std::string name = path + ".damaged";
  std::error_code ignored;
  for (int i = 2; fs::exists(fs::symlink_status(name, ignored)); ++i) {
    name = fmt::format("{}.damaged.{}", path, i);
  }
  return name;
}

}  // namespace

std::string CellText(const CellRecord& record) {
  const std::string json = JsonText(ToJson(record), 1) + "\n";
  return WithChecksum(json.substr(json.find('\n') + 1));
}

std::string WithChecksum(const std::string& body) {
  return kHead + Sha256(body) + kNeck + body;
}

CellRecord CellFromText(const std::string& text) {
  if (!text.starts_with(kHead)) return FromJson(nlohmann::json::parse(text), 1);
  constexpr std::size_t kDigits = 64;
  const std::size_t begin = kHead.size() + kDigits + kNeck.size();
  const std::string body = text.size() < begin ? "" : text.substr(begin);
  if (!text.starts_with(kHead + Sha256(body) + kNeck)) {
    throw std::runtime_error("its checksum is not that of its content");
  }
  return FromJson(nlohmann::json::parse(text), kSchema);
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

bool IsBeingWritten(const std::string& folder) {
  const int lock = open((folder + "/.lock").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (lock < 0) return false;
  const bool held = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(lock);
  return held;
}

void CheckWritable(const std::string& folder) {
  try {
    MakeFolder(folder);
  } catch (const FileError& problem) {
    Fail(folder, problem.error);
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) Fail(folder, errno);
}

void WriteFileAtomically(const std::string& path, const std::string& content) {
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw StoreError(path + ": it is not a regular file; remove it and run the same command again");
  }
  try {
    WriteAtomically(path, content);
  } catch (const FileError& problem) {
    Fail(path, problem.error);
  }
}

Store::Store(std::string folder, LockMode mode) : folder_(std::move(folder)) {
  const fs::path cells = fs::path(folder_) / "cells";
  try {
    MakeFolder(cells);
    // A run may have been killed between giving a name and syncing it.
    SyncFolder(cells);
    SyncFolder(cells / "..");
  } catch (const FileError& problem) {
    Fail(folder_, problem.error);
  }
  if (mode == LockMode::kExclusive) Lock();
  RemoveStaleTemporaries(folder_);
  std::error_code ignored;
  for (const auto& part : fs::directory_iterator(folder_, ignored)) {
    if (part.is_directory(ignored)) RemoveStaleTemporaries(part.path());
  }
}

void Store::Lock() {
  const std::string path = folder_ + "/.lock";
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) Fail(folder_, errno);
  bool held = flock(lock_, LOCK_EX | LOCK_NB) != 0;
  if (held) {  // perhaps by IsBeingWritten, for a moment
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held = flock(lock_, LOCK_EX | LOCK_NB) != 0;
  }
  if (held) {
    char holder[64] = {};
    const ssize_t n = pread(lock_, holder, sizeof holder - 1, 0);
    close(lock_);
    lock_ = -1;
    throw StoreError(fmt::format(
        "{} is in use by another run{}; wait for it, or choose another folder with --out", folder_,
        n > 0 ? " (process " + std::string(holder) + ")" : ""));
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock_, 0) != 0 || pwrite(lock_, pid.data(), pid.size(), 0) < 0) {
    const int failure = errno;
    close(lock_);
    lock_ = -1;
    Fail(folder_, failure);
  }
}

Store::~Store() {
  if (lock_ >= 0) close(lock_);
}

std::optional<CellRecord> LoadRecord(const std::string& folder, const std::string& key,
                                     std::string* problem) {
  const std::string path = CellPath(folder, key);
  try {
    const auto text = ReadCellFile(path);
    if (!text) return std::nullopt;
    CellRecord record = CellFromText(*text);
    if (record.key != key) throw std::runtime_error("it is of the cell " + record.key);
    return record;
  } catch (const StoreError&) {
    throw;
  } catch (const std::exception& why) {
    if (problem) *problem = fmt::format("{} is damaged ({})", path, why.what());
    return std::nullopt;
  }
}

std::string KeyOfFile(const std::string& name) {
  constexpr std::size_t kDigits = 64;
  return name.size() == kDigits + 5 && name.ends_with(".json") ? name.substr(0, kDigits) : "";
}

void Store::Save(const CellRecord& record) const {
  const std::string path = CellPath(folder_, record.key);
  std::string problem;
  LoadRecord(folder_, record.key, &problem);
  try {
    if (!problem.empty()) MoveFile(path, AsideName(path));
  } catch (const FileError& failure) {
    Fail(path, failure.error);
  }
  for (const auto& [suffix, content] : record.outcome.attachments) {
    WriteFileAtomically(folder_ + "/cells/" + record.key + "." + suffix, content);
  }
  WriteFileAtomically(path, CellText(record));
}

}  // namespace retable::harness
