#pragma once
//! @file
//! Whether arrival numbers (split/warp_rank.cuh) can be had in one atomic addition.

namespace retable::shuffle {

//! Whether the current device serves the lanes of a shared atomic instruction in their order:
//! probed once a device, which waits for it.
bool ServesLanesInOrder();

}  // namespace retable::shuffle
