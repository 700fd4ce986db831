#pragma once
//! @file
//! The sketches of Apache DataSketches (C++), where CMake found its headers.
//!
//!     cmake -DDATASKETCHES_ROOT=/path ...   a folder with include/DataSketches/kll_sketch.hpp
//!
//! "DataSketches-KLL", "-classic", "-REQ" (k) and "-t-digest" (k), all of float32 values, as
//! shipped. KLL, classic and REQ toss coins, here under a seed. NaN is skipped by all.

#include <string>

namespace retable::quantiles {

//! Whether this build has the headers. Without them the methods are registered, and making one
//! throws std::runtime_error with the way to get them.
bool HasDataSketches();

//! Whether a registered method is one of them.
bool IsDataSketches(const std::string& method);

}  // namespace retable::quantiles
