//! @file
//! `retable permutations`: any sampler's permutations as CSV, for functions of permutations other
//! than Shapley values too, with their discrepancy.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <memory>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "base/atomic_file.hpp"
#include "base/cuda/devices.hpp"
#include "base/files/output_paths.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/csv.hpp"

namespace retable::experiments {
namespace {

using shapley::PermutationSample;
using shapley::PermutationSampler;

struct Arguments {
  int d = 0;
  std::int64_t n = 0;
  std::string method = "Foldover-descent", kernel = "Mallows", out, device = "cpu";
  double lambda = 4;
  std::uint64_t seed = 0;
  bool list = false;
  std::vector<std::string> options;
};

void List(std::ostream& out) {
  for (const auto& method : Registry<PermutationSampler>::Instance().Methods()) {
    out << std::left << std::setw(18) << method.name << std::setw(6) << DeviceName(method.device)
        << method.summary << "\n";
  }
}

// "name=value" as the type of the method's parameter of that name.
void AddOption(const std::string& option, const Method<PermutationSampler>& method,
               Parameters& parameters) {
  const auto equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const std::string text = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (name == "lambda" || name == "kernel") {
    throw std::invalid_argument("--option " + option + ": give --" + name + " in its place");
  }
  std::string known;
  for (const auto& info : method.parameters) {
    known += (known.empty() ? "" : ", ") + info.name;
    if (info.name != name) continue;
    const auto number = harness::ParseNumber(text);
    if (std::holds_alternative<std::string>(info.fallback)) {
      parameters[name] = text;
    } else if (std::holds_alternative<bool>(info.fallback) && (text == "true" || text == "false")) {
      parameters[name] = text == "true";
    } else if (std::holds_alternative<double>(info.fallback) && number) {
      parameters[name] = *number;
    } else if (std::holds_alternative<std::int64_t>(info.fallback) && number &&
               *number == std::floor(*number) && std::abs(*number) < 0x1p63) {
      parameters[name] = static_cast<std::int64_t>(*number);
    } else {
      throw std::invalid_argument("--option " + option + ": " + name + " (" + info.help +
                                  ") takes no such value");
    }
    return;
  }
  throw std::invalid_argument("--option " + option + ": " + method.name + " takes " +
                              (known.empty() ? "no options" : known));
}

std::unique_ptr<PermutationSampler> MakeSampler(const Arguments& a) {
  const Device device = a.device == "cuda" ? Device::kCuda : Device::kCpu;
  const auto& method = MethodByName<PermutationSampler>("sampler", a.method, device);
  if (device == Device::kCuda) RequireDevice();
  Parameters parameters;
  for (const auto& info : method.parameters) {
    if (info.name == "kernel") parameters["kernel"] = a.kernel;
    if (info.name == "lambda") parameters["lambda"] = a.lambda;
  }
  for (const std::string& option : a.options) AddOption(option, method, parameters);
  return method.make(parameters);
}

// One order a line: its weight, then the players from the first to join to the last, from 0.
void Write(const PermutationSample& sample, std::ostream& out) {
  out << "weight";
  for (int k = 0; k < sample.dimension; ++k) out << ",place_" << k;
  out << "\n" << std::setprecision(17);
  for (std::size_t i = 0; i < sample.count(); ++i) {
    out << sample.weight(i);
    for (const std::int32_t player : sample.order(i)) out << "," << player;
    out << "\n";
  }
}

// Permutations of which a method makes so many at a time.
std::int64_t BlockOf(const std::string& method, int d) {
  if (method == "Orthogonal") return std::max<std::int64_t>(1, 2 * (d - 1));
  return method == "MC-antithetic" || method == "Foldover-descent" ? 2 : 1;
}

// Of n^2 / 2 kernels of so many words each, and a table by discordant pairs: seconds and a gigabyte
// at most.
std::string DiscrepancyText(const PermutationSample& sample, const Arguments& a) {
  const auto kind = shapley::KernelByName(a.kernel);
  const bool mallows = kind == shapley::KernelKind::kMallows;
  const double n = static_cast<double>(a.n), d = a.d, pairs = d * (d - 1) / 2;
  const double words = kind == shapley::KernelKind::kSpearman ? d : pairs / 64 + 1;
  if (n * n * words > 0x1p34 || n * words > 0x1p27 || (mallows && pairs > 0x1p25)) {
    return "discrepancy not computed: too many permutations or players";
  }
  std::ostringstream text;
  text << "discrepancy " << shapley::Discrepancy(sample, {kind, a.lambda, a.d}) << " (" << a.kernel
       << " kernel";
  if (mallows) text << ", lambda " << a.lambda;
  text << ")";
  return text.str();
}

int Run(const Arguments& a, std::ostream& out, std::ostream& err) {
  if (a.n < 1) throw std::invalid_argument("--n: at least one permutation");
  if (const auto block = BlockOf(a.method, a.d); a.n % block != 0) {
    err << "note: " << a.method << " works in blocks of " << block << "; " << a.n
        << " is no multiple, so the last block is cut short (each permutation stays uniform)\n";
  }
  const auto sampler = MakeSampler(a);
  std::unique_ptr<OutputFile> file;
  if (!a.out.empty()) file = std::make_unique<OutputFile>(a.out);
  const PermutationSample sample = sampler->sample(static_cast<std::size_t>(a.n), a.d, a.seed);
  const std::string discrepancy = DiscrepancyText(sample, a);
  Write(sample, file ? *file : out);
  if (file) file->Commit();
  (IsStandardOutput(a.out) ? err : out)
      << a.n << " permutations of " << a.d << " by " << a.method
      << (sample.weights.empty() ? ", equal weights" : ", weighted") << "; " << discrepancy
      << (a.out.empty() ? "" : ", written to " + a.out) << "\n";
  return 0;
}

int PermutationsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments a;
  CLI::App app{
      "retable permutations: n permutations that stand for all of them. CSV: a line each, its "
      "weight and then the players in their order, counted from 0. The weighted mean of any "
      "function of a permutation over the lines estimates its mean over all.",
      "retable permutations"};
  auto* d = app.add_option("--d", a.d, "players of a permutation")->check(CLI::Range(1, 65535));
  auto* n = app.add_option("--n", a.n, "permutations");
  app.add_option("--method", a.method, "sampler")->capture_default_str();
  app.add_option("--out", a.out, "file; default: standard output");
  app.add_option("--seed", a.seed, "seed")->capture_default_str();
  app.add_option("--kernel", a.kernel, "of greedy samplers and of the discrepancy")
      ->check(CLI::IsMember({"Mallows", "Kendall", "Spearman"}))
      ->capture_default_str();
  app.add_option("--lambda", a.lambda, "of the Mallows kernel")->capture_default_str();
  app.add_option("--option", a.options, "another parameter of the sampler: candidates=100");
  app.add_option("--device", a.device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  auto* list = app.add_flag("--list", a.list, "name the samplers");
  d->excludes(list);
  n->excludes(list);
  return harness::RunVerb(app, args, out, err, [&] {
    if (a.list) {
      List(out);
      return 0;
    }
    if (d->count() == 0 || n->count() == 0) {
      throw harness::UsageError("--d and --n (or --list) are required");
    }
    return Run(a, out, err);
  });
}

const harness::VerbRegistration registered_permutations(
    {"permutations", "--d D --n N: permutations of low discrepancy as CSV", PermutationsMain});

}  // namespace
}  // namespace retable::experiments
