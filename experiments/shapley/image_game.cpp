#include "experiments/shapley/image_game.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace retable::experiments {
namespace {

class ImageGame final : public shapley::Game {
 public:
  ImageGame(std::shared_ptr<const ImageNetwork> network, Image image, std::size_t tile,
            std::vector<float> black)
      : network_(std::move(network)),
        image_(std::move(image)),
        tile_(tile),
        across_(image_.width / tile),
        black_(std::move(black)),
        answer_(Answer(*network_, image_)) {}

  int dimension() const override { return static_cast<int>(image_.height / tile_ * across_); }

  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::size_t words = shapley::CoalitionWords(dimension());
    const std::size_t classes = network_->classes();
    std::vector<float> images(values.size() * image_.size()), logits(values.size() * classes);
    for (std::size_t k = 0; k < values.size(); ++k) {
      Draw(coalitions.subspan(k * words, words),
           std::span(images).subspan(k * image_.size(), image_.size()));
    }
    network_->logits(images, logits);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = LogOdds(std::span(logits).subspan(k * classes, classes), answer_);
    }
  }

 private:
  void Draw(std::span<const std::uint64_t> in, std::span<float> to) const {
    std::size_t at = 0;
    for (std::size_t c = 0; c < image_.channels; ++c) {
      for (std::size_t y = 0; y < image_.height; ++y) {
        for (std::size_t x = 0; x < image_.width; ++x, ++at) {
          const std::size_t player = y / tile_ * across_ + x / tile_;
          const bool shown = ((in[player / 64] >> (player % 64)) & 1) != 0;
          to[at] = shown ? image_.values[at] : black_[c];
        }
      }
    }
  }

  std::shared_ptr<const ImageNetwork> network_;
  Image image_;
  std::size_t tile_, across_;
  std::vector<float> black_;
  std::size_t answer_;
};

}  // namespace

double LogOdds(std::span<const float> logits, std::size_t answer) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (std::isnan(logits[c])) return std::nan("");
    if (c != answer) most = std::max(most, static_cast<double>(logits[c]));
  }
  double sum = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (c != answer) sum += std::exp(static_cast<double>(logits[c]) - most);
  }
  return static_cast<double>(logits[answer]) - most - std::log(sum);
}

std::size_t Answer(const ImageNetwork& network, const Image& image) {
  std::vector<float> logits(network.classes());
  network.logits(image.values, logits);
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::unique_ptr<shapley::Game> MakeImageGame(std::shared_ptr<const ImageNetwork> network,
                                             Image image, std::size_t tile,
                                             std::vector<float> black) {
  if (image.values.size() != image.size() || image.size() == 0 || black.size() != image.channels) {
    throw std::invalid_argument("an image whose values or black do not fit its shape");
  }
  if (tile == 0 || image.height % tile != 0 || image.width % tile != 0) {
    throw std::invalid_argument("tiles of " + std::to_string(tile) + " do not fill an image of " +
                                std::to_string(image.height) + " x " + std::to_string(image.width));
  }
  if (network->classes() < 2) throw std::invalid_argument("a network of one class has no odds");
  return std::make_unique<ImageGame>(std::move(network), std::move(image), tile, std::move(black));
}

}  // namespace retable::experiments
