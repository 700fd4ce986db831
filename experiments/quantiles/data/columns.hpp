#pragma once
//! @file
//! The columns of a data set as inputs of a sketch, in the order of the file.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "datasets/frame/frame.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {

//! One sketch input: a column without its missing values.
struct SketchInput {
  std::string name;
  std::vector<float> values;
};

//! The settings that choose inputs; every quantile protocol that reads data sets has them.
std::vector<harness::ParameterSpec> InputSettings();

//! The generators of a name. @throws harness::UnknownName for data that nobody generates
std::vector<harness::DatasetInfo> ResolveGenerated(const std::string& name);

//! Takes the values into the sketch, as often as it needs.
void Feed(quantiles::QuantileSketch& sketch, std::span<const float> values);

//! Values that a cell asks of a generator. @throws std::invalid_argument for fewer than one
std::size_t SizeOf(const harness::CellConfig& cell);

//! Calls `visit` for each column of the cell's data set that the settings choose. Columns without
//! any value are left out. Memory: one column at a time.
void ForEachInput(const harness::CellConfig& cell,
                  const std::function<void(const SketchInput&)>& visit);

}  // namespace retable::experiments
