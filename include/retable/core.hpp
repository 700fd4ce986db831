#pragma once
//! @mainpage
//! One header a family, and a component of the same name for CMake and for pkg-config
//! (`retable_treeshap`): retable/treeshap.hpp, retable/extratrees.hpp, retable/quantiles.hpp,
//! retable/shuffle.hpp, retable/shapley.hpp, and retable/thrust_shuffle.cuh where the library was
//! built with CUDA. `cmake --install build --prefix P` installs them. A program that uses two:
//! @include main.cpp

//! @file
//! What all components share: the version, and the devices that answer.

#include <functional>

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

//! Calls work. Between the parts of what it has this library do on the processor, such as the trees
//! of a forest, `check` is called on this thread; what it throws ends the work and passes on.
void Interruptible(const std::function<void()>& check, const std::function<void()>& work);

}  // namespace retable
