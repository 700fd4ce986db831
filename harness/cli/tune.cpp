#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"
#include "harness/cli/commands.hpp"
#include "harness/tune/sweep.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

struct TuneArguments {
  std::string family, out;
  double seconds = 60;
};

// "90-60.txt": compute capability and MiB of second-level cache. Empty without a card.
std::string FileOfThisCard() {
#if defined(RETABLE_HAS_CUDA)
  if (HasCudaDevice()) {
    return fmt::format("{}-{}.txt", ComputeCapability(),
                       DeviceAttribute(cudaDevAttrL2CacheSize) >> 20);
  }
#endif
  return "";
}

const TuneFamily& FamilyOf(const std::string& name) {
  std::string known;
  for (const TuneFamily& family : TuneFamilies()) {
    if (family.family == name) return family;
    known += (known.empty() ? "" : ", ") + family.family;
  }
  throw UsageError("no family \"" + name + "\" to tune; there are " + known);
}

int Tune(const TuneArguments& a, const std::string& folder, std::ostream& out) {
  const TuneFamily& family = FamilyOf(a.family);
  const std::string card = FileOfThisCard();
  if (card.empty()) {
    const NoDevice& none = WhyNoDevice();
    throw UsageError("tuning measures on a card: " + none.why + "; " + none.remedy);
  }
  if (a.out.empty() && folder.empty()) {
    throw UsageError("there is no folder for the cache: set HOME, or name a file by --out");
  }
  const fs::path path = a.out.empty() ? fs::path(folder) / card : fs::path(a.out);
  // What was measured for other families stays.
  if (fs::exists(path)) ReadTuned(ReadWhole(path), path.string());
  const std::vector<TuneTask> tasks = family.tasks();
  SweepLimits limits;
  limits.seconds = a.seconds / static_cast<double>(std::max<std::size_t>(tasks.size(), 1));
  std::string file = "# " + card + ": compute capability and MiB of second-level cache\n";
  out << fmt::format("{:<34}{:>12}{:>12}{:>10}{:>8}\n", "constant", "standard", "chosen", "gain",
                     "rounds");
  for (const TuneTask& task : tasks) {
    const Choice c = Sweep(task, limits);
    out << fmt::format("{:<34}{:>12}{:>12}{:>9.1f}%{:>8}\n", c.name, c.standard, c.chosen,
                       100 * (1 - c.after / c.before), c.rounds)
        << std::flush;
    file += fmt::format("# {}: {}\n", c.name, task.constant.what);
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  WriteAtomically(path, file + WriteTuned());
  out << "written to " << path.string()
      << (a.out.empty() ? ", which shap, forest and shuffle read" : "") << "\n";
  return kOk;
}

}  // namespace

Verb MakeTuneVerb(const Context& context, const std::string& folder) {
  return MakeVerb<TuneArguments>(
      context, "tune", "Constants of a family's kernels, measured on this card",
      [](CLI::App& verb, TuneArguments& a) {
        verb.add_option("family", a.family, "shuffle or treeshap")->required();
        verb.add_option("--out", a.out, "file; default: this card's in the cache");
        verb.add_option("--seconds", a.seconds, "how long about")
            ->check(CLI::Range(1.0, 1e5))
            ->capture_default_str();
      },
      [folder](const Context&, const TuneArguments& a, std::ostream& out, std::ostream&) {
        return Tune(a, folder, out);
      });
}

void UseTuned(const std::string& folder) {
  std::error_code ignored;  // of a folder that cannot be searched: standard values serve
  if (!fs::exists(folder, ignored)) return;  // asking for the card takes a moment
  const std::string card = FileOfThisCard();
  if (card.empty()) return;
  const fs::path path = fs::path(folder) / card;
  if (fs::exists(path, ignored)) ReadTuned(ReadWhole(path), path.string());
}

}  // namespace retable::harness
