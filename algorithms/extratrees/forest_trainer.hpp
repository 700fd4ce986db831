#pragma once
//! @file
//! ForestTrainer: the interface of the family. A trainer grows a forest; the fitted forest answers
//! on the device it was grown on and can be brought to the host, node by node.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! A forest where it was grown.
class FittedForest {
 public:
  virtual ~FittedForest() = default;

  //! The forest in host memory, in canonical order; a forest on a GPU is copied on the first call.
  virtual Forest& host() = 0;
  //! Class fractions, row-major n x classes, for n rows in host memory; mean targets, one a row,
  //! of a regression forest.
  virtual void predict_proba(const float* rows, std::size_t n, double* proba) {
    host().PredictProba(rows, n, proba);
  }
  //! The class of each of n rows in host memory.
  virtual std::vector<std::uint32_t> predict(const float* rows, std::size_t n) {
    return host().Predict(rows, n);
  }

  //! Times of the fit's parts, in order of first use; empty where nothing was timed.
  std::vector<PartTime> parts;
  //! The fit's time by the method's own clock, where reaching the method costs time that is not its
  //! own (a process to be started).
  std::optional<double> own_seconds;
  //! Bytes of the main structures, by name.
  std::map<std::string, std::uint64_t> memory;
};

//! A fitted forest that lives on the host.
class HostForest final : public FittedForest {
 public:
  explicit HostForest(Forest forest) : forest_(std::move(forest)) {}
  Forest& host() override { return forest_; }

 private:
  Forest forest_;
};

//! Grows forests.
class ForestTrainer {
 public:
  virtual ~ForestTrainer() = default;
  //! Trains on row-major float32 features (NaN: missing) and classes or real targets.
  //! @throws std::invalid_argument for bad data or options, and for targets that the method does
  //! not know; std::runtime_error for device errors.
  virtual std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                            const ForestOptions& options) = 0;
};

}  // namespace retable::extratrees
