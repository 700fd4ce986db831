#pragma once
//! @file
//! Launch bounds that every compute capability takes.

namespace retable {

//! `blocks` of `threads` threads, or as many as a multiprocessor of the capability that is compiled
//! for can hold: a bound above that is an error of the assembler.
//! Source: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
constexpr unsigned BlocksWithin(unsigned threads, unsigned blocks) {
#if !defined(__CUDA_ARCH__)
  const unsigned most_threads = 2048, most_blocks = 32;
#elif __CUDA_ARCH__ < 800
  const unsigned most_threads = 1024, most_blocks = 16;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870
  const unsigned most_threads = 1536, most_blocks = 16;
#elif __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
  const unsigned most_threads = 1536, most_blocks = 24;
#else
  const unsigned most_threads = 2048, most_blocks = 32;
#endif
  const unsigned fit = most_threads / threads < most_blocks ? most_threads / threads : most_blocks;
  return blocks < fit ? blocks : fit;
}

}  // namespace retable
