#pragma once
//! @file
//! Random networks and coalitions for the tests of both backends of the layers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "experiments/shapley/games/images/layers.hpp"

namespace retable::experiments {

inline std::vector<float> RandomFloats(std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline int Between(int low, int high, std::mt19937_64& random) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

//! A convolution of any tensor before it with a kernel, strides and padding of any kind.
inline Layer RandomConvolution(int input, const ImageShape& in, int channels,
                               std::mt19937_64& random) {
  Layer layer;
  layer.kind = Layer::Kind::kConvolution;
  layer.input = input;
  layer.in = in;
  layer.window.top = Between(0, 2, random);
  layer.window.left = Between(0, 2, random);
  const int bottom = Between(0, 2, random), right = Between(0, 2, random);
  layer.window.height = Between(1, std::min(5, in.height + layer.window.top + bottom), random);
  layer.window.width = Between(1, std::min(5, in.width + layer.window.left + right), random);
  layer.window.stride_y = Between(1, 3, random);
  layer.window.stride_x = Between(1, 3, random);
  layer.out = {
      channels,
      (in.height + layer.window.top + bottom - layer.window.height) / layer.window.stride_y + 1,
      (in.width + layer.window.left + right - layer.window.width) / layer.window.stride_x + 1};
  layer.weights = RandomFloats(
      static_cast<std::size_t>(channels * in.channels * layer.window.height * layer.window.width),
      random);
  // So that values keep their size from layer to layer.
  const float scale = 1 / std::sqrt(static_cast<float>(layer.weights.size()) / channels);
  for (float& weight : layer.weights) weight *= scale;
  layer.bias = RandomFloats(static_cast<std::size_t>(channels), random);
  if (Between(0, 1, random) == 1) layer.clip.low = 0;
  return layer;
}

//! Convolutions, sums with any earlier tensor of the same shape, copies and averages; at the end a
//! dense layer of `classes`.
inline LayerGraph RandomGraph(const ImageShape& image, int layers, int classes,
                              std::mt19937_64& random) {
  LayerGraph graph;
  graph.image = image;
  std::vector<ImageShape> shapes = {image};
  const auto add = [&](Layer layer) {
    for (std::size_t t = 1; t < shapes.size(); ++t) {
      if (shapes[t] == layer.out && Between(0, 1, random) == 1) layer.addend = static_cast<int>(t);
    }
    shapes.push_back(layer.out);
    graph.layers.push_back(std::move(layer));
  };
  for (int l = 0; l < layers; ++l) {
    const int input = l == 0 ? 0 : Between(std::max(1, l - 1), l, random);
    const ImageShape in = shapes[static_cast<std::size_t>(input)];
    if (l > 0 && Between(0, 3, random) == 0) {
      Layer copy;
      copy.input = input;
      copy.in = copy.out = in;
      copy.clip.low = 0;
      add(copy);
    } else {
      add(RandomConvolution(input, in, Between(1, 50, random), random));
    }
  }
  if (Between(0, 1, random) == 1) {
    Layer average;
    average.kind = Layer::Kind::kAverage;
    average.input = layers;
    average.in = shapes.back();
    average.window.height = average.in.height;
    average.window.width = average.in.width;
    average.out = {average.in.channels, 1, 1};
    add(average);
  }
  Layer dense;
  dense.kind = Layer::Kind::kConvolution;
  dense.input = static_cast<int>(graph.layers.size());
  dense.in = shapes.back();
  dense.window.height = dense.in.height;
  dense.window.width = dense.in.width;
  dense.out = {classes, 1, 1};
  dense.weights = RandomFloats(static_cast<std::size_t>(classes) * dense.in.size(), random);
  dense.bias = RandomFloats(static_cast<std::size_t>(classes), random);
  graph.layers.push_back(dense);
  return graph;
}

//! Masks of `count` coalitions, from the empty one to the full one, each player in with a chance of
//! its own.
inline std::vector<std::uint64_t> RandomCoalitions(std::size_t count, int players,
                                                   std::mt19937_64& random) {
  const auto words = static_cast<std::size_t>((players + 63) / 64);
  std::vector<std::uint64_t> masks(count * words, 0);
  for (std::size_t k = 0; k < count; ++k) {
    const double share = count == 1 ? 1 : static_cast<double>(k) / static_cast<double>(count - 1);
    std::bernoulli_distribution in(share);
    for (int i = 0; i < players; ++i) {
      if (in(random)) {
        masks[k * words + static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
      }
    }
  }
  return masks;
}

}  // namespace retable::experiments
