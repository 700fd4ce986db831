#pragma once
//! @file
//! Generated columns and tables: the same numbers for the same seed on every machine.
//!
//! Problem: an experiment offline, or at 10^9 values, needs data that need no storing, can be
//! produced from any position on (each worker its own part), and do not differ between compilers
//! and C libraries. Approach: value i is a pure function of (definition, seed, i): Philox4x32-10
//! bits (algorithms/common/philox.hpp) and only IEEE-exact operations, with our own logarithm and
//! exponential (generators/portable_math.hpp), since those of C libraries differ in the last bit.
//! Rejection methods count their attempts in the counter's upper half. Cost: one to three Philox
//! blocks a value; no state, no memory.
//!
//! Columns:
//!   normal(mean=0, sd=1)         polar method, Marsaglia & Bray 1964
//!   uniform(low=0, high=1)
//!   lognormal(mu=0, sigma=1)
//!   gamma(shape=1, scale=1)      Marsaglia & Tsang 2000; their boost for shape < 1
//!   zero_inflated(zeros=0.8)     zero with this probability, else lognormal(0,1)
//!   discrete(levels=10)          0, 1, ..., levels-1, equally likely
//!   drifting(rate=1e-5, sd=1)    normal whose mean is rate * i: later values differ from earlier
//!   frequent(share=0.5, values=2)  with this probability one of 0 .. values-1, else normal(0,1)
//!   missing(share=0.1)           NaN with this probability, else normal(0,1)
//!   ascending(step=1)            sorted: step * (i + u), u uniform
//!   blocks(length=1000, sd=0.01) normal about the block's mean, which is normal(0,1)
//! Tables (scikit-learn's definitions, not its random numbers):
//!   make_regression(n_samples=1000, n_features=10, n_informative=10, noise=0, bias=0)
//!   make_classification(n_samples=1000, n_features=20, n_informative=2, n_redundant=2,
//!                       n_classes=2, n_clusters_per_class=2, class_sep=1, flip_y=0.01)

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "datasets/frame/frame.hpp"

namespace retable::datasets {

//! A parsed definition such as "normal(1000,1)".
struct GeneratorSpec {
  std::string kind;                      //!< "normal", "make_regression", ...
  std::map<std::string, double> values;  //!< every parameter, defaults filled in
  std::string text;                      //!< canonical: "normal(1000,1)"

  //! True for make_regression and make_classification.
  bool is_table() const;
  //! "synthetic " + text: how it is shown.
  std::string display_name() const { return "synthetic " + text; }
  //! SHA-256 of the definition and the generators' version.
  std::string sha256() const;
};

//! True when text looks like a definition: a known generator's name, with or without arguments,
//! with or without "synthetic " before it.
bool IsGenerator(const std::string& text);

//! Parses a definition; arguments by position or as name=value.
//! @throws std::invalid_argument naming what is wrong and what is allowed.
GeneratorSpec ParseGenerator(const std::string& text);

//! The names of all generators.
std::vector<std::string> GeneratorNames();

//! Values offset, offset+1, ... of the column under this seed. Any split of a range gives the same
//! values. Not for tables. O(out.size()) time.
void Generate(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t offset,
              std::span<double> out);
//! The same, rounded to float32.
void Generate(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t offset,
              std::span<float> out);

//! A frame: one column "x" of `rows` values, or a table (its own n_samples unless rows > 0).
Frame GenerateFrame(const GeneratorSpec& spec, std::uint64_t seed, std::int64_t rows);

}  // namespace retable::datasets
