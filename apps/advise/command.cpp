//! @file
//! `retable advise`: which estimator of Shapley values the measurements recommend.

#include <CLI/CLI.hpp>
#include <iomanip>
#include <ostream>
#include <set>

#include "apps/advise/advice.hpp"
#include "harness/cli/verbs.hpp"

namespace retable::experiments {
namespace {

void Print(int features, std::int64_t evaluations, int background, std::ostream& out) {
  if (features >= 1 && features < 62 && evaluations >= (std::int64_t{1} << features)) {
    out << "Evaluate all " << (std::int64_t{1} << features) << " coalitions of " << features
        << " features: the values are exact (KernelSHAP, LeverageSHAP, OddSHAP and RegressionMSR "
           "find that out by themselves).\n";
    return;
  }
  const auto table = MeasuredErrors();
  const auto ranking = Advise(table, features, evaluations, background);
  if (ranking.empty()) throw std::runtime_error("nothing was measured for such games");
  out << "Take " << ranking.front().method << ".\n\n"
      << "Squared error over the least of all methods, near " << features << " features and "
      << evaluations << " different coalitions\n(weighted geometric mean over measured games; "
      << "seconds of one estimate on one thread at the nearest):\n\n";
  for (const Advice& a : ranking) {
    out << "  " << std::left << std::setw(28) << a.method << std::right << std::setw(8)
        << std::setprecision(3) << a.score << std::setw(12) << a.seconds << " s\n";
  }
  std::set<std::pair<int, std::string>> games;
  int fewest = table.front().per_player, most = fewest;
  for (const auto& row : table) {
    games.insert({row.features, row.dataset});
    fewest = std::min(fewest, row.per_player);
    most = std::max(most, row.per_player);
  }
  out << "\nMeasured on boosted trees:";
  for (const auto& [d, name] : games) out << " " << name << " (d = " << d << ")";
  out << "; " << fewest << " to " << most
      << " coalitions a feature. Other models may rank otherwise.\nMethod and parameters behind "
         "each name: experiments/shapley/beyond/estimators.toml\n";
  const double per_player = static_cast<double>(evaluations) / features;
  if (per_player < fewest || per_player > most || features < games.begin()->first ||
      features > games.rbegin()->first) {
    out << "Your question lies outside of what was measured.\n";
  }
}

int AdviseMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  int features = 0, background = 0;
  std::int64_t evaluations = 0;
  CLI::App app{
      "retable advise: the estimator of Shapley values that the recorded measurements "
      "(shapley/beyond_estimators) recommend for a number of features and of coalitions to "
      "evaluate",
      "retable advise"};
  app.add_option("--features", features, "players of the game")->required();
  app.add_option("--evaluations", evaluations, "different coalitions you can afford")->required();
  app.add_option("--background", background, "rows behind: 1, 100, or both alike by default")
      ->check(CLI::IsMember({1, 100}));
  return harness::RunVerb(app, args, out, err, harness::WithWordsRefused([&] {
                            Print(features, evaluations, background, out);
                            return 0;
                          }));
}

const harness::VerbRegistration registered_advise(
    {"advise", "--features D --evaluations M: which Shapley estimator to take", AdviseMain});

}  // namespace
}  // namespace retable::experiments
