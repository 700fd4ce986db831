#include "experiments/shapley/games/images/game.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "experiments/shapley/games/images/convolution.hpp"

namespace retable::experiments {
namespace {

constexpr std::size_t kPart = 64;  // images drawn at a time, at least

class ImageGame final : public shapley::Game {
 public:
  ImageGame(std::shared_ptr<const ImageNetwork> network, TiledImage image)
      : network_(std::move(network)),
        tiled_(std::move(image)),
        answer_(Answer(*network_, tiled_.image)) {}

  int dimension() const override { return tiled_.players; }

  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::size_t words = shapley::CoalitionWords(dimension()), size = tiled_.image.size();
    const std::size_t classes = network_->classes(), batch = network_->batch();
    // Images of a part of the coalitions at a time, in whole batches: all may not fit into memory.
    const std::size_t part = std::min(values.size(), (kPart + batch - 1) / batch * batch);
    std::vector<float> images(part * size), logits(part * classes);
    for (std::size_t from = 0; from < values.size(); from += part) {
      const std::size_t here = std::min(part, values.size() - from);
      for (std::size_t k = 0; k < here; ++k) {
        Draw(coalitions.subspan((from + k) * words, words),
             std::span(images).subspan(k * size, size));
      }
      network_->logits(std::span(images).first(here * size),
                       std::span(logits).first(here * classes));
      for (std::size_t k = 0; k < here; ++k) {
        values[from + k] = LogOdds(std::span(logits).subspan(k * classes, classes), answer_);
      }
    }
  }

 private:
  void Draw(std::span<const std::uint64_t> in, std::span<float> to) const {
    const std::size_t pixels = tiled_.player.size();
    for (std::size_t at = 0; at < to.size(); ++at) {
      const auto player = static_cast<std::size_t>(tiled_.player[at % pixels]);
      const bool shown = ((in[player / 64] >> (player % 64)) & 1) != 0;
      to[at] = shown ? tiled_.image.values[at] : tiled_.black[at / pixels];
    }
  }

  std::shared_ptr<const ImageNetwork> network_;
  TiledImage tiled_;
  std::size_t answer_;
};

}  // namespace

double LogOdds(std::span<const float> logits, std::size_t answer) {
  return LogOddsOf(logits.data(), logits.size(), 1, answer);
}

std::size_t Answer(const ImageNetwork& network, const Image& image) {
  std::vector<float> logits(network.classes());
  network.logits(image.values, logits);
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TiledImage Tiled(Image image, std::size_t tile, std::vector<float> black) {
  if (image.values.size() != image.size() || image.size() == 0 || black.size() != image.channels) {
    throw std::invalid_argument("an image whose values or black do not fit its shape");
  }
  if (tile == 0 || image.height % tile != 0 || image.width % tile != 0) {
    throw std::invalid_argument("tiles of " + std::to_string(tile) + " do not fill an image of " +
                                std::to_string(image.height) + " x " + std::to_string(image.width));
  }
  TiledImage tiled;
  const std::size_t across = image.width / tile;
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      tiled.player.push_back(static_cast<std::int32_t>(y / tile * across + x / tile));
    }
  }
  tiled.players = static_cast<int>(image.height / tile * across);
  tiled.image = std::move(image);
  tiled.black = std::move(black);
  return tiled;
}

std::unique_ptr<shapley::Game> MakeImageGame(std::shared_ptr<const ImageNetwork> network,
                                             TiledImage image) {
  if (network->classes() < 2) throw std::invalid_argument("a network of one class has no odds");
  return std::make_unique<ImageGame>(std::move(network), std::move(image));
}

#if !defined(RETABLE_HAS_CUDA)
std::unique_ptr<shapley::Game> MakeDeviceImageGame(const LayerGraph&, const TiledImage&,
                                                   std::size_t) {
  throw std::invalid_argument("this build has no CUDA");
}
std::vector<float> DeviceLogits(const LayerGraph&, const TiledImage&,
                                std::span<const std::uint64_t>) {
  throw std::invalid_argument("this build has no CUDA");
}
#endif

}  // namespace retable::experiments
