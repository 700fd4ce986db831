//! @file
//! `retable coalitions`: the game of explaining one row, as a table of all coalitions with the
//! exact Shapley values, for other programs to be measured on.

#include <CLI/CLI.hpp>
#include <iomanip>
#include <ostream>
#include <stdexcept>

#include "base/atomic_file.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "harness/cli/verbs.hpp"

namespace retable::experiments {
namespace {

constexpr std::size_t kMostPlayers = 20;

// The settings of the error protocols with their defaults.
harness::CellConfig Cell(const std::string& dataset, std::int64_t rows, std::int64_t background) {
  const auto resolved = ResolveData(dataset);
  if (resolved.size() != 1) throw std::invalid_argument("\"" + dataset + "\" is not one data set");
  if (!resolved[0].present) {
    throw std::invalid_argument(dataset + " is not at hand: build/retable datasets fetch " +
                                dataset);
  }
  harness::CellConfig cell;
  cell.family = "shapley";
  cell.dataset = resolved[0].name;
  cell.dataset_sha256 = resolved[0].sha256;
  for (const auto& spec : TabularSettings()) cell.settings[spec.name] = spec.fallback;
  cell.settings["foreground"] = rows;
  cell.settings["background"] = background;
  return cell;
}

void Write(const shapley::Game& game, const std::vector<double>& exact, std::ostream& out) {
  const int d = game.dimension();
  std::vector<std::uint64_t> masks(std::size_t{1} << d);
  for (std::size_t k = 0; k < masks.size(); ++k) masks[k] = k;
  std::vector<double> values(masks.size());
  shapley::EvaluateChecked(game, masks, values);
  out << std::setprecision(17) << "kind,index,value\n";
  for (std::size_t i = 0; i < exact.size(); ++i) out << "shapley," << i << "," << exact[i] << "\n";
  for (std::size_t k = 0; k < values.size(); ++k)
    out << "coalition," << k << "," << values[k] << "\n";
}

void Run(const std::string& dataset, std::int64_t row, std::int64_t background,
         const std::string& path, std::ostream& out) {
  const harness::CellConfig cell = Cell(dataset, row + 1, background);
  if (const auto features = LoadTabular(cell.dataset).columns.size(); features > kMostPlayers) {
    throw std::invalid_argument(dataset + " has " + std::to_string(features) +
                                " features: a table takes at most " + std::to_string(kMostPlayers));
  }
  const Problem problem = MakeTabularProblem(cell);
  const auto k = static_cast<std::size_t>(row);
  if (path.empty()) return Write(*problem.games.at(k), problem.exact.at(k), out);
  OutputFile file(path);
  Write(*problem.games.at(k), problem.exact.at(k), file);
  file.Commit();
  out << (std::int64_t{1} << problem.features) << " coalitions written to " << path << "\n";
}

int CoalitionsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::string dataset, path;
  std::int64_t row = 0, background = 100;
  CLI::App app{
      "retable coalitions: the game of explaining one row of a data set by boosted trees. CSV: "
      "kind,index,value; first the exact Shapley value of each feature, then v of every coalition, "
      "bit i of the index being feature i.",
      "retable coalitions"};
  app.add_option("--data", dataset, "a data set's name")->required();
  app.add_option("--row", row, "the row explained, among those drawn")->check(CLI::Range(0, 1000));
  app.add_option("--background", background, "rows behind")->check(CLI::Range(1, 100000));
  app.add_option("--out", path, "file; default: standard output");
  return harness::RunVerb(app, args, out, err, [&] {
    Run(dataset, row, background, path, out);
    return 0;
  });
}

const harness::VerbRegistration registered_coalitions(
    {"coalitions", "--data NAME: a Shapley game as a table, for other programs", CoalitionsMain});

}  // namespace
}  // namespace retable::experiments
