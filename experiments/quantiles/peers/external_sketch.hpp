#pragma once
//! @file
//! A quantile sketch by a program in another language (experiments/common/resident_program.hpp).
//!
//! Task "quantiles": the array "values" is float64 [n], without missing values; "run" takes them
//! in. "answer" carries "phis", a list of numbers in [0, 1]; its answer is one float64 array of as
//! many quantiles. The values stay on our side, so that sketches merge whatever the program can do.

#include <memory>
#include <vector>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "experiments/common/resident_program.hpp"

namespace retable::experiments {

class ExternalSketch final : public quantiles::QuantileSketch {
 public:
  explicit ExternalSketch(std::shared_ptr<ResidentProgram> program)
      : program_(std::move(program)) {}

  void update(std::span<const float> values) override;
  void update(std::span<const double> values) override;
  void merge(const quantiles::QuantileSketch& other) override;
  std::size_t count() const override { return values_.size(); }
  std::size_t bytes() const override { return values_.size() * sizeof(double); }
  std::unique_ptr<quantiles::QuantileSketch> empty_clone() const override;

  //! Hands the values over, untimed.
  void Load() const;
  ResidentProgram& program() const { return *program_; }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override;

 private:
  std::shared_ptr<ResidentProgram> program_;  // shared by all clones: it starts once
  std::vector<double> values_;
};

}  // namespace retable::experiments
