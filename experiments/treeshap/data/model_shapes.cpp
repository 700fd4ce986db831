#include "experiments/treeshap/data/model_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "algorithms/common/philox.hpp"
#include "base/sha256.hpp"

namespace retable::experiments::treeshap {
namespace {

// A whole number of low .. high whose logarithm is uniform, the same on every machine.
int Drawn(std::uint64_t model, std::uint64_t what, double low, double high) {
  const double u = UniformDouble(Philox4x32::FromSeed(24).Block(model, what).half(0));
  return static_cast<int>(std::lround(low * std::exp(u * std::log(high / low))));
}

// The name of a model of the zoo.
std::string Named(std::string name) {
  return Sha256(name).front() < '8' ? name + " unseen" : name;
}

TrainedShape Trained(std::uint64_t model) {
  struct Data {
    const char* name;
    int classes;
    double rows;
  };
  constexpr Data kData[] = {
      {"digits", 10, 1797},
      {"adult", 2, 48842},
      {"cal_housing", 0, 20640},
      {"breast_cancer", 2, 569},
      {"make_classification(n_samples=20000,n_features=60,n_informative=20,n_classes=5)", 5, 20000},
      {"make_regression(n_samples=20000,n_features=200,n_informative=50)", 0, 20000},
  };
  constexpr double kMostLeaves = 100000;
  constexpr const char* kTrainers[] = {"", "lightgbm", "scikit-learn"};
  const std::uint64_t trainer = (model - 1) / std::size(kData);
  const Data& data = kData[(model - 1) % std::size(kData)];
  TrainedShape zoo{.name = Named(fmt::format("trained zoo {:02}", model)),
                   .trainer = kTrainers[trainer],
                   .data = data.name,
                   .classes = data.classes};
  if ((model + trainer) % 2 == 0) {
    zoo.leaves = Drawn(100 + model, 0, 31, 1023);
  } else {
    zoo.depth = Drawn(100 + model, 1, 3, 16);
  }
  const double leaves =
      std::min(zoo.leaves > 0 ? zoo.leaves : std::ldexp(1, zoo.depth), data.rows / 2);
  const double a_round = leaves * std::max(1, data.classes > 2 ? data.classes : 1);
  zoo.rounds = std::min(Drawn(100 + model, 2, 10, 200), static_cast<int>(kMostLeaves / a_round));
  zoo.rounds = std::max(zoo.rounds, 1);
  return zoo;
}

// Zoo models up to this number grow level by level.
constexpr std::uint64_t kLevelWise = 20;

ModelShape Zoo(std::uint64_t model) {
  constexpr double kMostLeaves = 100000;
  ModelShape zoo;
  zoo.name = Named(fmt::format("zoo {:02}", model));
  zoo.missing = model % 4 == 0 ? 0.1 : 0;
  auto& shape = zoo.shape;
  shape.features = Drawn(model, 0, 4, 1000);
  shape.binary = model % 2 == 0 ? shape.features / 2 : 0;
  shape.depth = Drawn(model, 1, 3, 30);
  shape.groups = model % 3 == 0 ? Drawn(model, 2, 2, 100) : 1;
  shape.rows = Drawn(model, 3, 1000, 16000);
  shape.min_rows = Drawn(model, 4, 2, 64);
  double leaves = std::min(std::ldexp(1, shape.depth), 2.0 * shape.rows / shape.min_rows);
  if (model > kLevelWise) {
    leaves = shape.leaves = Drawn(model, 6, 31, 4095);
    shape.depth = 30;
    shape.min_rows = 2;
    shape.rows = std::max(shape.rows, 4 * shape.leaves);
  }
  const double rounds = std::min<double>(Drawn(model, 5, 10, 5000), kMostLeaves / leaves);
  shape.trees = shape.groups * std::max(1, static_cast<int>(rounds) / shape.groups);
  return zoo;
}

}  // namespace

const std::vector<ModelShape>& ModelShapes() {
  // Rows and the smallest node that splits are chosen so that the leaves come close to the paper's
  // (or to models trained again on the same data where the paper's are not available).
  static const std::vector<ModelShape> shapes = {
      {"covtype-small", {80, 3, 54, 44, 8, 1000, 8}},
      {"covtype-med", {800, 8, 54, 44, 8, 500, 6}},
      {"covtype-large", {8000, 16, 54, 44, 8, 1000, 3}},
      {"cal_housing-small", {10, 3, 8, 0, 1, 20640, 4}},
      {"cal_housing-med", {100, 8, 8, 0, 1, 20640, 4}},
      {"cal_housing-large", {1000, 16, 8, 0, 1, 8000, 4}},
      {"fashion_mnist-small", {100, 3, 784, 0, 10, 1000, 4}},
      {"fashion_mnist-med", {1000, 8, 784, 0, 10, 1000, 4}},
      {"fashion_mnist-large", {10000, 16, 784, 0, 10, 600, 4}},
      {"adult-small", {10, 3, 14, 4, 1, 2000, 4}},
      {"adult-med", {100, 8, 14, 4, 1, 2000, 8}},
      {"adult-large", {1000, 16, 14, 4, 1, 1000, 4}},
  };
  return shapes;
}

const std::vector<ModelShape>& ZooShapes() {
  static const std::vector<ModelShape> shapes = [] {
    std::vector<ModelShape> made;
    for (std::uint64_t model = 1; model <= kLevelWise + 4; ++model) made.push_back(Zoo(model));
    return made;
  }();
  return shapes;
}

const ModelShape& MillionShape() {
  static const ModelShape shape = {"million", {100, 6, 127, 0, 1, 20000, 4}};
  return shape;
}

const std::vector<TrainedShape>& TrainedZoo() {
  static const std::vector<TrainedShape> shapes = [] {
    std::vector<TrainedShape> made;
    for (std::uint64_t model = 1; model <= 18; ++model) made.push_back(Trained(model));
    return made;
  }();
  return shapes;
}

}  // namespace retable::experiments::treeshap
