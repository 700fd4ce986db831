// The layers' CPU backend against direct sums in double, and against OpenCV on the program's own
// networks; the code that both backends share; ONNX files that are not such networks.

#include "experiments/shapley/games/images/layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "experiments/shapley/games/images/convolution.hpp"
#include "experiments/shapley/games/images/digits_testing.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/random_networks_testing.hpp"
#include "experiments/shapley/games/problem.hpp"

namespace retable::experiments {
namespace {

// One layer's output by the definition, everywhere in the image, zeros outside of it.
std::vector<double> Direct(const Layer& layer, const std::vector<double>& in) {
  std::vector<double> out(layer.out.size());
  const auto at = [&](int c, int y, int x) {
    const bool inside = y >= 0 && y < layer.in.height && x >= 0 && x < layer.in.width;
    return inside ? in[static_cast<std::size_t>((c * layer.in.height + y) * layer.in.width + x)]
                  : 0.0;
  };
  std::size_t next = 0;
  for (int o = 0; o < layer.out.channels; ++o) {
    for (int y = 0; y < layer.out.height; ++y) {
      for (int x = 0; x < layer.out.width; ++x, ++next) {
        if (layer.kind == Layer::Kind::kAverage) {
          const Window& w = layer.window;
          for (int i = 0; i < w.height * w.width; ++i) {
            out[next] += at(o, y + i / w.width, x + i % w.width) / (w.height * w.width);
          }
        } else {
          out[next] = static_cast<double>(layer.bias[static_cast<std::size_t>(o)]);
          std::size_t w = static_cast<std::size_t>(o) * (layer.weights.size() / layer.bias.size());
          for (int c = 0; c < layer.in.channels; ++c) {
            for (int row = 0; row < layer.window.height; ++row) {
              for (int column = 0; column < layer.window.width; ++column, ++w) {
                out[next] += static_cast<double>(layer.weights[w]) *
                             at(c, y * layer.window.stride_y + row - layer.window.top,
                                x * layer.window.stride_x + column - layer.window.left);
              }
            }
          }
        }
      }
    }
  }
  return out;
}

std::vector<double> Direct(const LayerGraph& graph, std::span<const float> image) {
  std::vector<std::vector<double>> tensors = {{image.begin(), image.end()}};
  for (const Layer& layer : graph.layers) {
    auto out = Direct(layer, tensors[static_cast<std::size_t>(layer.input)]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (layer.addend >= 0) out[i] += tensors[static_cast<std::size_t>(layer.addend)][i];
      out[i] = std::max(out[i], static_cast<double>(layer.clip.low));
    }
    tensors.push_back(std::move(out));
  }
  return tensors.back();
}

TEST(Layers, AgreeWithDirectSums) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 12; ++trial) {
    const ImageShape image{Between(1, 3, random), Between(1, 9, random), Between(1, 9, random)};
    const auto graph = RandomGraph(image, Between(1, 5, random), Between(2, 9, random), random);
    const std::size_t count = trial == 0 ? 1 : 19;
    const auto images = RandomFloats(count * image.size(), random);
    std::vector<float> logits(count * graph.classes());
    MakeLayerNetwork(graph)->logits(images, logits);
    for (std::size_t k = 0; k < count; ++k) {
      const auto want = Direct(graph, std::span(images).subspan(k * image.size(), image.size()));
      for (std::size_t c = 0; c < want.size(); ++c) {
        ASSERT_NEAR(logits[k * want.size() + c], want[c], 1e-4 * (1 + std::abs(want[c])))
            << "trial " << trial << " image " << k;
      }
    }
  }
}

// What the CUDA backend does in its first layer: the mask is looked at where a pixel is loaded.
TEST(Layers, MasksBlackOutTilesAsTheGameDoes) {
  std::mt19937_64 random(6);
  const ImageShape shape{2, 12, 18};
  const Image image{2, 12, 18, RandomFloats(shape.size(), random)};
  const auto tiled = Tiled(image, 3, {-1.5f, 0.25f});  // 24 players
  const auto wide = Tiled(image, 1, {-1.5f, 0.25f});   // 216: seven words of 32
  for (const TiledImage& one : {tiled, wide}) {
    constexpr int kImages = 4, kOut = 4;
    const auto words = static_cast<std::size_t>((one.players + 63) / 64);
    const auto coalitions = RandomCoalitions(kImages, one.players, random);
    std::vector<std::uint32_t> masks(2 * words * kImages);
    std::vector<float> planes(shape.size() * kImages);
    for (std::size_t k = 0; k < kImages; ++k) {
      for (std::size_t w = 0; w < words; ++w) {
        masks[2 * w * kImages + k] = static_cast<std::uint32_t>(coalitions[k * words + w]);
        masks[(2 * w + 1) * kImages + k] =
            static_cast<std::uint32_t>(coalitions[k * words + w] >> 32);
      }
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto player = static_cast<std::size_t>(one.player[i % 216]);
        const bool in = ((coalitions[k * words + player / 64] >> (player % 64)) & 1) != 0;
        planes[i * kImages + k] = in ? image.values[i] : one.black[i / 216];
      }
    }
    const auto layer = RandomConvolution(0, shape, kOut, random);
    const auto weights = PackChannels(layer.weights, layer, kOut);
    const ConvolutionShape s{2, 12, 18, layer.window};
    const TileSource tiles{image.values.data(), one.black.data(), one.player.data(), masks.data(),
                           kImages};
    const PlaneSource drawn{planes.data(), kImages};
    for (int y = 0; y < layer.out.height; ++y) {
      for (int x = 0; x < layer.out.width; ++x) {
        float a[kOut][kImages] = {}, b[kOut][kImages] = {};
        Convolve<kOut, kImages>(s, tiles, weights.data(), 0, 2, y, x, 0, a);
        Convolve<kOut, kImages>(s, drawn, weights.data(), 0, 2, y, x, 0, b);
        for (int o = 0; o < kOut; ++o) {
          for (int k = 0; k < kImages; ++k) ASSERT_EQ(a[o][k], b[o][k]) << y << ' ' << x;
        }
      }
    }
  }
}

TEST(Layers, WeightsArePackedInGroups) {
  Layer layer;
  layer.out.channels = 3;
  layer.weights = {1, 2, 3, 4, 5, 6};  // two terms a channel
  EXPECT_EQ(PackChannels(layer.weights, layer, 2), (std::vector<float>{1, 3, 2, 4, 5, 0, 6, 0}));
  layer.sections = 3;
  EXPECT_EQ(PackChannels(layer.weights, layer, 2),
            (std::vector<float>{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}));
}

// No layer writes where a value lies that is still to be read.
TEST(Layers, SlotsKeepWhatIsStillRead) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    const auto graph = RandomGraph({1, 4, 4}, Between(1, 9, random), 3, random);
    const Slots slots = AssignSlots(graph);
    std::vector<int> holds(slots.sizes.size(), -1);  // the tensor in each slot
    for (std::size_t l = 0; l < graph.layers.size(); ++l) {
      const Layer& layer = graph.layers[l];
      for (const int read : {layer.input, layer.addend}) {
        if (read < 1) continue;
        const auto slot = static_cast<std::size_t>(slots.of[static_cast<std::size_t>(read) - 1]);
        ASSERT_EQ(holds[slot], read);
        ASSERT_NE(slots.of[l], static_cast<int>(slot));
      }
      const auto slot = static_cast<std::size_t>(slots.of[l]);
      holds[slot] = static_cast<int>(l) + 1;
      ASSERT_GE(slots.sizes[slot], layer.out.size());
    }
  }
}

TEST(Layers, TheOwnNetworksAreRead) {
  const auto digits = ReadLayers(NetworkFile("digits"), {1, 8, 8, {}});
  EXPECT_EQ(digits.layers.size(), 8u);  // 6 convolutions, the average, the dense layer
  EXPECT_EQ(digits.classes(), 10u);
  const auto fashion = ReadLayers(NetworkFile("fashion"), {1, 32, 32, {}});
  EXPECT_EQ(fashion.layers.size(), 9u);
  EXPECT_NEAR(fashion.flop_count(), 2 * 1424696.0, 2e4);
  int sums = 0;
  for (const Layer& layer : fashion.layers) sums += layer.addend >= 0 ? 1 : 0;
  EXPECT_EQ(sums, 2);
}

// Largest difference of log-odds between the CPU backend and OpenCV.
double FarFromOpenCv(const std::string& name, const Image& like, std::span<const float> images) {
  const auto own = MakeLayerNetwork(ReadLayers(NetworkFile(name), like));
  const auto other = ReadOnnx(NetworkFile(name), like, 64);
  const std::size_t count = images.size() / like.size();
  std::vector<float> a(count * 10), b(count * 10);
  own->logits(images, a);
  other->logits(images, b);
  double far = 0;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < 10; ++c) {
      far = std::max(far, std::abs(LogOdds(std::span(a).subspan(10 * k, 10), c) -
                                   LogOdds(std::span(b).subspan(10 * k, 10), c)));
    }
  }
  return far;
}

TEST(Layers, AgreeWithOpenCv) {
  if (const auto why = WhyNoNetworks()) GTEST_SKIP() << *why;
  std::mt19937_64 random(8);
  for (const auto& [name, side] : {std::pair{"digits", 8}, std::pair{"fashion", 32}}) {
    const auto pixels = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    const Image like{1, static_cast<std::size_t>(side), static_cast<std::size_t>(side), {}};
    std::vector<float> images(100 * pixels);
    std::uniform_real_distribution<float> grey(0, 1);
    for (float& value : images) value = Between(0, 1, random) == 1 ? grey(random) : 0.0f;
    const double far = FarFromOpenCv(name, like, images);
    RecordProperty(name, std::to_string(far * 1e6) + "e-6");
    EXPECT_LT(far, 1e-4) << name;
  }
}

TEST(Layers, ReadTheDigits) {
  const DigitsExamples digits = TestDigits();
  std::vector<float> logits(digits.labels.size() * 10);
  MakeLayerNetwork(ReadLayers(NetworkFile("digits"), {1, 8, 8, {}}))->logits(digits.images, logits);
  EXPECT_GT(static_cast<double>(digits.right(logits)) / static_cast<double>(digits.labels.size()),
            0.97);
}

std::string Refusal(const std::string& bytes, const Image& like) {
  try {
    ReadLayers(bytes, like);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "not refused";
}

TEST(Layers, WhatIsNoSuchNetworkIsRefusedByName) {
  const std::string digits(NetworkFile("digits"));
  const Image like{1, 8, 8, {}};
  std::string other = digits;
  for (auto at = other.find("Relu"); at != std::string::npos; at = other.find("Relu")) {
    other.replace(at, 4, "Sinh");
  }
  EXPECT_NE(Refusal(other, like).find("operator Sinh"), std::string::npos);
  EXPECT_NE(Refusal(digits, {3, 8, 8, {}}).find("channels"), std::string::npos);
  EXPECT_NE(Refusal(digits, {1, 8, 0, {}}).find("image"), std::string::npos);
  EXPECT_NE(Refusal("", like).find("no graph"), std::string::npos);
  EXPECT_NE(Refusal("not a network", like).find("cannot be read"), std::string::npos);
}

// Cut short or with a byte changed a file is refused or read, and nothing else.
TEST(Layers, BrokenFilesDoNoHarm) {
  const std::string digits(NetworkFile("digits"));
  const Image like{1, 8, 8, {}};
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    const auto at =
        static_cast<std::size_t>(Between(0, static_cast<int>(digits.size()) - 1, random));
    EXPECT_NE(Refusal(digits.substr(0, at), like), "not refused") << at;
    std::string changed = digits;
    // Names and shapes lie at the front and before each tensor's values.
    const std::size_t where = trial % 2 == 0 ? at : at % 3000;
    changed[where] = static_cast<char>(Between(0, 255, random));
    Refusal(changed, like);
  }
}

}  // namespace
}  // namespace retable::experiments
