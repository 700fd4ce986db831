#include "algorithms/treeshap/testing/brute_force.hpp"

#include <bit>
#include <cmath>
#include <functional>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/published/path_steps.hpp"
#include "algorithms/treeshap/published/paths.hpp"

namespace retable::treeshap {

namespace {

using Subset = std::uint32_t;
// The game: margin contribution of one group's trees for a subset of features.
using Game = std::function<double(std::size_t group, Subset subset)>;

double Expectation(const TreeEnsemble& model, const Tree& tree, std::int32_t n,
                   std::span<const float> row, Subset subset) {
  const TreeNode& node = tree.at(n);
  if (node.is_leaf()) return node.value;
  if (((subset >> node.feature) & 1u) != 0) {
    const bool left = GoesLeft(model, node, row[static_cast<std::size_t>(node.feature)]);
    return Expectation(model, tree, left ? node.left : node.right, row, subset);
  }
  const double left = LeftWeight(tree, node);
  return left * Expectation(model, tree, node.left, row, subset) +
         (1 - left) * Expectation(model, tree, node.right, row, subset);
}

Game ConditionalGame(const TreeEnsemble& model, std::span<const float> row) {
  return [&model, row](std::size_t group, Subset subset) {
    double sum = 0;
    for (const Tree& tree : model.trees) {
      if (static_cast<std::size_t>(tree.group) == group) {
        sum += Expectation(model, tree, 0, row, subset);
      }
    }
    return sum;
  };
}

// All 2^F values of the game, once.
std::vector<double> Tabulate(const Game& game, std::size_t group, int features) {
  std::vector<double> table(std::size_t{1} << features);
  for (Subset s = 0; s < table.size(); ++s) table[s] = game(group, s);
  return table;
}

// |S|! (n - |S| - 1)! / n! for subsets of n - 1 players.
double ShapleyWeight(int size, int n) {
  return std::exp(std::lgamma(size + 1.0) + std::lgamma(n - size + 0.0) - std::lgamma(n + 1.0));
}

// The joint contribution of the features of `set` to `s`: a sum over the subsets of `set`.
double Derivative(const std::vector<double>& table, Subset set, Subset s) {
  double sum = 0;
  for (Subset subset = set;; subset = (subset - 1) & set) {
    const bool odd = std::popcount(set ^ subset) % 2 == 1;
    sum += odd ? -table[s | subset] : table[s | subset];
    if (subset == 0) return sum;
  }
}

// The interaction index of a set among n features: of one feature its value.
double Index(const std::vector<double>& table, Subset set, int n, bool banzhaf) {
  const int others = n - std::popcount(set);
  double sum = 0;
  for (Subset s = 0; s < table.size(); ++s) {
    if ((s & set) != 0) continue;
    const double weight =
        banzhaf ? std::ldexp(1.0, -others) : ShapleyWeight(std::popcount(s), others + 1);
    sum += weight * Derivative(table, set, s);
  }
  return sum;
}

using GameOfRow = std::function<Game(std::span<const float> row)>;

// Calls body(table, group) for each row and output.
void ForEachTable(const TreeEnsemble& model, const RowBlock& rows, const GameOfRow& game_of,
                  const std::function<void(const std::vector<double>&, std::size_t)>& body) {
  Validate(model);
  ValidateRows(model, rows);
  Require(model.features <= 20,
          "brute force over subsets takes at most 20 features, the model has ", model.features);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const Game game = game_of(rows.row(r));
    for (std::size_t g = 0; g < static_cast<std::size_t>(model.groups); ++g) {
      body(Tabulate(game, g, model.features), g);
    }
  }
}

GameOfRow Conditional(const TreeEnsemble& model) {
  return [&](std::span<const float> row) { return ConditionalGame(model, row); };
}

std::vector<double> Values(const TreeEnsemble& model, const RowBlock& rows,
                           const GameOfRow& game_of, bool banzhaf) {
  std::vector<double> phi;
  ForEachTable(model, rows, game_of, [&](const std::vector<double>& table, std::size_t g) {
    for (int i = 0; i < model.features; ++i) {
      phi.push_back(Index(table, Subset{1} << i, model.features, banzhaf));
    }
    phi.push_back(model.base_score[g] + table[0]);
  });
  return phi;
}

}  // namespace

std::vector<double> BruteForceValues(const TreeEnsemble& model, const RowBlock& rows) {
  return Values(model, rows, Conditional(model), false);
}

std::vector<double> BruteForceBanzhaf(const TreeEnsemble& model, const RowBlock& rows) {
  return Values(model, rows, Conditional(model), true);
}

std::vector<double> BruteForceIndex(const TreeEnsemble& model, const RowBlock& rows, int order,
                                    bool banzhaf) {
  std::vector<double> result;
  ForEachTable(model, rows, Conditional(model), [&](const std::vector<double>& table, std::size_t) {
    for (Subset set = 0; set < table.size(); ++set) {
      const bool wanted = std::popcount(set) == order;
      result.push_back(wanted ? Index(table, set, model.features, banzhaf) : 0);
    }
  });
  return result;
}

std::vector<double> BruteForceInterventional(const TreeEnsemble& model, const RowBlock& rows,
                                             const RowBlock& background) {
  const auto game_of = [&](std::span<const float> row) -> Game {
    return [&model, &background, row](std::size_t group, Subset subset) {
      double sum = 0;
      std::vector<float> mixed(row.size());
      for (std::size_t b = 0; b < background.rows; ++b) {
        for (std::size_t f = 0; f < row.size(); ++f) {
          mixed[f] = ((subset >> f) & 1u) != 0 ? row[f] : background.row(b)[f];
        }
        sum += Predict(model, mixed)[group] - model.base_score[group];
      }
      return sum / static_cast<double>(background.rows);
    };
  };
  return Values(model, rows, game_of, false);
}

std::vector<double> BruteForceInteractions(const TreeEnsemble& model, const RowBlock& rows) {
  const std::vector<double> phi = BruteForceValues(model, rows);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> result;
  ForEachTable(model, rows, Conditional(model), [&](const std::vector<double>& table, std::size_t) {
    for (std::size_t i = 0; i < side; ++i) {
      for (std::size_t j = 0; j < side; ++j) {
        const bool pair = i != j && std::max(i, j) + 1 < side;
        const Subset set = pair ? Subset{1} << i | Subset{1} << j : 0;
        // Half of it is the entry of each triangle.
        result.push_back(pair ? Index(table, set, model.features, false) / 2 : 0);
      }
    }
  });
  FillInteractionDiagonal(side - 1, phi, result);
  return result;
}

namespace {

// The elements of one path, evaluated for one row.
struct RowPath {
  std::vector<std::int32_t> feature;
  std::vector<double> zero, one;
};

RowPath Evaluate(const PathList& list, const Path& path, std::span<const float> row) {
  RowPath result;
  for (const PathElement& element : list.of(path).subspan(1)) {
    result.feature.push_back(element.feature);
    result.zero.push_back(element.zero_fraction);
    result.one.push_back(
        Follows(list, element, row[static_cast<std::size_t>(element.feature)]) ? 1.0 : 0.0);
  }
  return result;
}

// Sum of the weights of the path without elements i and j (j = i: without i).
double SumWithout(const RowPath& path, std::size_t i, std::size_t j) {
  std::vector<double> weights(path.zero.size() + 2);
  Extend(weights.data(), 0, 1.0, 1.0);
  int length = 1;
  for (std::size_t k = 0; k < path.zero.size(); ++k) {
    if (k != i && k != j) Extend(weights.data(), length++, path.zero[k], path.one[k]);
  }
  double sum = 0;
  for (int k = 0; k < length; ++k) sum += weights[static_cast<std::size_t>(k)];
  return sum;
}

}  // namespace

std::vector<double> PathReferenceValues(const TreeEnsemble& model, const RowBlock& rows) {
  Validate(model);
  ValidateRows(model, rows);
  const PathList list = ExtractPaths(model);
  const std::vector<double> expected = ExpectedMargins(model);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> phi(rows.rows * ValuesPerRow(model));
  WriteExpected({phi, side, expected});
  for (std::size_t r = 0; r < rows.rows; ++r) {
    double* row_phi = phi.data() + r * ValuesPerRow(model);
    for (const Path& path : list.paths) {
      const RowPath p = Evaluate(list, path, rows.row(r));
      for (std::size_t i = 0; i < p.zero.size(); ++i) {
        row_phi[static_cast<std::size_t>(path.group) * side +
                static_cast<std::size_t>(p.feature[i])] +=
            SumWithout(p, i, i) * (p.one[i] - p.zero[i]) * path.value;
      }
    }
  }
  return phi;
}

std::vector<double> PathReferenceInteractions(const TreeEnsemble& model, const RowBlock& rows) {
  const std::vector<double> phi = PathReferenceValues(model, rows);
  const PathList list = ExtractPaths(model);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> result(rows.rows * InteractionsPerRow(model), 0.0);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    double* matrices = result.data() + r * InteractionsPerRow(model);
    for (const Path& path : list.paths) {
      const RowPath p = Evaluate(list, path, rows.row(r));
      double* matrix = matrices + static_cast<std::size_t>(path.group) * side * side;
      for (std::size_t i = 0; i < p.zero.size(); ++i) {
        for (std::size_t j = 0; j < p.zero.size(); ++j) {
          if (i == j) continue;
          matrix[static_cast<std::size_t>(p.feature[i]) * side +
                 static_cast<std::size_t>(p.feature[j])] += SumWithout(p, i, j) *
                                                            (p.one[i] - p.zero[i]) *
                                                            (p.one[j] - p.zero[j]) * path.value / 2;
        }
      }
    }
  }
  FillInteractionDiagonal(side - 1, phi, result);
  return result;
}

}  // namespace retable::treeshap
