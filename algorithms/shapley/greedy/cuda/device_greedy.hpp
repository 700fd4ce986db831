#pragma once
//! @file
//! Herding and sequential Bayesian quadrature on a CUDA device.

#include <memory>

#include "algorithms/shapley/greedy/options.hpp"

namespace retable::shapley {

//! Chooses the same orders, with the same weights, as the CPU, bit for bit. All candidates of all
//! steps are drawn and coded at once: n * candidates codes of device memory, which is kept between
//! calls, and for quadrature as many rows of n doubles. sample() @throws std::invalid_argument for
//! d over 12288, std::runtime_error for too little device memory or a failed launch.
std::unique_ptr<PermutationSampler> MakeDeviceGreedy(const GreedyOptions& options, bool quadrature);

}  // namespace retable::shapley
