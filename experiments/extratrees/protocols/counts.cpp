//! @file
//! Counts: the data sets' sizes (table I) and the memory of the published structures (section
//! VI.B).

#include <fmt/format.h>

#include "algorithms/extratrees/published/trainer.hpp"
#include "base/sha256.hpp"
#include "datasets/registry/catalog.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/extratrees/data/supervised.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments::forests {
namespace {

class CountsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/counts"; }
  std::string summary() const override { return "sizes of data sets"; }
  Names metrics() const override { return {"rows", "features", "classes"}; }
  Algorithms algorithms() const override { return ListMethods<extratrees::ForestTrainer>(); }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Outcome measure(const Cell& cell) override {
    const Supervised data = LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed));
    harness::Outcome outcome;
    const auto add = [&](const char* name, const char* unit, double value) {
      outcome.metrics.push_back({name, unit, {value}});
    };
    add("rows", "rows", static_cast<double>(data.train_rows));
    add("features", "columns", static_cast<double>(data.columns));
    add("classes", "classes", data.classes);
    const datasets::Member known =
        datasets::Catalog().Resolve(cell.dataset, datasets::FetchPolicy::kNone).front();
    outcome.verification = {true,
                            static_cast<std::int64_t>(data.rows()) == known.rows &&
                                static_cast<std::int64_t>(data.columns) == known.columns,
                            fmt::format("{} rows of {} features, {} of {} in the catalogue",
                                        data.rows(), data.columns, known.rows, known.columns),
                            0,
                            0,
                            "the catalogue's size"};
    return outcome;
  }
};

//! Needs no data, only their shape, which the registry knows: it can be counted anywhere.
class MemoryProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/memory"; }
  std::string summary() const override { return "memory of the published structures"; }
  Names metrics() const override { return {"bytes", "times X"}; }
  Algorithms algorithms() const override { return ListMethods<extratrees::ForestTrainer>(); }
  Specs axes() const override {
    return {{"structure", std::string("X"),
             "X, X transposed, batch_pos, trees or total: X, batch_pos and trees, as the work "
             "adds them"}};
  }
  Specs settings() const override { return {{"trees", std::int64_t{1024}, "trees in the forest"}}; }
  Datasets resolve(const std::string& dataset) const override {
    std::vector<harness::DatasetInfo> infos = ResolveData(dataset);
    for (harness::DatasetInfo& info : infos) {
      info.sha256 = Sha256(fmt::format("shape {} x {}", info.rows, info.columns));
      info.present = info.rows > 0;
      info.fetch.clear();
      if (info.present) info.reason.clear();
    }
    return infos;
  }

  //! Bytes at most: every branch separates at least one sample, so a tree has < 2 N nodes. The
  //! published total, 14.5, is 1 + 1.5 + 12: the transposed copy of X is not in it.
  Outcome measure(const Cell& cell) override {
    const datasets::Member data =
        datasets::Catalog().Resolve(cell.dataset, datasets::FetchPolicy::kNone).front();
    const std::size_t rows = TrainRows(data.name, static_cast<std::size_t>(data.rows));
    const auto bytes = extratrees::published::CountMemory(
        rows, static_cast<std::uint64_t>(data.columns),
        static_cast<std::uint64_t>(IntegerIn(cell.settings, "trees", 1, 1 << 30)), 2 * rows);
    const std::string structure = TextOf(cell.axes, "structure");
    double mine = 0;
    for (const auto& [name, size] : bytes) {
      const bool added = structure == "total" && name != "X transposed";
      if (added || structure == name) mine += static_cast<double>(size);
    }
    harness::Outcome outcome;
    outcome.metrics.push_back({"bytes", "bytes", {mine}});
    outcome.metrics.push_back({"times X", "1", {mine / static_cast<double>(bytes.at("X"))}});
    outcome.verification = {true, mine > 0, "no structure \"" + structure + "\"",
                            0,    0,        "the formulas"};
    return outcome;
  }
};

RETABLE_PROTOCOL(CountsProtocol);
RETABLE_PROTOCOL(MemoryProtocol);

}  // namespace
}  // namespace retable::experiments::forests
