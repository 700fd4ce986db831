#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/atomic_file.hpp"
#include "base/temporary_folder.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/record/record.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/store.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

struct ExplainArguments {
  std::string key, out = "results/latest", recorded;
};

// The key that begins so; says on `err` why there is none.
// @param shown the folder as the user named it
std::string FindKey(const std::string& folder, const std::string& key_prefix,
                    const std::string& shown, std::ostream& err) {
  std::vector<std::string> matches;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder + "/cells", error)) {
    const std::string name = file.path().filename().string(), key = KeyOfFile(name);
    if (!key.empty() && name.starts_with(key_prefix)) matches.push_back(key);
  }
  if (matches.empty()) {
    err << "no cell " << key_prefix << " in " << shown
        << "; keys stand in the tidy CSVs and in the report\n";
    return "";
  }
  if (matches.size() > 1) {
    std::ranges::sort(matches);
    err << matches.size() << " cells begin with \"" << key_prefix << "\": give more digits";
    for (std::size_t i = 0; i < std::min<std::size_t>(matches.size(), 4); ++i) {
      err << (i == 0 ? ", such as " : ", ") << matches[i].substr(0, 12);
    }
    err << "\n";
    return "";
  }
  return matches.front();
}

void WriteConfig(const CellRecord& record, std::ostream& out) {
  const CellConfig& c = record.config;
  out << fmt::format("cell        {}\nwhat        {} on {} ({}), {}\n", record.key, c.label,
                     c.dataset, c.device, c.experiment);
  out << fmt::format("algorithm   {} {}\n", c.algorithm, ToJson(c.parameters).dump());
  out << fmt::format("axes        {}\nsettings    {}\nseed        {}, {} repeats\n",
                     ToJson(c.axes).dump(), ToJson(c.settings).dump(), c.seed, c.repeats);
  out << fmt::format("data        {}\n", c.dataset_sha256);
  out << fmt::format("status      {} {}\n", record.outcome.status, record.outcome.reason);
  const Verification& v = record.outcome.verification;
  if (v.done) {
    out << fmt::format("verified    {} = {} (threshold {}) against {}: {}\n", v.metric, v.value,
                       v.threshold, v.reference, v.ok ? "right" : "WRONG");
  }
  out << fmt::format("took        {:.3f} s, peak {:.0f} MiB, started {}\n", record.seconds,
                     record.peak_mib, record.started);
}

void WriteFacts(const CellRecord& record, std::ostream& out) {
  for (const auto& [name, value] : record.outcome.facts) {
    out << fmt::format("  {} = {}\n", name, ValueText(value));
  }
}

// Machine, card, clocks, commit and load as they were captured when its run began.
void WriteEnvironment(const std::string& folder, const std::string& hash, std::ostream& out) {
  const nlohmann::json environment = EnvironmentOfRun(folder, hash);
  out << fmt::format("environment {} (runs/{}.json)\n", hash, hash);
  if (!environment.is_object()) return;
  out << fmt::format("machine     {}\n", MachineText(environment));
  if (const auto card = CardText(environment); !card.empty()) {
    out << fmt::format("card        {} {}\n", card,
                       environment["gpu"][0].value("now", nlohmann::json::object()).dump());
  }
  out << fmt::format("commit      {}\n", CommitText(environment));
  out << fmt::format("captured    {}, load {}\n", environment.value("captured", ""),
                     environment.value("load", nlohmann::json::array()).dump());
}

void WriteCosts(const CellRecord& record, const std::string& folder, std::ostream& out) {
  const auto ceilings = CeilingsFromJson(ReadOrEmpty(folder + "/ceilings.json"));
  for (const Cost& cost : record.outcome.costs) {
    out << fmt::format("must do     {:.4g} ({})\n", cost.amount, cost.ceiling);
  }
  if (const auto fraction = RooflineFractionOf(record.outcome, record.config.device, ceilings)) {
    out << fmt::format("reaches     {:.1f} % of the ceiling {}\n", 100 * fraction->value,
                       fraction->ceiling);
  }
}

void WriteSamples(const CellRecord& record, std::ostream& out) {
  for (const Metric& m : record.outcome.metrics) {
    const Summary s = Summarise(m.samples, 1);
    out << fmt::format("metric      {} [{}]: n = {}, median {} [{}, {}], mean {}, {} failed\n",
                       m.name, m.unit, s.n, s.median, s.ci_low, s.ci_high, s.mean, s.failures);
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
      out << fmt::format("  {:>4} {} {}{}\n", i, m.samples[i], i < m.items.size() ? m.items[i] : "",
                         i < m.sm_mhz.size() ? fmt::format(" at {:.0f} MHz", m.sm_mhz[i]) : "");
    }
  }
}

int ExplainIn(const std::string& folder, const std::string& shown, const std::string& prefix,
              std::ostream& out, std::ostream& err) {
  const std::string key = FindKey(folder, prefix, shown, err);
  if (key.empty()) return kUsage;
  std::string problem;
  const auto record = LoadRecord(folder, key, &problem);
  if (!record) {
    err << problem << "; run its experiment again\n";
    return kUsage;
  }
  WriteConfig(*record, out);
  WriteEnvironment(folder, record->environment, out);
  WriteFacts(*record, out);
  WriteCosts(*record, folder, out);
  WriteSamples(*record, out);
  out << "repeat      " << record->command << "\n";
  return kOk;
}

int Explain(const Context& context, const ExplainArguments& a, std::ostream& out,
            std::ostream& err) {
  const std::string folder = a.recorded.empty() ? a.out : FindRecording(context.root, a.recorded);
  CheckResultsFolder(folder);
  if (!HasArchive(folder)) return ExplainIn(folder, folder, a.key, out, err);
  const TemporaryFolder unpacked;
  const std::string there = unpacked.path().string();
  Unpack(folder, there, [&](const std::string& path) {
    return path.starts_with("cells/" + a.key) || path.starts_with("runs/") ||
           path == "ceilings.json";
  });
  return ExplainIn(there, folder, a.key, out, err);
}

}  // namespace

Verb MakeExplainVerb(const Context& context) {
  return MakeVerb<ExplainArguments>(
      context, "explain", "One cell: what ran, on what, every sample",
      [](CLI::App& verb, ExplainArguments& a) {
        verb.add_option("key", a.key, "the cell's key, or its first digits")->required();
        CLI::Option* folder = verb.add_option("--out", a.out, "results folder");
        verb.add_option("--recorded", a.recorded, "a recording's name, in place of --out")
            ->excludes(folder);
      },
      Explain);
}

}  // namespace retable::harness
