#pragma once
//! @file
//! A network's answer to one image as a game of the image's tiles (Mitchell et al. 2022, section
//! 5.5): tiles outside of the coalition are black, and the value is the log-odds of the class that
//! the whole image has the highest logit of.

#include <memory>

#include "algorithms/shapley/games/game.hpp"
#include "experiments/shapley/games/images/layers.hpp"
#include "experiments/shapley/games/images/network.hpp"
#include "experiments/shapley/games/images/tiled_image.hpp"

namespace retable::experiments {

//! An image whose players are tiles of `tile` x `tile` pixels, row by row; all channels of a tile
//! go together. `black` is the value of a black pixel in each channel, as the network sees it.
//! @throws std::invalid_argument for tiles that do not fill the image.
TiledImage Tiled(Image image, std::size_t tile, std::vector<float> black);

//! A coalition costs one image of the network. @throws std::invalid_argument for a network of one
//! class.
std::unique_ptr<shapley::Game> MakeImageGame(std::shared_ptr<const ImageNetwork> network,
                                             TiledImage image);

//! The same with the network's layers on a CUDA device: coalitions go there as masks, and many
//! walks at a time. `answer`: the whole image's class. Logits are the CPU's, bit for bit. @throws
//! std::invalid_argument for a kernel that does not fit into a block's shared memory, more than
//! 65,535 groups of channels, or a program that was built without CUDA; std::runtime_error on a
//! CUDA error.
std::unique_ptr<shapley::Game> MakeDeviceImageGame(const LayerGraph& graph, const TiledImage& image,
                                                   std::size_t answer);

//! The logits as the device computes them, [coalition][class]. @throws as above
std::vector<float> DeviceLogits(const LayerGraph& graph, const TiledImage& image,
                                std::span<const std::uint64_t> coalitions);

//! log(p / (1 - p)) of class `answer` under the softmax of the logits, without overflow.
double LogOdds(std::span<const float> logits, std::size_t answer);

//! The class of the highest logit.
std::size_t Answer(const ImageNetwork& network, const Image& image);

}  // namespace retable::experiments
