//! @file
//! Counts: the data sets' sizes (table I) and the report's memory (section VI.B).

#include "algorithms/extratrees/published/trainer.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/extratrees/data/supervised.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments::forests {
namespace {

class CountsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/counts"; }
  std::string family() const override { return "extratrees"; }
  std::string summary() const override {
    return "sizes of data and of the published method's structures";
  }
  std::vector<harness::AlgorithmInfo> algorithms() const override {
    return ListMethods<extratrees::ForestTrainer>();
  }
  std::vector<harness::ParameterSpec> axes() const override {
    return {{"structure", std::string("X"),
             "X, X transposed, batch_pos, trees or total: X, batch_pos and trees, as the work "
             "adds them"}};
  }
  std::vector<harness::ParameterSpec> settings() const override {
    return {{"trees", std::int64_t{1024}, "trees in the forest"}};
  }
  std::vector<harness::DatasetInfo> resolve(const std::string& dataset) const override {
    return ResolveData(dataset);
  }

  harness::Outcome measure(const harness::CellConfig& cell) override {
    const Supervised data = LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed));
    harness::Outcome outcome;
    const auto add = [&](const char* name, const char* unit, double value) {
      outcome.metrics.push_back({name, unit, {value}, {}, {}});
    };
    add("rows", "rows", static_cast<double>(data.train_rows));
    add("features", "columns", static_cast<double>(data.columns));
    add("classes", "classes", data.classes);
    if (cell.axes.contains("structure")) AddMemory(cell, data, add);
    outcome.verification = {true, data.rows() == data.labels.size(), "labels without a row", 0,
                            0,    "the data set's own size"};
    return outcome;
  }

 private:
  //! Bytes at most: every branch separates at least one sample, so a tree has < 2 N nodes. The
  //! report's total, 14.5, is 1 + 1.5 + 12: the transposed copy of X is not in it.
  template <class Add>
  static void AddMemory(const harness::CellConfig& cell, const Supervised& data, const Add& add) {
    const auto bytes = extratrees::published::CountMemory(
        data.train_rows, data.columns,
        static_cast<std::uint64_t>(IntegerOf(cell.settings, "trees")), 2 * data.train_rows);
    const std::string structure = TextOf(cell.axes, "structure");
    double mine = 0;
    for (const auto& [name, size] : bytes) {
      const bool added = structure == "total" && name != "X transposed";
      if (added || structure == name) mine += static_cast<double>(size);
    }
    add("bytes", "bytes", mine);
    add("times X", "1", mine / static_cast<double>(bytes.at("X")));
  }
};

RETABLE_PROTOCOL(CountsProtocol);

}  // namespace
}  // namespace retable::experiments::forests
