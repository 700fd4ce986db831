// The image part of shapley_gpu_check: networks on the device against the CPU twin, bit for bit.

#include <cstdio>
#include <cstring>

#include "experiments/shapley/device_layers.hpp"
#include "experiments/shapley/gpu_check.hpp"
#include "experiments/shapley/image_game.hpp"
#include "experiments/shapley/layer_examples.hpp"

namespace retable::experiments {
namespace {

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

void CheckGraph(const std::string& what, const LayerGraph& graph, const TiledImage& tiled,
                std::size_t count, std::mt19937_64& random) {
  const auto coalitions = RandomCoalitions(count, tiled.players, random);
  const auto images = Drawn(tiled, coalitions);
  std::vector<float> want(count * graph.classes());
  MakeLayerNetwork(graph)->logits(images, want);
  DeviceLayers device(graph, tiled);
  const auto got = device.Logits(coalitions);
  const bool same = got.size() == want.size() && std::equal(got.begin(), got.end(), want.begin());
  const std::size_t answer = graph.classes() / 2;
  std::vector<double> odds(count), again(count);
  device.LogOdds(coalitions, answer, odds);
  device.LogOdds(coalitions, answer, again);
  bool close = true;
  for (std::size_t k = 0; k < count; ++k) {
    const double host =
        LogOdds(std::span(want).subspan(k * graph.classes(), graph.classes()), answer);
    close = close && std::abs(odds[k] - host) <= 1e-12 * (1 + std::abs(host));
  }
  Report(what + ", " + std::to_string(count) + " coalitions", same && close && odds == again);
}

Image RandomImage(const ImageShape& shape, std::mt19937_64& random) {
  return {static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height),
          static_cast<std::size_t>(shape.width), RandomFloats(shape.size(), random)};
}

TiledImage RandomTiles(const std::string& network, std::mt19937_64& random) {
  const int side = network == "digits" ? 8 : 32;
  Image image = RandomImage({1, side, side}, random);
  for (float& value : image.values) value = std::min(1.0f, std::abs(value));
  return Tiled(std::move(image), network == "digits" ? 1 : 2, {0.0f});
}

// Walks on the device give the coalitions' own values.
void CheckWalks(std::mt19937_64& random) {
  const TiledImage tiled = RandomTiles("fashion", random);
  const LayerGraph graph = ReadLayers(NetworkFile("fashion"), tiled.image);
  const auto game = MakeDeviceImageGame(graph, tiled, 3);
  const std::size_t d = 256, walks = 3;
  std::vector<std::int32_t> orders;
  for (std::size_t w = 0; w < walks; ++w) {
    for (std::size_t i = 0; i < d; ++i) orders.push_back(static_cast<std::int32_t>(i));
    std::shuffle(orders.end() - static_cast<std::ptrdiff_t>(d), orders.end(), random);
  }
  std::vector<double> together(walks * (d + 1)), one(d + 1);
  game->walks(orders, together);
  bool same = true;
  for (std::size_t w = 0; w < walks; ++w) {
    game->evaluate(shapley::Prefixes(std::span(orders).subspan(w * d, d)), one);
    same = same && std::equal(one.begin(), one.end(),
                              together.begin() + static_cast<std::ptrdiff_t>(w * (d + 1)));
  }
  Report("walks of the image game", same);
}

}  // namespace

void CheckImages(std::uint64_t seed, bool small) {
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < (small ? 4 : 24); ++trial) {
    const int tile = Between(1, 3, random), channels = Between(1, 3, random);
    const ImageShape shape{channels, tile * Between(1, 12, random), tile * Between(1, 12, random)};
    const auto graph = RandomGraph(shape, Between(1, 6, random), Between(2, 40, random), random);
    const auto black = RandomFloats(static_cast<std::size_t>(channels), random);
    const auto tiled = Tiled(RandomImage(shape, random), static_cast<std::size_t>(tile), black);
    const std::size_t counts[] = {1, 127, 128, 129, 300};
    CheckGraph("random network " + std::to_string(trial) + " of " +
                   std::to_string(graph.layers.size()) + " layers, " +
                   std::to_string(tiled.players) + " players",
               graph, tiled, counts[trial % 5], random);
  }
  for (const char* name : {"digits", "fashion"}) {
    const TiledImage tiled = RandomTiles(name, random);
    const LayerGraph graph = ReadLayers(NetworkFile(name), tiled.image);
    for (const std::size_t count : {std::size_t{1}, std::size_t{257}, std::size_t{3000}}) {
      if (!small || count < 300) CheckGraph(name, graph, tiled, count, random);
    }
  }
  CheckWalks(random);
}

void TimeImages(std::ostream& csv) {
  std::mt19937_64 random(1);
  for (const char* name : {"digits", "fashion"}) {
    const TiledImage tiled = RandomTiles(name, random);
    const LayerGraph graph = ReadLayers(NetworkFile(name), tiled.image);
    const auto network = MakeLayerNetwork(graph);
    DeviceLayers device(graph, tiled);
    for (const std::size_t walks : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
      const std::size_t count = walks * static_cast<std::size_t>(tiled.players + 1);
      const auto coalitions = RandomCoalitions(count, tiled.players, random);
      std::vector<double> odds(count);
      device.LogOdds(coalitions, 0, odds);
      const double fast = Best(7, [&] { device.LogOdds(coalitions, 0, odds); });
      // The CPU twin is timed on the images of one walk.
      const std::size_t few = std::min<std::size_t>(count, 257);
      const auto words = static_cast<std::size_t>((tiled.players + 63) / 64);
      const auto images = Drawn(tiled, std::span(coalitions).first(few * words));
      std::vector<float> logits(few * graph.classes());
      const double slow = Best(2, [&] { network->logits(images, logits); }) *
                          static_cast<double>(count) / static_cast<double>(few);
      std::printf(
          "%-8s %6zu coalitions            %12.6f %12.6f %8.1f  %.3g images/s, %.3g TFLOP/s\n",
          name, count, slow, fast, slow / fast, static_cast<double>(count) / fast,
          static_cast<double>(count) * graph.operations() / fast / 1e12);
      csv << name << ',' << tiled.players << ',' << count << ',' << slow << ',' << fast << '\n';
    }
  }
}

}  // namespace retable::experiments
