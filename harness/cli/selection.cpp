#include "harness/cli/selection.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "base/cuda/devices.hpp"
#include "base/glob.hpp"
#include "base/text/suggest.hpp"
#include "harness/machine/device.hpp"
#include "harness/report/missing_cell.hpp"

namespace retable::harness {
namespace {

// The experiments that match any of the globs, in order; a glob passes over families that are not
// in the program. @throws ConfigError for a glob that matches nothing.
std::vector<Experiment> Select(std::vector<Experiment> all, const std::vector<std::string>& globs) {
  std::vector<std::string> ids;
  for (const Experiment& e : all) ids.push_back(e.id);
  for (const std::string& glob : globs) {
    const bool any =
        std::ranges::any_of(ids, [&](const auto& id) { return GlobMatches(glob, id); });
    if (!any) {
      throw ConfigError({"experiments", 0, 0}, "no experiment matches \"" + glob + "\"" +
                                                   DidYouMean(glob, ids) +
                                                   "; see `build/retable list`");
    }
  }
  std::erase_if(all, [&](const Experiment& e) {
    const bool by_name = std::ranges::count(globs, e.id) > 0;
    return !by_name &&
           (!FamilyIsBuilt(e.family) ||
            std::ranges::none_of(globs, [&](const auto& glob) { return GlobMatches(glob, e.id); }));
  });
  return all;
}

}  // namespace

bool FamilyIsBuilt(const std::string& family) {
  return std::ranges::any_of(Protocols(), [&](const auto& protocol) {
    return protocol->name().starts_with(family + "/");
  });
}

void AddSelection(CLI::App& verb, Selection& selection) {
  verb.add_option("--profile", selection.profile, "smoke, quick (default) or paper")
      ->check(CLI::IsMember({"smoke", "quick", "paper"}));
  verb.add_option("--device", selection.device, "auto (default), cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  verb.add_option("--out", selection.out, "results folder (default results/latest)");
  verb.add_option("--set", selection.assignments, "override a field: --set repeats=3")
      ->take_all()
      ->allow_extra_args(false);
  verb.add_option("--machine", selection.machine_file, "TOML of overrides for this machine")
      ->envname("RETABLE_MACHINE");
  verb.add_option("--repeats", selection.repeats, "samples per cell")
      ->check(CLI::Range(1, 1000000));
}

Devices FindDevices(const std::string& wanted) {
  Devices devices;
  const NoDevice none = wanted == "cpu" ? NoDevice{} : WhyNoContext(false);
  devices.cuda = !none.any();
  devices.cuda_reason = none.why;
  if (wanted == "cuda" && !devices.cuda) {
    throw ConfigError({"--device cuda", 0, 0},
                      none.why + "; " + none.remedy + "; --device auto runs the CPU rows");
  }
  if (devices.cuda) devices.cuda_class = DeviceClass();
  if (wanted == "cpu") {
    devices.cuda = false;
    devices.cuda_reason = "GPU rows were not asked for (--device cpu)";
  }
  devices.cpu = wanted != "cuda";
  return devices;
}

std::vector<ProfileNames> NamesOfProfiles(const Experiment& experiment, const Selection& selection,
                                          const Devices& devices, bool resolved) {
  std::vector<ProfileNames> all;
  for (const std::string profile : {"smoke", "quick", "paper"}) {
    try {
      const bool own = profile == selection.profile;
      const Overrides overrides{profile, selection.machine_file, {}, 0};
      all.push_back(NamesOf(own ? experiment : WithOverrides(experiment, overrides), profile,
                            devices, resolved));
    } catch (const ConfigError&) {
    }
  }
  return all;
}

std::vector<Plan> MakePlans(const Context& context, const Selection& selection,
                            const Devices& devices, std::ostream& err) {
  const Overrides overrides{selection.profile, selection.machine_file, selection.assignments,
                            selection.repeats};
  std::vector<Plan> plans;
  // What is overridden need not fit other experiments.
  const std::vector<Experiment> selected =
      Select(LoadExperiments(context.root, {}), selection.globs);
  for (const Experiment& experiment : selected) {
    if (context.terminal) {
      err << "\r\033[Kplanning " << plans.size() + 1 << "/" << selected.size() << " "
          << experiment.id << ", seconds left" << std::flush;
    }
    plans.push_back(MakePlan(WithOverrides(experiment, overrides), devices));
    const Experiment& planned = plans.back().experiment;
    if (planned.claims.empty()) continue;
    const auto profiles = NamesOfProfiles(planned, selection, devices, true);
    if (profiles.size() == 3) RefuseUnknownNames(planned.claims, profiles);
  }
  if (context.terminal) err << "\r\033[K" << std::flush;
  if (plans.empty()) err << "nothing to run: name experiments, such as 'quantiles/*'\n";
  return plans;
}

}  // namespace retable::harness
