#pragma once
//! @file
//! What all components share: the version, and the devices that answer.

namespace retable {

//! "0.1.0"
const char* Version();

//! Whether this library was compiled with CUDA backends.
bool BuiltWithCuda();

//! CUDA devices that answer; 0 without a driver, or in a library without CUDA. O(1) after the first
//! call.
int CudaDevices();

//! Processor threads that a call uses when it is given none.
int Threads();

}  // namespace retable
