#include "harness/report/origins/provenance.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

using nlohmann::json;

std::string PathOf(const std::string& folder, const std::string& hash) {
  return folder + "/runs/" + hash + ".json";
}

std::string WithChanges(const std::string& commit, bool changed) {
  return commit.empty() || !changed ? commit : commit + "+changes";
}

}  // namespace

std::string CommitText(const json& environment) {
  const json git = environment.value("git", json::object());
  return WithChanges(
      git.value("commit", "").substr(0, 12),
      git.value("dirty", false) || git.value("built", json::object()).value("dirty", false));
}

std::string Origin::Text() const {
  const std::string first = started.substr(0, 10), last = finished.substr(0, 10);
  return fmt::format("profile {}, {}{}, commit {}, {}", profile,
                     first.empty() ? "date not known" : first, first == last ? "" : " to " + last,
                     commit.empty() ? "not known" : commit,
                     machine.empty() ? "machine not known" : machine);
}

std::string MachineText(const json& environment) {
  std::string text;
  if (environment.contains("cpu")) {
    const json& cpu = environment["cpu"];
    text = cpu.value("model", "a processor");
    const int threads = cpu.value("threads_allowed", 0);
    if (threads > 0) text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  }
  std::map<std::string, int> cards;
  const json gpus = environment.value("gpu", json::array());
  for (const json& gpu : gpus) {
    // Two transfers a cycle; a driver that does not tell the clock gives 0.
    const double gigabytes =
        2e-3 * gpu.value("memory_clock_mhz", 0.0) * gpu.value("memory_bus_bits", 0.0) / 8;
    ++cards[gpu.value("name", "a GPU") +
            (gigabytes > 0 ? fmt::format(", {:.0f} GB/s", std::round(gigabytes / 10) * 10) : "")];
  }
  for (const auto& [name, count] : cards) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : "") + name;
  }
  return text;
}

std::string EnvironmentHash(const std::string& environment) {
  return Sha256(environment).substr(0, 16);
}

void WriteOrigin(const std::string& folder, const std::string& environment) {
  WriteFileAtomically(PathOf(folder, EnvironmentHash(environment)), environment + "\n");
}

json EnvironmentOfRun(const std::string& folder, const std::string& hash) {
  for (const std::string& path : {PathOf(folder, hash), folder + "/environment.json"}) {
    std::string text = ReadOrEmpty(path);
    if (text.empty()) continue;
    text.pop_back();  // the end of the line
    json environment = json::parse(text, nullptr, false);
    if (environment.is_object() && EnvironmentHash(text) == hash) return environment;
  }
  return nullptr;
}

std::string CardText(const json& environment) {
  const json gpus = environment.value("gpu", json::array());
  if (!gpus.is_array() || gpus.empty()) return "";
  const std::string card = gpus[0].value("card", "");
  return gpus[0].value("name", "a GPU") + (card.empty() ? "" : ", card " + card);
}

std::string StretchOf(const json& environment, const std::string& device) {
  if (!environment.is_object()) return "";
  const json git = environment.value("git", json::object());
  const json cpu = environment.value("cpu", json::object());
  // Of the tree as it was then: cells' keys tell what the program was built from.
  json stretch = {WithChanges(git.value("commit", "").substr(0, 12), git.value("dirty", false)),
                  cpu.value("model", ""), cpu.value("threads_allowed", 0),
                  environment.value("os", json::object()).value("boot", "")};
  if (device == "cuda") stretch.push_back(CardText(environment));
  return Sha256(stretch.dump()).substr(0, 12);
}

const std::string& Stretches::Of(const std::string& hash, const std::string& device) {
  const auto [known, fresh] = known_.try_emplace(hash + device);
  if (fresh) known->second = StretchOf(EnvironmentOfRun(folder_, hash), device);
  return known->second;
}

Origin OriginOfRun(const std::string& folder, const std::string& hash) {
  Origin origin;
  json environment = EnvironmentOfRun(folder, hash);
  if (environment.is_object()) {
    origin.profile = environment.value("profile", "");
    origin.commit = CommitText(environment);
    origin.machine = MachineText(environment);
    return origin;
  }
  // What older programs left: these three texts.
  const json run = json::parse(ReadOrEmpty(PathOf(folder, hash)), nullptr, false);
  if (run.is_object() && run.contains("machine")) {
    origin.profile = run.value("profile", "");
    origin.commit = run.value("commit", "");
    origin.machine = run.value("machine", "");
  }
  return origin;
}

}  // namespace retable::harness
