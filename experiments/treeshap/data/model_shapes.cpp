#include "experiments/treeshap/data/model_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/common/philox.hpp"
#include "base/sha256.hpp"

namespace retable::experiments::treeshap {
namespace {

// A whole number of low .. high whose logarithm is uniform, the same on every machine.
int Drawn(std::uint64_t model, std::uint64_t what, double low, double high) {
  const double u = UniformDouble(Philox4x32::FromSeed(24).Block(model, what).half(0));
  return static_cast<int>(std::lround(low * std::exp(u * std::log(high / low))));
}

ModelShape Zoo(std::uint64_t model) {
  constexpr double kMostLeaves = 400000;
  ModelShape zoo;
  zoo.name = fmt::format("zoo {:02}", model);
  zoo.name += Sha256(zoo.name).front() < '8' ? " unseen" : "";
  zoo.missing = model % 4 == 0 ? 0.1 : 0;
  auto& shape = zoo.shape;
  shape.features = Drawn(model, 0, 4, 1000);
  shape.binary = model % 2 == 0 ? shape.features / 2 : 0;
  shape.depth = Drawn(model, 1, 3, 30);
  shape.groups = model % 3 == 0 ? Drawn(model, 2, 2, 100) : 1;
  shape.rows = Drawn(model, 3, 1000, 16000);
  shape.min_rows = Drawn(model, 4, 2, 64);
  const double leaves = std::min(std::ldexp(1, shape.depth), 2.0 * shape.rows / shape.min_rows);
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
    for (std::uint64_t model = 1; model <= 32; ++model) made.push_back(Zoo(model));
    return made;
  }();
  return shapes;
}

}  // namespace retable::experiments::treeshap
