#pragma once
//! @file
//! The whole surroundings of a run, captured once and kept beside its numbers (environment.json).
//!
//! A time without its machine is an anecdote. Captured: processor, its extensions of note, cores
//! this process may use, caches, governor; memory; kernel, distribution, container; load;
//! compiler, flags, libraries, commit and whether the tree was changed, when built and now;
//! CUDA, each GPU's attributes, and clocks, power, temperature and throttling where the management
//! library tells them; the environment variables that steer threads and CUDA. Not captured: names
//! of hosts and users, paths, command lines, serial numbers: a hash tells one card from its like,
//! and one start of a machine from another. What is not known is absent.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/machine/activity.hpp"

namespace retable::harness {

//! Takes milliseconds, with a CUDA driver up to a second.
nlohmann::json CaptureEnvironment();

//! What others did while the run began: `activity`, and `busy`, sentences for a reader, none where
//! the machine was quiet. Names of processes are left out.
void AddActivity(nlohmann::json& environment, Activity activity);

//! Where two environments differ in what can move a number, one line each ("cpu.model: A | B").
//! What changes from run to run on the same machine (time, load, free memory, temperature and
//! clocks of the moment) is left out.
std::vector<std::string> EnvironmentDifferences(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace retable::harness
