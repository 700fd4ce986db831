#pragma once
//! @file
//! Orders of points on the sphere, computed on a CUDA device.

#include <memory>

#include "algorithms/shapley/permutation_sampler.hpp"

namespace retable::shapley {

//! Orthogonal's and Sobol's orders, the CPU's bit for bit. `parameters` are those of the CPU's
//! method. Device memory is kept between calls. Where Sobol's n is too small for series to pay, the
//! inverse incomplete beta functions run on the host. sample() @throws std::invalid_argument as
//! ScrambledSobol, std::runtime_error for too little device memory or a failed launch.
std::unique_ptr<PermutationSampler> MakeDeviceOrthogonal(const Parameters& parameters);
std::unique_ptr<PermutationSampler> MakeDeviceSobol(const Parameters& parameters);

}  // namespace retable::shapley
