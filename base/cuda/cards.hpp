#pragma once
//! @file
//! Published limits of cards, and the one that RETABLE_EMULATE_DEVICE names: with it every launch
//! is planned, and checked, as on that card, within what the present card has. Compiles without a
//! CUDA toolkit.

#include <cstddef>
#include <span>
#include <string_view>

namespace retable {

//! Sources: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
//! Capability"; multiprocessors and second-level caches from NVIDIA's architecture white papers
//! (Turing, Ampere GA100, Ada, Hopper, Blackwell) and the Jetson AGX Orin data sheet.
struct CardLimits {
  std::string_view name;  //!< as RETABLE_EMULATE_DEVICE has it
  int capability;         //!< 89 for 8.9
  int multiprocessors;
  int threads_per_multiprocessor;
  std::size_t shared_per_block;  //!< bytes of shared memory that a block may ask for
  std::size_t shared_per_multiprocessor;
  std::size_t l2_bytes;
};

std::span<const CardLimits> PublishedCards();

//! @return null where RETABLE_EMULATE_DEVICE is not set or empty
//! @throws std::invalid_argument that lists the names, for another one
const CardLimits* EmulatedCard();

}  // namespace retable
