//! @file
//! The program: one table of verbs, and what they need to know of the program. Families are linked
//! in; their protocols, methods and verbs register before main.

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "datasets/commands.hpp"
#include "datasets/openml/cache.hpp"
#include "datasets/registry/catalog.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/context.hpp"
#include "harness/cli/reason.hpp"
#include "harness/cli/shell.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/machine/device.hpp"
#include "harness/run/worker.hpp"

namespace {

namespace fs = std::filesystem;
namespace h = retable::harness;

// experiments/ is looked for in $RETABLE_ROOT, here, and where the program was built.
std::string FindRoot() {
  if (const char* root = std::getenv("RETABLE_ROOT"); root && *root != '\0') return root;
  std::error_code ignored;  // of a folder that cannot be searched
  if (fs::exists("experiments", ignored) && fs::exists("plots", ignored)) return ".";
  return RETABLE_SOURCE_DIR;
}

std::string JoinArguments(int argc, char** argv) {
  std::string text;
  for (int i = 0; i < argc; ++i) text.append(i ? " " : "").append(h::ShellWord(argv[i]));
  return text;
}

// What a reader should know before the first figure: which data there is, and whether there is a
// GPU.
std::vector<std::string> Banner() {
  std::vector<std::string> notes;
  const auto suite =
      retable::datasets::Catalog().Resolve("cc18", retable::datasets::FetchPolicy::kNone);
  const auto present = std::ranges::count_if(suite, [](auto& m) { return m.present; });
  if (std::ranges::none_of(suite, [](auto& m) { return m.present && m.origin != "embedded"; })) {
    notes.emplace_back(
        "No OpenML data is at hand (no network, or nothing fetched yet): embedded and generated "
        "data only. `build/retable datasets fetch cc18` brings the suite.");
  } else if (present < static_cast<std::ptrdiff_t>(suite.size())) {
    notes.push_back(
        fmt::format("{} of {} members of OpenML-CC18 are at hand.", present, suite.size()));
  }
  std::string reason;
  if (!h::CudaDevicePresent(&reason)) {
    notes.push_back("GPU rows are NOT-RUN: " + reason + ". Recorded rows stand beside them.");
  }
  return notes;
}

h::Context MakeContext(int argc, char** argv) {
  h::Context context;
  context.root = FindRoot();
  context.program = fs::read_symlink("/proc/self/exe").string();
  context.invoked = argv[0];
  context.command_line = JoinArguments(argc, argv);
  context.terminal = isatty(STDERR_FILENO) != 0 && !std::getenv("NO_COLOR");
  context.banner = Banner;
  context.offer_data = [](const std::vector<std::string>& names, int megabytes) {
    return retable::datasets::MayAsk() &&
           retable::datasets::OfferFetch(names, megabytes, std::cin, std::cerr);
  };
  return context;
}

// Empty where there is no cache: nothing but tuning needs it.
std::string TuningFolder() {
  try {
    return (retable::datasets::Cache::DefaultRoot() / "tuning").string();
  } catch (const std::runtime_error&) {
    return "";
  }
}

// Experiments are measured with standard values, so that the results of two machines compare.
void UseTunedWhereItServes(const std::string& verb, const std::string& folder) {
  if (verb == "shap" || verb == "forest" || verb == "shuffle") h::UseTuned(folder);
}

// In the order of --help.
std::vector<h::Verb> AllVerbs(const h::Context& context, const std::string& tuning) {
  std::vector<h::Verb> verbs = {h::MakeListVerb(context),    h::MakeRunVerb(context),
                                h::MakeCheckVerb(context),   h::MakeReportVerb(context),
                                h::MakeCompareVerb(context), h::MakeNoiseVerb(context),
                                h::MakeHistoryVerb(context), h::MakeRecordVerb(context)};
  verbs.push_back({"datasets", "list, fetch, verify, path, mirror: see `retable datasets --help`",
                   retable::datasets::DatasetsMain});
  verbs.insert(verbs.end(), h::Verbs().begin(), h::Verbs().end());
  verbs.push_back(h::MakeExplainVerb(context));
  verbs.push_back(h::MakeDoctorVerb(context));
  verbs.push_back(h::MakeTuneVerb(context, tuning));
  verbs.push_back({"worker", "", [](const auto&, auto&, auto&) { return h::WorkerMain(); }});
  return verbs;
}

// What was said may not have arrived: a full disk behind `>` must not look like success.
int WithStandardOutput(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout && std::ferror(stdout) == 0) return status;
  std::cerr << "the standard output could not be written; is the disk full?\n";
  return status == h::kOk ? h::kCellFailed : status;
}

// Every thread gets the stack that the limit of the shell gives the first.
std::string WhyNoStack() {
  constexpr rlim_t kNeeded = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return "";
  return fmt::format("the stack is limited to {} KB, and at least {} are needed: ulimit -s 8192",
                     limit.rlim_cur / 1024, kNeeded / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  // A file that grows beyond its limit (ulimit -f) is an error of the write, which says so.
  signal(SIGXFSZ, SIG_IGN);
  if (const std::string why = WhyNoStack(); !why.empty()) {
    std::cerr << why << "\n";
    return h::kUsage;
  }
  try {
    const h::Context context = MakeContext(argc, argv);
    // Workers and contenders in other languages start from there.
    setenv("RETABLE_ROOT", fs::absolute(context.root).c_str(), 1);
    const std::string tuning = TuningFolder();
    UseTunedWhereItServes(argc > 1 ? argv[1] : "", tuning);
    return WithStandardOutput(h::Dispatch(AllVerbs(context, tuning), context,
                                          "retable " RETABLE_VERSION, {argv + 1, argv + argc},
                                          std::cout, std::cerr));
  } catch (const std::exception& problem) {
    std::cerr << h::ReasonOf(problem) << "\n";
    return h::kUsage;
  }
}
