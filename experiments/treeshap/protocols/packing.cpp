//! @file
//! Bin packing of path lengths into warps (table 5): time, utilisation and bins. What is timed:
//! Pack, from the list of lengths to the lists of items of each bin, on one thread; extracting the
//! paths is not included, as in the paper. Every packing is checked: each item in one bin, no bin
//! too full.

#include "algorithms/treeshap/published/bin_packing.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/treeshap/data/paper_models.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

constexpr std::int32_t kWarp = 32;

bool Fits(const Bins& bins, const std::vector<std::int32_t>& sizes) {
  std::vector<char> seen(sizes.size(), 0);
  for (std::size_t b = 0; b < bins.count(); ++b) {
    std::int32_t load = 0;
    for (std::size_t i = bins.offsets[b]; i < bins.offsets[b + 1]; ++i) {
      load += sizes[bins.items[i]];
      if (seen[bins.items[i]]++ != 0) return false;
    }
    if (load > kWarp) return false;
  }
  return bins.items.size() == sizes.size();
}

class PackingProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "treeshap/packing"; }
  std::string summary() const override { return "bin packing of tree paths into warps"; }
  Names metrics() const override { return {"time", "utilisation", "bins"}; }
  Algorithms algorithms() const override {
    std::vector<harness::AlgorithmInfo> all;
    for (const char* packing : {"None", "NF", "FFD", "BFD"}) {
      all.push_back({packing, {"cpu"}, {}, "bin packing", "Mitchell et al. 2022, table 5"});
    }
    return all;
  }
  Specs settings() const override { return {{"budget", 1.0, "seconds of timing a cell at most"}}; }
  Datasets resolve(const std::string& dataset) const override { return ResolveModels(dataset); }

  Outcome measure(const Cell& cell) override {
    const ModelProblem problem = LoadModel(cell.dataset, 64);
    std::vector<std::int32_t> sizes;
    for (const Path& path : ExtractPaths(problem.model).paths) sizes.push_back(path.length);
    const Packing packing = PackingByName(cell.algorithm);
    Bins bins = Pack(packing, sizes, kWarp);
    harness::Outcome outcome;
    outcome.facts["model"] = problem.origin;
    outcome.verification = {true,
                            Fits(bins, sizes),
                            "bins that overflow or lose items",
                            0,
                            0,
                            "every item in one bin of 32"};
    if (!outcome.verification.ok) return outcome;
    harness::RepeatOptions options = RepeatsOf(cell);
    options.pin = true;
    const auto timing = harness::TimeRepeated([&] { bins = Pack(packing, sizes, kWarp); }, options);
    outcome.metrics = {{"time", "s", timing.seconds},
                       {"utilisation", "1", {Utilisation(bins, sizes, kWarp)}},
                       {"bins", "1", {static_cast<double>(bins.count())}}};
    harness::DescribeTiming(outcome, timing);
    // Each length is read and each item written down once.
    outcome.costs = CostsOf({{"copy", 8.0 * static_cast<double>(sizes.size())}}, 1);
    return outcome;
  }
};

RETABLE_PROTOCOL(PackingProtocol);

}  // namespace
}  // namespace retable::experiments::treeshap
