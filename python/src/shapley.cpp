#include "retable/shapley.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

// Asks a Python function for the values of coalitions: it takes a matrix of booleans, a row a
// coalition.
CoalitionValues Ask(const nb::object& function, int players) {
  return [&function, players](std::span<const std::uint64_t> coalitions, std::span<double> values) {
    const auto d = static_cast<std::size_t>(players);
    const std::size_t words = (d + 63) / 64;
    std::vector<std::uint8_t> masks(values.size() * d);
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (std::size_t i = 0; i < d; ++i) {
        masks[k * d + i] = (coalitions[k * words + i / 64] >> (i % 64)) & 1;
      }
    }
    const nb::gil_scoped_acquire acquired;
    const nb::object answer = function(ToNumpy(std::move(masks), {values.size(), d}));
    const auto given = nb::cast<Vector<double>>(answer);
    if (given.size() != values.size()) {
      throw std::invalid_argument("the game gave " + std::to_string(given.size()) + " values for " +
                                  std::to_string(values.size()) + " coalitions");
    }
    std::copy_n(given.data(), values.size(), values.begin());
  };
}

nb::tuple Sample(int players, std::size_t n, const std::string& method, std::uint64_t seed,
                 const MethodOptions& options) {
  PermutationSet set;
  Released([&] { set = SamplePermutations(players, n, method, seed, options); });
  return nb::make_tuple(ToNumpy(std::move(set.orders), {n, static_cast<std::size_t>(players)}),
                        ToNumpy(std::move(set.weights)));
}

nb::tuple Estimate(int players, const nb::object& function, std::int64_t budget,
                   const std::string& method, std::uint64_t seed, int repeats,
                   const MethodOptions& options) {
  ShapleyValues found;
  Released([&] {
    found = EstimateShapley(
        players, Ask(function, players),
        {.budget = budget, .method = method, .seed = seed, .repeats = repeats, .options = options});
  });
  return nb::make_tuple(ToNumpy(std::move(found.values)), ToNumpy(std::move(found.standard_errors)),
                        found.evaluations);
}

nb::object Exact(int players, const nb::object& function) {
  std::vector<double> values;
  Released([&] { values = ExactShapley(players, Ask(function, players)); });
  return ToNumpy(std::move(values));
}

nb::list Listed(const std::vector<MethodSummary>& methods) {
  nb::list rows;
  for (const auto& m : methods) rows.append(nb::make_tuple(m.name, m.summary, m.citation));
  return rows;
}

}  // namespace

void BindShapley(nb::module_& m) {
  m.def("shapley_permutations", &Sample);
  m.def("shapley_estimate", &Estimate);
  m.def("shapley_exact", &Exact);
  m.def("shapley_samplers", [] { return Listed(PermutationMethods()); });
  m.def("shapley_estimators", [] { return Listed(EstimatorMethods()); });
}

}  // namespace retable::python
