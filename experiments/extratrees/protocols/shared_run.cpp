#include "experiments/extratrees/protocols/shared_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "datasets/openml/cache.hpp"

namespace retable::experiments::forests {
namespace {

// The program that started this process: its number and its start, which no other has until the
// next boot.
std::string ProgramsRun() {
  const std::string parent = std::to_string(getppid());
  const std::string stat = ReadOrEmpty("/proc/" + parent + "/stat");
  std::size_t at = stat.rfind(')');  // the name before it may hold anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  const std::string start =
      at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
  return parent + " since " + start + " of " + ReadOrEmpty("/proc/sys/kernel/random/boot_id");
}

// What this run keeps and the cell has not taken yet, or null.
nlohmann::json Fresh(const std::filesystem::path& path, const std::string& run,
                     const std::string& cell) {
  try {
    auto kept = nlohmann::json::parse(ReadWhole(path));
    const auto& taken = kept.at("taken");
    if (kept.at("run") == run && std::find(taken.begin(), taken.end(), cell) == taken.end()) {
      return kept;
    }
  } catch (const std::exception&) {
  }
  return nullptr;
}

}  // namespace

nlohmann::json SharedRun(const nlohmann::json& identity, const std::string& cell,
                         const std::function<nlohmann::json()>& make) {
  const auto path =
      datasets::Cache::DefaultRoot() / "shared" / (Sha256(identity.dump()).substr(0, 32) + ".json");
  const FileLock lock(path.string() + ".lock");
  const std::string run = ProgramsRun();
  nlohmann::json kept = Fresh(path, run, cell);
  if (kept.is_null()) {
    kept = {{"run", run}, {"taken", nlohmann::json::array()}, {"measured", make()}};
  }
  kept["taken"].push_back(cell);
  try {
    WriteAtomically(path, kept.dump());
  } catch (const std::exception&) {
  }
  return kept["measured"];
}

}  // namespace retable::experiments::forests
