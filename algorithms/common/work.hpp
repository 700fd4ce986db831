#pragma once
//! @file
//! The work that a method declares, to be compared with the rates that a machine reaches.

#include <string>

namespace retable {

//! One kind of work of one run. The kinds are those that `retable doctor --measure` measures:
//! "copy" (bytes read and written), "read" (bytes), "gather" (reads at random places), "atomics"
//! (additions at random places), "FMA fp64" and "FMA fp32" (operations; a fused multiply-add is
//! two), "bit counts" (words of 64 bits compared and counted), "host to device" and "device to
//! host" (bytes).
//!
//! A method declares what it cannot do without, not what it happens to do: a roofline fraction of 1
//! then means that nothing is left to gain.
struct Work {
  std::string kind;
  double amount = 0;
};

}  // namespace retable
