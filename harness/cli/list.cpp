#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "harness/cli/commands.hpp"
#include "harness/cli/selection.hpp"
#include "harness/config/experiment.hpp"
#include "harness/config/schema.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/plan/estimate.hpp"
#include "harness/run/progress.hpp"

namespace retable::harness {
namespace {

struct ListFlags {
  bool json = false, fields = false, protocols = false;
};

void ListSpecs(const std::vector<ParameterSpec>& specs, const std::string& before,
               std::ostream& out) {
  for (const ParameterSpec& spec : specs) {
    out << fmt::format("{}{} = {}  # {}\n", before, spec.name, ValueText(spec.fallback), spec.help);
  }
}

void ListProtocols(std::ostream& out) {
  std::map<std::string, const Protocol*> by_name;
  for (const auto& protocol : Protocols()) by_name[protocol->name()] = protocol.get();
  for (const auto& [name, protocol] : by_name) {
    out << fmt::format("{}: {}\n", name, protocol->summary());
    out << fmt::format("  metrics: {}\n", fmt::join(protocol->metrics(), ", "));
    ListSpecs(protocol->axes(), "  axes.", out);
    ListSpecs(protocol->settings(), "  settings.", out);
    for (const auto& info : protocol->algorithms()) {
      out << fmt::format("  {:22} {:10} {}\n", info.name,
                         fmt::format("{}", fmt::join(info.devices, ",")), info.summary);
      ListSpecs(info.parameters, "    ", out);
    }
  }
}

void ListAsJson(const std::vector<Experiment>& experiments, std::ostream& out) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Experiment& e : experiments) {
    all.push_back({{"id", e.id},
                   {"title", e.title},
                   {"question", e.question},
                   {"citation", e.citation},
                   {"where", e.where},
                   {"protocol", e.protocol},
                   {"expected_seconds", e.expected},
                   {"claims", e.claims.size()},
                   {"published", !e.paper_file.empty()}});
  }
  out << all.dump(1) << "\n";
}

// The experiments of the families that the program holds. @param left_out gets the others' families
std::vector<Experiment> BuiltExperiments(const Context& context, const Overrides& overrides,
                                         std::set<std::string>& left_out) {
  std::vector<Experiment> experiments = LoadExperiments(context.root, overrides);
  std::erase_if(experiments, [&](const Experiment& e) {
    return !FamilyIsBuilt(e.family) && (left_out.insert(e.family), true);
  });
  return experiments;
}

void ListAsTable(const Context& context, const std::vector<Experiment>& experiments,
                 std::ostream& out) {
  std::size_t width = 0;
  for (const Experiment& e : experiments) width = std::max(width, e.id.size());
  out << fmt::format("{:{}} {:>13} {:>13} {:>13}  {}\n", "experiment", width, "smoke", "quick",
                     "paper", "title [where]");
  for (const Experiment& e : experiments) {
    const auto time = [&](const char* profile) {
      const auto found = e.expected.find(profile);
      return found == e.expected.end() ? std::string("?") : DurationText(found->second);
    };
    out << fmt::format("{:{}} {:>13} {:>13} {:>13}  {}{}\n", e.id, width, time("smoke"),
                       time("quick"), time("paper"), e.title,
                       e.where.empty() ? "" : " [" + e.where + "]");
  }
  const auto all = [&](const char* profile) {
    std::set<std::string> left_out;
    return DurationText(
        ExpectedSeconds(BuiltExperiments(context, {.profile = profile}, left_out), profile) +
        WritingSeconds(experiments.size(), true));
  };
  out << fmt::format("{:{}} {:>13} {:>13} {:>13}  {}\n", "all", width, all("smoke"), all("quick"),
                     all("paper"), "in one run, with the report; on two quiet processors");
}

int List(const Context& context, const ListFlags& flags, std::ostream& out, std::ostream& err) {
  if (flags.fields) {
    WriteSchemaTable(out);
  } else if (flags.protocols) {
    ListProtocols(out);
  } else {
    std::set<std::string> left_out;
    const std::vector<Experiment> experiments = BuiltExperiments(context, {}, left_out);
    flags.json ? ListAsJson(experiments, out) : ListAsTable(context, experiments, out);
    if (!left_out.empty()) {
      err << fmt::format("not in this build: {} (make build brings all)\n",
                         fmt::join(left_out, ", "));
    }
  }
  return kOk;
}

}  // namespace

Verb MakeListVerb(const Context& context) {
  return MakeVerb<ListFlags>(
      context, "list", "Experiments, their citations and expected times",
      [](CLI::App& verb, ListFlags& flags) {
        verb.add_flag("--json", flags.json, "as JSON");
        verb.add_flag("--fields", flags.fields, "every field of an experiment's TOML");
        verb.add_flag(
            "--protocols", flags.protocols,
            "measuring protocols: metrics, axes, settings, algorithms and their parameters");
      },
      List);
}

}  // namespace retable::harness
