//! @file
//! Every registered sketch against sorted data, on streams that are hard to summarise, fed at once
//! or merged in a random tree: answers ascend where the sketch says so, stay within the data, have
//! infinities where they lie, and no rank error exceeds the sketch's own bound. Never.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/nasty_streams_testing.hpp"
#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"
#include "baselines/quantiles/datasketches.hpp"

namespace retable::quantiles {
namespace {

using Sketches = Registry<QuantileSketch>;

struct Case {
  std::string method;
  Parameters parameters;
  bool sends = false;  //!< parts are serialised before they are merged
};

std::unique_ptr<QuantileSketch> Make(const Case& c) {
  return Sketches::Instance().Make(c.method, Device::kCpu, c.parameters);
}

//! Feeds parts of a stream to sketches of their own and merges two of them, at random, until one is
//! left. Two-pass methods need the joint bounds first.
template <class Real>
std::unique_ptr<QuantileSketch> FeedTree(const Case& c, std::span<const Real> values,
                                         std::size_t parts, std::mt19937_64& engine) {
  std::vector<std::unique_ptr<QuantileSketch>> sketches;
  const auto first = Make(c);
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t from = values.size() * i / parts;
    const std::size_t to = values.size() * (i + 1) / parts;
    auto sketch = first->empty_clone();
    for (int pass = 0; pass < sketch->passes(); ++pass) {
      sketch->begin_pass(pass);
      const bool joint = pass + 1 < sketch->passes();
      sketch->update(joint ? values : values.subspan(from, to - from));
    }
    sketches.push_back(std::move(sketch));
  }
  while (sketches.size() > 1) {
    std::swap(sketches[engine() % sketches.size()], sketches.back());
    std::unique_ptr<QuantileSketch> one = std::move(sketches.back());
    sketches.pop_back();
    if (c.sends && engine() % 2 == 0) {
      one = ChebyshevSketch::Deserialize(dynamic_cast<ChebyshevSketch&>(*one).Serialize());
    }
    sketches[engine() % sketches.size()]->merge(*one);
  }
  return std::move(sketches.front());
}

//! What a bound is worth.
struct Tightness {
  std::size_t failures = 0;
  std::size_t exact = 0;       //!< answers with a bound of zero
  std::vector<double> bounds;  //!< bounds of the other answers
  std::vector<double> errors;
};

//! Empty if all is well, else what is not.
template <class Real>
std::string Complaint(const Case& c, const std::vector<Real>& values, std::size_t parts,
                      std::uint64_t seed, Tightness* tightness = nullptr) {
  std::mt19937_64 engine(seed);
  const auto sketch = FeedTree(c, std::span<const Real>(values), parts, engine);
  const std::vector<double> sorted = SortedValues(values);
  if (sorted.empty()) return "";
  try {
    sketch->quantiles(NiaePhis(101));
  } catch (const SketchFailure&) {
    if (tightness != nullptr) ++tightness->failures;
    return "";
  }
  return Complaint(*sketch, sorted, kRounding<Real>, [&](double bound, double error) {
    if (tightness == nullptr) return;
    if (bound == 0) {
      ++tightness->exact;
      return;
    }
    tightness->bounds.push_back(bound);
    tightness->errors.push_back(error);
  });
}

//! Reports a complaint about the smallest stream that has one.
template <class Real>
void Check(const Case& c, const std::string& name, const std::vector<Real>& values,
           std::size_t parts, std::uint64_t seed, Tightness* tightness) {
  if (sizeof(Real) == 8 && c.method.starts_with("DataSketches")) return;  // of float32
  if (c.method == "DataSketches-t-digest") return;  // its quantiles descend at times
  const std::string complaint = Complaint(c, values, parts, seed, tightness);
  if (complaint.empty()) return;
  std::vector<Real> least = values;
  if (values.size() <= 3000) {
    least = Shrink(values, [&](const auto& fewer) {
      return !fewer.empty() && !Complaint(c, fewer, parts, seed).empty();
    });
  }
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(least.size(), 30); ++i) {
    char number[40];
    std::snprintf(number, sizeof number, " %a", static_cast<double>(least[i]));
    text += number;
  }
  ADD_FAILURE() << c.method << ", " << name << ", " << values.size() << " values of "
                << sizeof(Real) << " bytes, " << parts << " parts, seed " << seed << ": "
                << complaint << "; " << least.size() << " values suffice:" << text;
}

std::vector<Case> Cases(const std::string& method) {
  if (method != "Retable") return {{method, {}}};
  std::vector<Case> out;
  for (const std::int64_t l : {1, 2, 3, 6, 10, 14, 15}) {
    for (const bool log : {false, true}) {
      for (const bool sends : {false, true}) {
        out.push_back({method, {{"l", l}, {"log", log}}, sends});
      }
    }
  }
  return out;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

class OracleSketches : public testing::TestWithParam<std::string> {};

TEST_P(OracleSketches, KeepTheirBoundOnNastyStreams) {
  const std::uint64_t seed = FreshSeed();
  std::mt19937_64 engine(seed);
  const std::vector<NastyStream> streams = NastyStreams();
  const std::vector<Case> cases = Cases(GetParam());
  Tightness tightness;
  // A first round of every stream, then at random, longer.
  std::size_t round = 0;
  for (OracleClock clock(0.5); round < streams.size() || clock.more(); ++round) {
    const bool first = round < streams.size();
    const NastyStream& stream = first ? streams[round] : streams[engine() % streams.size()];
    const Case& c = cases[engine() % cases.size()];
    const double decades = first ? 3 : 6;
    const auto n = static_cast<std::size_t>(
        std::pow(10, decades * static_cast<double>(engine() >> 11) * 0x1p-53));
    const std::vector<double> values = stream.draw(n, engine);
    const std::size_t parts = engine() % 2 == 0 ? 1 : 1 + engine() % 20;
    const std::uint64_t own = engine();
    if (engine() % 2 == 0) {
      Check(c, stream.name, values, parts, own, &tightness);
    } else {
      Check(c, stream.name, As<float>(values), parts, own, &tightness);
    }
    if (HasFailure()) return;
  }
  std::cout << GetParam() << ": " << round << " streams, " << tightness.failures << " failures";
  if (!tightness.bounds.empty()) {
    std::cout << ", " << tightness.exact << " answers known exactly, " << tightness.bounds.size()
              << " others: median bound " << Median(tightness.bounds) << ", median error "
              << Median(tightness.errors);
  }
  std::cout << std::endl;
}

std::vector<std::string> RegisteredHere() {
  std::vector<std::string> names;
  for (const auto& method : Sketches::Instance().Methods()) {
    if (method.device != Device::kCpu || method.name == "External") continue;
    if (IsDataSketches(method.name) && !HasDataSketches()) continue;
    names.push_back(method.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Quantiles, OracleSketches, testing::ValuesIn(RegisteredHere()),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase_if(name,
                                         [](char c) { return c == ' ' || c == '(' || c == ')'; });
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace retable::quantiles
