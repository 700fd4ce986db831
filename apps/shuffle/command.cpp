//! @file
//! `retable shuffle`: permutations as bits for other people's test batteries, and our own battery
//! at any number of samples.

#include <CLI/CLI.hpp>
#include <cmath>
#include <iomanip>
#include <mutex>
#include <ostream>
#include <sstream>

#include "algorithms/shuffle/quality/faulty_shufflers.hpp"
#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/selection/sample.hpp"
#include "apps/shuffle/rows.hpp"
#include "base/atomic_file.hpp"
#include "base/files/output_paths.hpp"
#include "base/parallel.hpp"
#include "harness/cli/verbs.hpp"

namespace retable::experiments {
namespace {

struct Options {
  std::string method;
  std::uint32_t items = 64;
  std::uint64_t seed = 1;
  double mib = 1;
  double samples = 1e5;
  double alpha = 1e-4;
  RowsRequest rows;
  std::string to;
  std::uint64_t of = 0, take = 0;
};

shuffle::OrderSource Source(const std::string& name) {
  std::string known;
  for (auto& source : shuffle::OrderSources()) {
    if (source.name == name) return source;
    known += (known.empty() ? "" : ", ") + source.name;
  }
  throw std::invalid_argument("no shuffler called \"" + name + "\"; there are: " + known);
}

// The value of an option that CLI::Range cannot check: it lets NaN pass.
double InRange(const char* option, double value, double least, double most) {
  if (value >= least && value <= most) return value;
  std::ostringstream text;
  text << option << ": " << value << " is not in " << least << " to " << most;
  throw harness::UsageError(text.str());
}

int Bits(const Options& options, std::ostream& out) {
  const auto source = Source(options.method);
  const auto wanted = static_cast<std::uint64_t>(InRange("--mib", options.mib, 0, 1e12) * 1048576);
  shuffle::OrderBits bits;
  std::uint64_t written = 0;
  for (std::uint64_t seed = options.seed; written < wanted && out; ++seed) {
    bits.Add(source.draw(options.items, seed));
    const auto bytes = bits.Take();
    const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), wanted - written);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(count));
    written += count;
  }
  return 0;
}

int RunBattery(const Options& options, std::ostream& out) {
  const auto samples = static_cast<std::uint64_t>(InRange("--samples", options.samples, 1, 1e15));
  InRange("--alpha", options.alpha, 1e-30, 1);
  constexpr std::uint64_t kShare = 10000;  // orders of one task
  shuffle::Battery all(options.items);
  if (const std::uint64_t least = all.LeastSamples(options.alpha); samples < least) {
    throw harness::UsageError(
        "--samples: fair shufflers would be rejected too often by fewer than " +
        std::to_string(least) + " orders of " + std::to_string(options.items) +
        " items at this --alpha");
  }
  std::mutex lock;
  ParallelFor((samples + kShare - 1) / kShare, [&](std::uint64_t task) {
    const auto source = Source(options.method);
    shuffle::Battery own(options.items);
    for (std::uint64_t s = task * kShare; s < std::min(samples, (task + 1) * kShare); ++s) {
      own.Add(source.draw(options.items, options.seed * 1000000007 + s));
    }
    const std::lock_guard guard(lock);
    all.Merge(own);
  });
  const auto results = all.Results();
  out << options.method << ", " << options.items << " items, " << all.samples() << " orders\n";
  for (const auto& result : results) {
    out << "  " << std::left << std::setw(14) << result.test << " statistic " << std::setw(12)
        << std::setprecision(6) << result.statistic << " p " << std::setprecision(4) << result.p
        << "\n";
  }
  const double corrected = shuffle::BonferroniP(results);
  const bool rejected = corrected < options.alpha;
  out << "  smallest p, corrected for " << results.size() << " tests: " << corrected << " "
      << (rejected ? "REJECTED" : "not rejected") << "\n";
  return rejected ? 3 : 0;
}

int Rows(const Options& options, std::ostream& out) {
  KeepInputs(options.to, {options.rows.file});
  std::string content = ReadWhole(options.rows.file);
  try {
    content = RowsInRandomOrder(content, options.rows);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(options.rows.file + ": " + error.what());
  }
  if (options.to.empty()) {
    out << content;
    return 0;
  }
  WriteAtomically(options.to, content);
  return 0;
}

int Sample(const Options& options, std::ostream& out) {
  const auto sample = shuffle::SampleWithoutReplacement(options.of, options.take, options.seed);
  for (const std::uint64_t value : sample) out << value << "\n";
  return 0;
}

// The words of `rows` and `sample`.
void AddRowOptions(CLI::App& rows, CLI::App& sample, Options& options) {
  rows.add_option("--in", options.rows.file, "the file")->required();
  rows.add_option("--out", options.to, "where to; the standard output if not given");
  rows.add_option("--row-bytes", options.rows.row_bytes,
                  "bytes of a row of a binary file; 0: lines of a text, records of a .csv")
      ->capture_default_str();
  rows.add_option("--header", options.rows.header, "first rows that stay in front")
      ->capture_default_str();
  auto* take =
      rows.add_option("--take", options.rows.take, "that many rows only, without replacement");
  rows.add_option("--method", options.rows.method, "a shuffler, of all rows")
      ->capture_default_str()
      ->excludes(take);
  rows.add_option("--seed", options.rows.seed, "one seed, one order")->capture_default_str();
  sample.add_option("--of", options.of, "numbers are below this")->required();
  sample.add_option("--take", options.take, "how many")->required();
  sample.add_option("--seed", options.seed, "one seed, one sample")->capture_default_str();
}

int ShuffleCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  Options options;
  CLI::App app{"rows in random order, samples; permutations as random bits, and tests of them",
               "retable shuffle"};
  app.require_subcommand(1);
  auto* bits = app.add_subcommand("bits", "write the Lehmer digits of orders as random bits");
  bits->add_option("--mib", options.mib, "how much to write")->capture_default_str();
  auto* battery = app.add_subcommand("battery", "test orders; exit status 3 if rejected");
  battery->add_option("--samples", options.samples, "orders drawn")->capture_default_str();
  battery->add_option("--alpha", options.alpha, "corrected level")->capture_default_str();
  auto* rows = app.add_subcommand("rows", "a file's lines or rows in random order");
  auto* sample = app.add_subcommand("sample", "distinct numbers in random order");
  AddRowOptions(*rows, *sample, options);
  for (auto* command : {bits, battery}) {
    command->add_option("--method", options.method, "a shuffler; a wrong name lists them")
        ->required();
    command->add_option("--items", options.items, "of an order")
        ->capture_default_str()
        ->check(CLI::Range(2, 65536));
    command->add_option("--seed", options.seed, "of the first order")->capture_default_str();
  }
  return harness::RunVerb(app, words, out, err, harness::WithWordsRefused([&] {
                            if (rows->parsed()) return Rows(options, out);
                            if (sample->parsed()) return Sample(options, out);
                            return bits->parsed() ? Bits(options, out) : RunBattery(options, out);
                          }));
}

const harness::VerbRegistration kShuffleVerb{
    {"shuffle", "rows of a file in random order, samples; test batteries of shufflers",
     ShuffleCommand}};
}  // namespace

}  // namespace retable::experiments
