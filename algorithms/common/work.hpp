#pragma once
//! @file
//! The work a method says it does, to be held against what a machine can do at best.

#include <string>
#include <vector>

namespace retable {

//! One kind of work of one run. The kinds are those that `retable doctor --measure` measures:
//! "copy" (bytes read and written), "read" (bytes), "gather" (reads at random places), "atomics"
//! (additions at random places), "FMA fp64" and "FMA fp32" (operations; a fused multiply-add is
//! two), "bit counts" (words of 64 bits compared and counted), "host to device" and "device to
//! host" (bytes).
//!
//! Declared is what the method cannot do without, not what it happens to do: then a share of 100 %
//! means that nothing is left to gain, and less means that something is.
struct Work {
  std::string kind;
  double amount = 0;
};

}  // namespace retable
