#pragma once
//! @file
//! Chains of fused multiply-adds as fast as the processor can run them.
//!
//! Enough independent chains to cover the latency of every unit (4 cycles, 2 units: 8; 12 to be
//! sure), all in registers. The kernels are compiled for wider vectors than the program is and
//! chosen by what the processor says it has; where it has none, a multiplication and an addition
//! count as the two operations they are.

#include <cstdint>

namespace retable::harness {

struct FmaKernels {
  const char* name;  //!< "AVX-512", "AVX2", "portable"
  //! Runs `steps` steps of all chains. @return floating-point operations done
  std::int64_t (*fp64)(std::int64_t steps);
  std::int64_t (*fp32)(std::int64_t steps);
};

const FmaKernels& BestFmaKernels();

}  // namespace retable::harness
