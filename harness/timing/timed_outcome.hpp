#pragma once
//! @file
//! A timing in the words of an outcome, the same for every family.

#include "harness/protocol.hpp"
#include "harness/timing/timing.hpp"

namespace retable::harness {

//! Adds the metric "time" (seconds of one run, with the GPU's clock at each sample where there is
//! one) and, as facts, how it was taken: iterations a sample, warm-up runs, what ended the
//! sampling, cores used, whether it was steady, throttled samples, and what was included.
void AddTiming(Outcome& outcome, const TimingResult& timing);

//! The same facts, and the clocks, for an outcome that has its metric "time" already (scaled up, or
//! by another program's watch).
void DescribeTiming(Outcome& outcome, const TimingResult& timing);

//! Gives the metric "time" that an outcome already has the GPU's clock at each sample, and the
//! facts that go with it; nothing where the timing has none.
void AddClock(Outcome& outcome, const TimingResult& timing);

//! Adds the rate of `items` a run as the metric "rate". @param unit "values/s", "million items/s"
//! @param scale items in the unit's one: 1e6 for millions
void AddRate(Outcome& outcome, const TimingResult& timing, double items, const std::string& unit,
             double scale = 1);

}  // namespace retable::harness
