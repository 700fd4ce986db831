#include "experiments/treeshap/data/model_shapes.hpp"

namespace retable::experiments::treeshap {

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

}  // namespace retable::experiments::treeshap
