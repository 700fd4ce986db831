#pragma once
//! @file
//! Between the harness, which knows no family, and the libraries, which know no harness: data sets
//! and registered methods in the harness's words.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/work.hpp"
#include "datasets/registry/catalog.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timing.hpp"

namespace retable::experiments {

//! Concrete data sets for a name of the TOML; remembered within a process, since many experiments
//! ask for the same group. @throws harness::UnknownName
std::vector<harness::DatasetInfo> ResolveData(const std::string& name);

//! The one data set that a protocol makes itself, by `origin`. @throws harness::UnknownName for a
//! name that is not among those of `known`
std::vector<harness::DatasetInfo> ResolveMade(const std::string& name,
                                              const std::vector<std::string>& known,
                                              const std::string& origin = "generator");

//! The data set of a cell. `rows` and `seed` matter to generators only.
datasets::Frame LoadData(const std::string& name, std::int64_t rows = 0, std::uint64_t seed = 0);

//! All methods behind an interface by name; CPU and CUDA backends are joined, CPU first. The order
//! does not depend on the order of registration, which is that of linking.
template <class Interface>
std::vector<harness::AlgorithmInfo> ListMethods() {
  auto methods = Registry<Interface>::Instance().Methods();
  std::sort(methods.begin(), methods.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.device) < std::tie(b.name, b.device);
  });
  std::vector<harness::AlgorithmInfo> all;
  for (const auto& method : methods) {
    if (all.empty() || all.back().name != method.name) {
      all.push_back({method.name, {}, {}, method.summary, method.citation});
    }
    harness::AlgorithmInfo& info = all.back();
    info.devices.emplace_back(DeviceName(method.device));
    for (const auto& p : method.parameters) {
      const bool known = std::any_of(info.parameters.begin(), info.parameters.end(),
                                     [&](const auto& spec) { return spec.name == p.name; });
      if (!known) info.parameters.push_back({p.name, p.fallback, p.help});
    }
  }
  return all;
}

//! The method a cell names, on the cell's device, with the cell's parameters.
template <class Interface>
std::unique_ptr<Interface> MakeMethod(const harness::CellConfig& cell) {
  const Device device = cell.device == "cuda" ? Device::kCuda : Device::kCpu;
  const auto& registry = Registry<Interface>::Instance();
  Parameters parameters;
  if (const auto* method = registry.Find(cell.algorithm, device)) {
    for (const auto& info : method->parameters) {
      // The cell carries the parameters of all backends; each takes its own.
      if (const auto given = cell.parameters.find(info.name); given != cell.parameters.end()) {
        parameters.insert(*given);
      }
    }
  }
  return registry.Make(cell.algorithm, device, parameters);
}

//! What a method says it must do, in the harness's words. @param cores_used as timed: what ran on
//! one processor is held against the ceilings of one
std::vector<harness::Cost> CostsOf(const std::vector<Work>& work, double cores_used);

//! Timing with a cell's repeats as the fewest samples, and its setting "budget".
harness::RepeatOptions RepeatsOf(const harness::CellConfig& cell);
//! The same for calls of which one took `first_seconds`: at most four times `repeats` samples, or
//! twelve, or up to 200 within half a second, so that a pause of the machine is one sample of many.
harness::RepeatOptions RepeatsOfCalls(const harness::CellConfig& cell, double first_seconds);
//! The check of a value that must be at most the threshold. NaN is more than any.
harness::Verification AtMost(const std::string& metric, double value, double threshold,
                             const std::string& reference);
//! The check of a value that must be at least the threshold. NaN is less than any.
harness::Verification AtLeast(const std::string& metric, double value, double threshold,
                              const std::string& reference);
//! What a cell comes to that its protocol does not measure.
harness::Outcome Skipped(const std::string& reason);

//! A cell's integer axis or setting. @throws std::invalid_argument when it is absent.
std::int64_t IntegerOf(const harness::Values& values, const std::string& name);
//! The same within least .. most. @throws std::invalid_argument for another: cut to fewer bits, it
//! would be measured as one of these
std::int64_t IntegerIn(const harness::Values& values, const std::string& name, std::int64_t least,
                       std::int64_t most);
//! IntegerOf, or the fallback.
std::int64_t IntegerOr(const harness::Values& values, const std::string& name,
                       std::int64_t fallback);
//! Why a CUDA cell with an axis "gpus" cannot run: more than there are. One: the harness tells.
std::optional<std::string> WhyNotSoManyGpus(const harness::CellConfig& cell);
//! A cell's setting of another type. @throws std::invalid_argument when it is absent.
double RealOf(const harness::Values& values, const std::string& name);
bool FlagOf(const harness::Values& values, const std::string& name);
std::string TextOf(const harness::Values& values, const std::string& name);

}  // namespace retable::experiments
