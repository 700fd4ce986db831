#pragma once
//! @file
//! What the error protocol explains: one game for each row or image, and what is known of the
//! answers.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/shapley/games/game.hpp"
#include "datasets/frame/frame.hpp"
#include "experiments/common/adapters.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {

struct Problem {
  int features = 0;
  std::vector<std::unique_ptr<shapley::Game>> games;
  std::vector<std::vector<double>> exact;  //!< Shapley values of each game; empty: not known
  double flop_count = 0;    //!< operations of one value, where a network gives it; 0: not known
  double disagreement = 0;  //!< the largest, relative to values above 1, of what was checked
  std::string checked;      //!< what that was
  harness::Values facts;

  harness::Verification agreement() const {
    return AtMost("largest disagreement of what is known twice", disagreement, 1e-6, checked);
  }
};

//! Whether an answer has one finite value for each player.
inline bool IsComplete(std::span<const double> values, int players) {
  return values.size() == static_cast<std::size_t>(players) &&
         std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}
//! What is said of an answer that is not complete.
inline harness::Verification Incomplete() {
  return AtMost("answers without one finite value for each player", 1, 0, "definition");
}

//! A data set as the games use it: adult in one-hot codes (107 columns), cal_housing in
//! scikit-learn's form, others as they are. @throws std::invalid_argument without a target that
//! is a number or one of two classes.
datasets::Frame LoadTabular(const std::string& dataset);
//! Whether targets are 0 and 1, both.
bool TwoClasses(std::span<const float> targets);

//! Boosted trees or a perceptron, trained on the whole data set, and rows drawn by `rows_seed`: the
//! background first, then others to explain. Settings as TabularSettings() lists them. The games
//! are on the cell's device; those of at most 14 players are tables in host memory.
//! @throws std::invalid_argument for too few rows, or an unknown model.
Problem MakeTabularProblem(const harness::CellConfig& cell);
std::vector<harness::ParameterSpec> TabularSettings();

//! One image of a data set and the network that classifies it. "digits": 8 x 8 pixels, each a
//! player; "Fashion-MNIST": padded to 32 x 32, 256 tiles of 2 x 2; "imagenet": ResNet50 and images
//! of the user's, 256 tiles of 14 x 14, from the folder RETABLE_IMAGENET. Images are test rows in
//! the order of `rows_seed`; `image` counts them from 0. OpenCV runs the network on `threads`
//! threads, or where `device` is "cuda" our own layers do. @throws std::invalid_argument for
//! another data set, too few images, a file that is not the published network, layers that are not
//! ours.
Problem MakeImageProblem(const std::string& device, const std::string& dataset, std::int64_t image,
                         std::int64_t rows_seed, int threads = 1);
//! Why networks cannot run on the device ("cpu", "cuda"), or nothing.
std::optional<std::string> WhyNoNetwork(const std::string& device);
//! The methods of an error protocol: each plays on both devices, since the games do.
std::vector<harness::AlgorithmInfo> OnBothDevices(std::vector<harness::AlgorithmInfo> methods);
//! The method on the cell's device, else its CPU backend: the game is on the device in both cases.
template <class Interface>
std::unique_ptr<Interface> MakeNearest(harness::CellConfig cell) {
  if (Registry<Interface>::Instance().Find(cell.algorithm, Device::kCuda) == nullptr) {
    cell.device = "cpu";
  }
  return MakeMethod<Interface>(cell);
}
//! The data sets of image problems. @throws harness::UnknownName
std::vector<harness::DatasetInfo> ResolveImages(const std::string& dataset);
//! How the program's own network does on the images kept from training. @throws
//! std::invalid_argument for a data set without one.
struct NetworkScore {
  double accuracy = 0;
  std::size_t images = 0, bytes = 0;
};
NetworkScore ScoreNetwork(const std::string& dataset);
//! Whether row `row` of the data set is kept from training ("digits", "Fashion-MNIST").
bool IsTestRow(const std::string& dataset, std::int64_t row);

}  // namespace retable::experiments
