#include "harness/run/store.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/atomic_file.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/value_json.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

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
  json["schema"] = 1;
  json["key"] = record.key;
  json["cell"] = retable::harness::ToJson(record.config);
  json["seconds"] = record.seconds;
  json["peak_mib"] = record.peak_mib;
  json["started"] = record.started;
  json["environment"] = record.environment;
  json["command"] = record.command;
  return json;
}

CellRecord FromJson(nlohmann::json json) {
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
  return record;
}

}  // namespace

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

void CheckWritable(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) Fail(folder, error.value());
  if (access(folder.c_str(), W_OK | X_OK) != 0) Fail(folder, errno);
}

void WriteFileAtomically(const std::string& path, const std::string& content) {
  try {
    WriteAtomically(path, content);
  } catch (const FileError& problem) {
    Fail(path, problem.error);
  }
}

Store::Store(std::string folder, LockMode mode) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(fs::path(folder_) / "cells", error);
  if (error) Fail(folder_, error.value());
  if (mode == LockMode::kNone) return;
  const std::string path = folder_ + "/.lock";
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) Fail(folder_, errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
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
                                     std::string* note) {
  const std::string path = CellPath(folder, key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  try {
    CellRecord record = FromJson(nlohmann::json::parse(text.str()));
    if (record.key != key) throw std::runtime_error("the key inside is another");
    return record;
  } catch (const std::exception& problem) {
    if (note) *note = fmt::format("{} cannot be read ({})", path, problem.what());
    return std::nullopt;
  }
}

std::optional<CellRecord> Store::Load(const std::string& key, std::string* note) const {
  std::string problem;
  auto record = LoadRecord(folder_, key, &problem);
  if (!problem.empty()) {
    const std::string path = CellPath(folder_, key);
    std::error_code ignored;
    fs::rename(path, path + ".torn", ignored);
    if (note) *note = problem + "; set aside as " + path + ".torn, the cell is measured again";
  }
  return record;
}

void Store::Save(const CellRecord& record) const {
  for (const auto& [suffix, content] : record.outcome.attachments) {
    WriteFileAtomically(folder_ + "/cells/" + record.key + "." + suffix, content);
  }
  WriteFileAtomically(CellPath(folder_, record.key), JsonText(ToJson(record), 1) + "\n");
}

}  // namespace retable::harness
