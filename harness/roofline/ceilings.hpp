#pragma once
//! @file
//! What this machine can do at best, measured: the figures that throughputs are held against.
//!
//! A data sheet's peak is reached by nobody; a copy of our own that runs at the machine's pace is
//! an honest ceiling. Each figure is the best of several runs over arrays larger than the caches,
//! since a ceiling is what was reached once, not what is typical:
//!
//!   copy         bytes read and written by a copy           GB/s (10^9)
//!   read         bytes read by a sum                        GB/s
//!   gather       8-byte values read at random places        G/s
//!   atomics      additions to random 8-byte counters        G/s (GPU)
//!   FMA fp64/32  two operations per fused multiply-add      GFLOP/s
//!   bit counts   64-bit words compared and counted          G/s (CPU)
//!   launch       an empty kernel after another              us (GPU)
//!   host to device, device to host, pinned                  GB/s (GPU)
//!
//! CPU figures are given for one thread and for all allowed ones; the widest vectors that the
//! processor has are used, whatever the program was compiled for.

#include <string>
#include <vector>

namespace retable::harness {

struct Ceiling {
  std::string device;  //!< "cpu, 1 thread", "cpu, 8 threads", "cuda"
  std::string name;    //!< "copy", "FMA fp64"
  double value = 0;
  std::string unit;
  std::string note;  //!< vectors used, size of the arrays
};

struct CeilingOptions {
  double seconds = 0.25;        //!< time spent on each figure
  std::size_t array_bytes = 0;  //!< each array's; 0: four times the last cache, 64 MiB to 1 GiB
};

//! Takes about ten times `seconds`.
std::vector<Ceiling> MeasureCpuCeilings(const CeilingOptions& options = {});

//! On device 0; nothing where there is none. @throws std::runtime_error on a CUDA error
std::vector<Ceiling> MeasureCudaCeilings(const CeilingOptions& options = {});

//! As JSON text, for a results folder (ceilings.json).
std::string CeilingsJson(const std::vector<Ceiling>& ceilings);
//! What CeilingsJson wrote; nothing for a text that is something else.
std::vector<Ceiling> CeilingsFromJson(const std::string& text);

}  // namespace retable::harness
