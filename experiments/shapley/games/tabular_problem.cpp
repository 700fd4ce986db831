// Models on tables and the games of explaining them.
//
// Exact values: of trees by the tree family's interventional explainer, which must agree with the
// game's own closed form; of a perceptron with at most 14 features by enumeration; else unknown.
// Small games are kept as tables of all coalitions.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "datasets/frame/encode.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shapley/games/model_cache.hpp"
#include "experiments/shapley/games/perceptrons/mlp.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "experiments/shapley/games/trees/boosted_trees.hpp"
#include "experiments/shapley/games/trees/tree_game.hpp"
#include "harness/plan/plan.hpp"

// What of models is kept between cells: own trees have no categories and one output.
namespace retable::treeshap {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TreeNode, feature, threshold, left, right, cover, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tree, nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TreeEnsemble, features, base_score, trees)
}  // namespace retable::treeshap

namespace retable::experiments {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mlp, features, hidden, weight, bias, out, out_bias, epochs, loss)
using nlohmann::json;

namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeExplainer;

constexpr int kTabulated = 14;  // players of a game that is kept as a table

// Everything a problem needs of its data: what is kept between cells.
struct Trained {
  std::size_t columns = 0;
  std::int64_t rows = 0;
  bool logistic = false;
  std::vector<float> foreground, background;
  TreeEnsemble trees;
  Mlp mlp;

  RowBlock Foreground() const { return {foreground, foreground.size() / columns, columns}; }
  RowBlock Background() const { return {background, background.size() / columns, columns}; }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Trained, columns, rows, logistic, foreground, background, trees,
                                   mlp)

bool IsMlp(const harness::CellConfig& cell) {
  const std::string model = TextOf(cell.settings, "model");
  if (model != "trees" && model != "mlp") {
    throw std::invalid_argument("model = \"" + model + "\": \"trees\" and \"mlp\" are known");
  }
  return model == "mlp";
}

// To mean zero and variance one; columns of one value become zero.
void Standardise(std::vector<float>& rows, std::size_t columns) {
  const std::size_t n = rows.size() / columns;
  for (std::size_t f = 0; f < columns; ++f) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) mean += static_cast<double>(rows[i * columns + f]);
    mean /= static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      square += std::pow(static_cast<double>(rows[i * columns + f]) - mean, 2);
    }
    const double deviation = std::sqrt(square / static_cast<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      float& x = rows[i * columns + f];
      x = deviation > 0 ? static_cast<float>((static_cast<double>(x) - mean) / deviation) : 0.0f;
    }
  }
}

Trained Train(const harness::CellConfig& cell) {
  const auto frame = LoadTabular(cell.dataset);
  const std::size_t columns = frame.columns.size();
  auto values = frame.RowMajor();
  if (FlagOf(cell.settings, "standardise")) Standardise(values, columns);
  const RowBlock block{values, static_cast<std::size_t>(frame.rows), columns};
  const bool logistic = TwoClasses(frame.target->values);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto front = static_cast<std::size_t>(IntegerIn(cell.settings, "foreground", 1, kMost));
  const auto back = static_cast<std::size_t>(IntegerIn(cell.settings, "background", 1, kMost));
  if (front + back > block.rows) {
    throw std::invalid_argument("foreground and background need " + std::to_string(front + back) +
                                " rows; \"" + cell.dataset + "\" has " +
                                std::to_string(block.rows));
  }
  Trained trained;
  trained.columns = columns;
  trained.rows = frame.rows;
  trained.logistic = logistic;
  if (IsMlp(cell)) {
    MlpOptions options;
    options.epochs = static_cast<int>(IntegerIn(cell.settings, "epochs", 1, 1000000));
    options.logistic = logistic;
    trained.mlp = TrainMlp(block, frame.target->values, options);
  } else {
    BoostingOptions options;
    options.rounds = static_cast<int>(IntegerIn(cell.settings, "rounds", 0, 1000000));
    options.depth = static_cast<int>(IntegerIn(cell.settings, "depth", 0, 512));
    options.logistic = logistic;
    trained.trees = TrainBoostedTrees(block, frame.target->values, options);
  }
  std::vector<std::int32_t> order(block.rows);
  shapley::UniformOrder(static_cast<std::uint64_t>(IntegerOf(cell.settings, "rows_seed")), 0, 0,
                        order);
  for (std::size_t k = 0; k < front + back; ++k) {
    const auto row = block.row(static_cast<std::size_t>(order[k]));
    auto& to = k < back ? trained.background : trained.foreground;
    to.insert(to.end(), row.begin(), row.end());
  }
  return trained;
}

Trained Get(const harness::CellConfig& cell) {
  json identity = {{"data", cell.dataset}, {"sha256", cell.dataset_sha256}};
  for (const auto& spec : TabularSettings()) {
    std::visit([&](const auto& value) { identity[spec.name] = value; },
               cell.settings.at(spec.name));
  }
  return KeptModel(identity, harness::FamilySourceHash("shapley"), [&] { return Train(cell); })
      .get<Trained>();
}

double Difference(double a, double b) {
  return std::abs(a - b) / std::max(1.0, std::abs(b));
}

// The full coalition is the row's prediction, the empty one the background's mean.
double EndsDisagreement(const shapley::Game& game, double prediction, double mean) {
  const shapley::Ends ends = shapley::EndValues(game);
  return std::max(Difference(ends.none, mean), Difference(ends.all, prediction));
}

// The game on the device, which must give the values of a walk that the host gives, bit for bit.
std::unique_ptr<shapley::Game> OnDevice(Problem& problem, const shapley::Game& host,
                                        std::unique_ptr<shapley::Game> device) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(host.dimension()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> want(order.size() + 1), got(want.size());
  host.walk(order, want);
  device->walk(order, got);
  if (got != want) problem.disagreement = std::numeric_limits<double>::infinity();
  return device;
}

void AddGame(Problem& problem, std::unique_ptr<shapley::Game> game) {
  if (game->dimension() <= kTabulated) game = shapley::TabulatedGame(*game);
  problem.games.push_back(std::move(game));
}

void AddTreeGames(Problem& problem, const Trained& trained, bool on_device) {
  const auto explainer =
      Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu, {});
  explainer->prepare(trained.trees);
  explainer->set_background(trained.Background());
  const auto phi = explainer->values(trained.Foreground());
  const std::size_t side = trained.columns + 1;
  for (std::size_t r = 0; r < trained.Foreground().rows; ++r) {
    const auto row = trained.Foreground().row(r);
    auto terms = MakeTreeGame(trained.trees, row, trained.Background());
    const auto from = phi.begin() + static_cast<std::ptrdiff_t>(r * side);
    problem.exact.emplace_back(from, from + static_cast<std::ptrdiff_t>(trained.columns));
    const auto closed_form = terms->ShapleyValues();
    for (std::size_t i = 0; i < trained.columns; ++i) {
      problem.disagreement =
          std::max(problem.disagreement, Difference(closed_form[i], problem.exact[r][i]));
    }
    std::unique_ptr<shapley::Game> game;
    if (on_device) {
      game = OnDevice(problem, *terms, shapley::MakeDeviceTermGame(*terms));
    } else {
      game = std::move(terms);
    }
    const double prediction = Predict(trained.trees, row)[0];
    problem.disagreement = std::max(
        problem.disagreement, EndsDisagreement(*game, prediction, phi[r * side + trained.columns]));
    AddGame(problem, std::move(game));
  }
  problem.checked = "interventional SHAP against the game's closed form, and predictions";
  problem.facts["reference"] = std::string("exact, interventional SHAP");
}

void AddMlpGames(Problem& problem, const Trained& trained, bool on_device) {
  double mean = 0;
  const RowBlock background = trained.Background();
  for (std::size_t b = 0; b < background.rows; ++b) {
    mean += trained.mlp.Predict(background.row(b)) / static_cast<double>(background.rows);
  }
  for (std::size_t r = 0; r < trained.Foreground().rows; ++r) {
    const auto row = trained.Foreground().row(r);
    auto game = MakeMlpGame(trained.mlp, row, background);
    if (on_device) {
      game = OnDevice(problem, *game, MakeDeviceMlpGame(MlpTables(trained.mlp, row, background)));
    }
    AddGame(problem, std::move(game));
    problem.disagreement =
        std::max(problem.disagreement,
                 EndsDisagreement(*problem.games.back(), trained.mlp.Predict(row), mean));
    if (problem.features <= kTabulated) {
      problem.exact.push_back(shapley::ExactShapleyValues(*problem.games.back()));
    }
  }
  problem.checked = "predictions of the row and of the background";
  problem.facts["reference"] =
      std::string(problem.exact.empty() ? "mean of the trials" : "exact, all coalitions");
  problem.facts["epochs"] = std::int64_t{trained.mlp.epochs};
}

}  // namespace

datasets::Frame LoadTabular(const std::string& dataset) {
  auto frame = LoadData(dataset);
  if (dataset == "adult") frame = datasets::OneHot(frame);
  if (dataset == "cal_housing") frame = datasets::CaliforniaHousing(frame);
  if (!frame.target) throw std::invalid_argument("\"" + dataset + "\" has no target column");
  if (frame.target->kind != datasets::ColumnKind::kNumeric && !TwoClasses(frame.target->values)) {
    throw std::invalid_argument("the target of \"" + dataset +
                                "\" is neither a number nor one of two classes");
  }
  return frame;
}

bool TwoClasses(std::span<const float> targets) {
  const std::set<float> values(targets.begin(), targets.end());
  return values == std::set<float>{0.0f, 1.0f};
}

std::vector<harness::ParameterSpec> TabularSettings() {
  return {{"model", std::string("trees"), "trees (boosted) or mlp (100 units)"},
          {"foreground", std::int64_t{10}, "rows explained"},
          {"background", std::int64_t{100}, "rows that stand for absent features"},
          {"rows_seed", std::int64_t{1}, "draws foreground and background"},
          {"rounds", std::int64_t{100}, "of boosting"},
          {"depth", std::int64_t{6}, "of a tree"},
          {"epochs", std::int64_t{200}, "of a perceptron's training, at most"},
          {"standardise", false, "features to mean zero and variance one before training"}};
}

Problem MakeTabularProblem(const harness::CellConfig& cell) {
  const Trained trained = Get(cell);
  Problem problem;
  problem.features = static_cast<int>(trained.columns);
  const bool on_device = cell.device == "cuda";
  if (IsMlp(cell)) {
    AddMlpGames(problem, trained, on_device);
  } else {
    AddTreeGames(problem, trained, on_device);
  }
  problem.facts["features"] = static_cast<std::int64_t>(trained.columns);
  problem.facts["rows"] = trained.rows;
  problem.facts["model"] = std::string(IsMlp(cell) ? "own perceptron" : "own boosted trees") +
                           (trained.logistic ? ", log loss" : ", squared error");
  return problem;
}

}  // namespace retable::experiments
