#pragma once
//! @file
//! A multilayer perceptron of one hidden layer for the games of the permutation paper: a trainer
//! with scikit-learn's defaults, and the game of explaining one of its predictions.
//!
//! 100 units of max(0, x), Adam (Kingma and Ba 2014) with rate 0.001, batches of 200, weight decay
//! 0.0001, uniform start after Glorot and Bengio 2010; at most 200 epochs, fewer where the loss has
//! not fallen by 0.0001 in ten of them; squared error, or log loss for two classes. scikit-learn's
//! definitions, not its random numbers. Sums are in a fixed order and without fused
//! multiply-adds, so that one seed gives the same network on every machine. An epoch costs
//! O(values that are not zero * units).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/shapley/games/game.hpp"
#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::experiments {

struct MlpOptions {
  int hidden = 100;
  int epochs = 200;
  int batch = 200;
  double learning_rate = 1e-3;
  double alpha = 1e-4;      //!< penalty on the squared weights
  double tolerance = 1e-4;  //!< a loss must fall by this
  int patience = 10;        //!< epochs without that before training ends
  bool logistic = false;    //!< targets are 0 or 1; the output is the log-odds
  std::uint64_t seed = 1;
};

//! output = out_bias + sum over units h of out[h] max(0, bias[h] + sum over j of x[j] weight[j,
//! h]).
struct Mlp {
  std::size_t features = 0, hidden = 0;
  std::vector<float> weight;     //!< features x hidden, row-major
  std::vector<float> bias, out;  //!< hidden each
  float out_bias = 0;
  int epochs = 0;   //!< the number that training took
  double loss = 0;  //!< the last epoch's

  //! In double. @throws std::invalid_argument for a row of another length
  double Predict(std::span<const float> row) const;
};

//! @throws std::invalid_argument for missing values, or targets other than 0 and 1 where logistic.
Mlp TrainMlp(const retable::treeshap::RowBlock& rows, std::span<const float> targets,
             const MlpOptions& options);

//! v(S): the mean output over background rows b of the row that has x on S and b elsewhere. A
//! player who joins costs one addition to the units' inputs for each background row where x and b
//! differ: O(rows * units), not O(rows * units * features). @throws std::invalid_argument for no
//! background, or rows that do not fit.
std::unique_ptr<shapley::Game> MakeMlpGame(const Mlp& model, std::span<const float> row,
                                           const retable::treeshap::RowBlock& background);

//! A perceptron's game in arrays: units are filled up with zeros to a multiple of 8.
struct MlpTables {
  //! @throws std::invalid_argument as MakeMlpGame
  MlpTables(const Mlp& model, std::span<const float> row,
            const retable::treeshap::RowBlock& background);

  std::size_t features, units, rows;
  std::vector<double> weight, out;  //!< features x units; units
  double out_bias;
  std::vector<double> start;       //!< rows x units: the units' inputs of each background row
  std::vector<double> difference;  //!< rows x features: the explained row minus the background's
};

//! The game on the current CUDA device: the same values, bit for bit. Calls wait for each other.
//! @throws std::invalid_argument for more than 128 units, or in a build without CUDA;
//! std::runtime_error on a CUDA error.
std::unique_ptr<shapley::Game> MakeDeviceMlpGame(const MlpTables& tables);

}  // namespace retable::experiments
