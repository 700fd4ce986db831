//! @file
//! The image game on a CUDA device behind the games' contract.

#include <mutex>
#include <stdexcept>

#include "experiments/shapley/games/images/game.hpp"
#if defined(RETABLE_HAS_CUDA)
#include "experiments/shapley/games/images/cuda/layers.hpp"
#endif

namespace retable::experiments {

#if defined(RETABLE_HAS_CUDA)
namespace {

class DeviceImageGame final : public shapley::Game {
 public:
  DeviceImageGame(const LayerGraph& graph, const TiledImage& image, std::size_t answer)
      : players_(image.players), answer_(answer), layers_(graph, image) {}

  int dimension() const override { return players_; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::lock_guard lock(mutex_);
    layers_.LogOdds(coalitions, answer_, values);
  }
  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override {
    evaluate(shapley::Prefixes(orders, players_), values);
  }

 private:
  int players_;
  std::size_t answer_;
  mutable std::mutex mutex_;
  mutable DeviceLayers layers_;  // keeps its memory
};

}  // namespace

std::unique_ptr<shapley::Game> MakeDeviceImageGame(const LayerGraph& graph, const TiledImage& image,
                                                   std::size_t answer) {
  if (graph.classes() < 2) throw std::invalid_argument("a network of one class has no odds");
  return std::make_unique<DeviceImageGame>(graph, image, answer);
}

std::vector<float> DeviceLogits(const LayerGraph& graph, const TiledImage& image) {
  const std::vector<std::uint64_t> all(shapley::CoalitionWords(image.players), ~std::uint64_t{0});
  return DeviceLayers(graph, image).Logits(all);
}

#else

std::unique_ptr<shapley::Game> MakeDeviceImageGame(const LayerGraph&, const TiledImage&,
                                                   std::size_t) {
  throw std::invalid_argument("this build has no CUDA");
}

std::vector<float> DeviceLogits(const LayerGraph&, const TiledImage&) {
  throw std::invalid_argument("this build has no CUDA");
}

#endif

}  // namespace retable::experiments
