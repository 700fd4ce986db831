#include "experiments/quantiles/data/columns.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "experiments/common/adapters.hpp"

namespace retable::experiments {

std::vector<harness::ParameterSpec> InputSettings() {
  return {{"max_rows", std::int64_t{0}, "use only this many leading rows; 0: all"},
          {"inputs", std::string("all"), "all columns, or only positive ones (xmin > 0)"}};
}

std::vector<harness::DatasetInfo> ResolveGenerated(const std::string& name) {
  auto infos = ResolveData(name);
  for (const auto& info : infos) {
    if (info.origin != "generator") {
      throw harness::UnknownName("\"" + name + "\" is not a generator", name,
                                 {"normal(1000,1)", "uniform(0,1)", "lognormal(0,1)"});
    }
  }
  return infos;
}

void Feed(quantiles::QuantileSketch& sketch, std::span<const float> values) {
  for (int pass = 0; pass < sketch.passes(); ++pass) {
    sketch.begin_pass(pass);
    sketch.update(values);
  }
}

std::size_t SizeOf(const harness::CellConfig& cell) {
  return static_cast<std::size_t>(IntegerIn(cell.axes, "size", 1, std::int64_t{1} << 40));
}

void ForEachInput(const harness::CellConfig& cell,
                  const std::function<void(const SketchInput&)>& visit) {
  const auto limit = IntegerOf(cell.settings, "max_rows");
  const std::string wanted = TextOf(cell.settings, "inputs");
  if (wanted != "all" && wanted != "positive") {
    throw std::invalid_argument("setting inputs must be all or positive, not " + wanted);
  }
  const std::size_t size = cell.axes.contains("size") ? SizeOf(cell) : 0;
  const datasets::Frame frame = LoadData(cell.dataset, static_cast<std::int64_t>(size),
                                         static_cast<std::uint64_t>(cell.seed));
  SketchInput input;
  for (const datasets::Column& column : frame.columns) {
    auto values = column.values;
    if (limit > 0 && values.size() > static_cast<std::size_t>(limit)) {
      values = values.first(static_cast<std::size_t>(limit));
    }
    input.name = column.name;
    input.values.clear();
    std::copy_if(values.begin(), values.end(), std::back_inserter(input.values),
                 [](float x) { return !std::isnan(x); });
    if (input.values.empty()) continue;
    const float least = *std::min_element(input.values.begin(), input.values.end());
    if (wanted == "positive" && !(least > 0)) continue;
    visit(input);
  }
}

}  // namespace retable::experiments
