// The image networks on a GPU against their CPU backend, bit for bit, on fresh random networks,
// images and coalitions.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/network_writer_testing.hpp"
#include "experiments/shapley/games/images/random_networks_testing.hpp"

namespace retable::experiments {
namespace {

class CudaLayers : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }

  Image RandomImage(const ImageShape& shape) {
    return {static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height),
            static_cast<std::size_t>(shape.width), RandomFloats(shape.size(), random_)};
  }
  //! An image as one of the program's own networks reads it.
  TiledImage RandomTiles(const std::string& network) {
    const int side = network == "digits" ? 8 : 32;
    Image image = RandomImage({1, side, side});
    for (float& value : image.values) value = std::min(1.0f, std::abs(value));
    return Tiled(std::move(image), network == "digits" ? 1 : 2, {0.0f});
  }
  void ExpectSame(const LayerGraph& graph, const TiledImage& tiled, std::size_t count);

  std::mt19937_64 random_;
};

// The coalitions' images, as the CPU's game draws them.
std::vector<float> Drawn(const TiledImage& tiled, std::span<const std::uint64_t> coalitions) {
  const auto words = static_cast<std::size_t>((tiled.players + 63) / 64);
  const std::size_t size = tiled.image.size(), pixels = tiled.player.size();
  std::vector<float> images(coalitions.size() / words * size);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t at = i % size;
    const auto player = static_cast<std::size_t>(tiled.player[at % pixels]);
    const std::uint64_t word = coalitions[i / size * words + player / 64];
    images[i] =
        ((word >> (player % 64)) & 1) != 0 ? tiled.image.values[at] : tiled.black[at / pixels];
  }
  return images;
}

// Equal logits; log-odds, whose exponentials differ from the host's in the last digits, to 1e-12.
void CudaLayers::ExpectSame(const LayerGraph& graph, const TiledImage& tiled, std::size_t count) {
  SCOPED_TRACE(testing::Message() << graph.layers.size() << " layers, " << tiled.players
                                  << " players, " << count << " coalitions");
  const auto coalitions = RandomCoalitions(count, tiled.players, random_);
  std::vector<float> want(count * graph.classes());
  MakeLayerNetwork(graph)->logits(Drawn(tiled, coalitions), want);
  const std::vector<float> got = DeviceLogits(graph, tiled, coalitions);
  ASSERT_EQ(got.size(), want.size());
  bool finite = true;
  for (std::size_t i = 0; i < want.size(); ++i) {
    // A maximum over padding alone is not finite, and may become NaN.
    finite = finite && std::isfinite(want[i]);
    ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
        << i << ": " << got[i] << " is not " << want[i];
  }
  if (!finite) return;
  const std::size_t answer = graph.classes() / 2;
  std::vector<double> odds(count), again(count);
  const auto game = MakeDeviceImageGame(graph, tiled, answer);
  game->evaluate(coalitions, odds);
  game->evaluate(coalitions, again);
  EXPECT_TRUE(odds == again);
  for (std::size_t k = 0; k < count; ++k) {
    const auto logits = std::span(want).subspan(k * graph.classes(), graph.classes());
    const double host = LogOdds(logits, answer);
    ASSERT_NEAR(odds[k], host, 1e-12 * (1 + std::abs(host)));
  }
}

TEST_F(CudaLayers, RandomNetworksHaveTheSameLogits) {
  for (int trial = 0; trial < 24; ++trial) {
    const int tile = Between(1, 3, random_), channels = Between(1, 3, random_);
    const int rows = Between(1, 12, random_), columns = Between(1, 12, random_);
    const ImageShape shape{channels, tile * rows, tile * columns};
    const int layers = Between(1, 6, random_), classes = Between(2, 40, random_);
    const auto graph = RandomGraph(shape, layers, classes, random_);
    const auto black = RandomFloats(static_cast<std::size_t>(channels), random_);
    const auto tiled = Tiled(RandomImage(shape), static_cast<std::size_t>(tile), black);
    const std::size_t counts[] = {1, 127, 128, 129, 300};
    ExpectSame(graph, tiled, counts[trial % 5]);
  }
}

// All operators: networks that begin with any of them, and add or join the image itself.
TEST_F(CudaLayers, RandomOperatorsHaveTheSameLogits) {
  for (int trial = 0; trial < 120; ++trial) {
    const int tile = Between(1, 3, random_), channels = Between(1, 5, random_);
    const ImageShape shape{channels, tile * Between(1, 5, random_), tile * Between(1, 5, random_)};
    const Image image = RandomImage(shape);
    const int steps = Between(0, 9, random_), classes = Between(2, 40, random_);
    const auto written = RandomWrittenNetwork(shape, image.values, steps, classes, false, random_);
    const auto black = RandomFloats(static_cast<std::size_t>(channels), random_);
    const std::size_t counts[] = {1, 127, 128, 129, 300};
    ExpectSame(ReadLayers(written.bytes, image),
               Tiled(image, static_cast<std::size_t>(tile), black), counts[trial % 5]);
  }
}

// One convolution of the image, then what is asked for.
LayerGraph WithDense(const Image& image, const Layer& first, std::mt19937_64& random) {
  NetworkWriter writer({first.in.channels, first.in.height, first.in.width}, image.values, random);
  NetworkWriter::Place place;
  place.height = first.window.height;
  place.width = first.window.width;
  place.top = place.bottom = first.window.top;
  place.left = place.right = first.window.left;
  const auto x =
      writer.Convolution(writer.image(), first.out.channels, first.sections, place, true);
  return ReadLayers(writer.Bytes(writer.Dense(writer.AsVector(x), 5)), image);
}

// Weights that fill shared memory many times over, kernels that fill it alone, and channels by the
// thousand.
TEST_F(CudaLayers, WideLayersHaveTheSameLogits) {
  const auto check = [&](const ImageShape& shape, const ImageShape& out, int sections,
                         const Window& window) {
    const Image image = RandomImage(shape);
    Layer first;
    first.in = shape;
    first.out = out;
    first.sections = sections;
    first.window = window;
    const auto tiled = Tiled(image, 1, std::vector<float>(image.channels, 0.1f));
    ExpectSame(WithDense(image, first, random_), tiled, 40);
  };
  const auto kernel = [](int side, int padding) {
    Window window;
    window.height = window.width = side;
    window.top = window.left = padding;
    return window;
  };
  check({512, 7, 7}, {64, 1, 1}, 1, kernel(7, 0));        // a dense layer of 25,088 values
  check({512, 4, 4}, {30, 1, 1}, 1, kernel(7, 3));        // the same kernel on a smaller image
  check({1, 40, 40}, {28, 1, 1}, 1, kernel(37, 0));       // 86 KiB for 16 channels
  check({2, 70, 3}, {5, 1, 1}, 1, kernel(1, 0));          // a dense layer of many pixels
  check({1024, 3, 3}, {1024, 1, 1}, 1024, kernel(3, 1));  // a section for each channel
}

// More coalitions than device memory is given at a time.
TEST_F(CudaLayers, SeveralBatchesHaveTheSameLogits) {
  const ImageShape shape{3, 64, 64};
  const Image image = RandomImage(shape);
  NetworkWriter writer(shape, image.values, random_);
  NetworkWriter::Place place;
  place.height = place.width = 1;
  const auto wide = writer.Convolution(writer.image(), 256, 1, place, true);  // 4 MiB an image
  const auto pooled =
      writer.Whole(writer.Each("Relu", wide, [](double v) { return v; }), "GlobalMaxPool");
  const auto graph = ReadLayers(writer.Bytes(writer.Dense(writer.AsVector(pooled), 3)), image);
  ExpectSame(graph, Tiled(image, 8, {0.0f, 0.1f, -0.1f}), 300);
}

TEST_F(CudaLayers, KernelsThatDoNotFitAreRefused) {
  const Image image = RandomImage({1, 300, 300});
  Layer first;
  first.in = {1, 300, 300};
  first.out = {2, 1, 1};
  first.window.height = first.window.width = 299;
  const auto graph = WithDense(image, first, random_);
  EXPECT_THROW(DeviceLogits(graph, Tiled(image, 100, {0.0f}), {}), std::invalid_argument);
}

TEST_F(CudaLayers, TheOwnNetworksHaveTheSameLogits) {
  for (const char* name : {"digits", "fashion"}) {
    const TiledImage tiled = RandomTiles(name);
    const LayerGraph graph = ReadLayers(NetworkFile(name), tiled.image);
    for (const std::size_t count : {1, 257, 3000}) ExpectSame(graph, tiled, count);
  }
}

TEST_F(CudaLayers, WalksGiveTheCoalitionsOwnValues) {
  const TiledImage tiled = RandomTiles("fashion");
  const LayerGraph graph = ReadLayers(NetworkFile("fashion"), tiled.image);
  const auto game = MakeDeviceImageGame(graph, tiled, 3);
  const std::size_t d = 256, walks = 3;
  std::vector<std::int32_t> orders;
  for (std::size_t w = 0; w < walks; ++w) {
    for (std::size_t i = 0; i < d; ++i) orders.push_back(static_cast<std::int32_t>(i));
    std::shuffle(orders.end() - static_cast<std::ptrdiff_t>(d), orders.end(), random_);
  }
  std::vector<double> together(walks * (d + 1)), one(d + 1);
  game->walks(orders, together);
  for (std::size_t w = 0; w < walks; ++w) {
    game->evaluate(shapley::Prefixes(std::span(orders).subspan(w * d, d)), one);
    EXPECT_TRUE(std::equal(one.begin(), one.end(),
                           together.begin() + static_cast<std::ptrdiff_t>(w * (d + 1))));
  }
}

}  // namespace
}  // namespace retable::experiments

#endif
