#pragma once
//! @file
//! Makes a libFuzzer program of a body. Internal: include from *_fuzz.cpp files only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fuzz/mutation.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t longest);

namespace retable::fuzzing {

//! Every other mutation is libFuzzer's own, which works on bytes.
template <class Mutate>
std::size_t Mutated(std::uint8_t* data, std::size_t size, std::size_t longest, unsigned seed,
                    const Mutate& mutate) {
  Random random(seed);
  if (random(2) == 0) return LLVMFuzzerMutate(data, size, longest);
  const std::string text =
      mutate(std::string_view(reinterpret_cast<const char*>(data), size), random);
  if (text.empty() || text.size() > longest) return LLVMFuzzerMutate(data, size, longest);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace retable::fuzzing

//! `body` takes (const std::uint8_t*, std::size_t); `mutate` makes of (std::string_view, Random&) a
//! std::string and knows the format.
#define RETABLE_FUZZ_TARGET(body, mutate)                                              \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  \
    body(data, size);                                                                  \
    return 0;                                                                          \
  }                                                                                    \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, \
                                                 std::size_t longest, unsigned seed) { \
    return retable::fuzzing::Mutated(data, size, longest, seed, mutate);               \
  }
