#include "retable/extratrees.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

Rows AsRows(const Matrix<float>& x) {
  return {x.data(), x.shape(0), x.shape(1)};
}

ForestOptions Options(const nb::dict& given) {
  const auto integer = [&](const char* name) { return nb::cast<int>(given[name]); };
  ForestOptions options;
  options.trees = integer("trees");
  options.max_depth = integer("max_depth");
  options.min_samples_split = integer("min_samples_split");
  options.min_samples_leaf = integer("min_samples_leaf");
  options.max_features = integer("max_features");
  options.max_leaf_nodes = integer("max_leaf_nodes");
  options.min_weight_fraction_leaf = nb::cast<double>(given["min_weight_fraction_leaf"]);
  options.min_impurity_decrease = nb::cast<double>(given["min_impurity_decrease"]);
  options.bootstrap = nb::cast<bool>(given["bootstrap"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.device = nb::cast<std::string>(given["device"]);
  options.threads = integer("threads");
  return options;
}

template <auto kFit, class Target>
Forest Fit(const Matrix<float>& x, const Vector<Target>& targets, const Vector<double>& weights,
           const nb::dict& given) {
  const ForestOptions options = Options(given);
  std::optional<Forest> forest;
  Released([&] { forest = kFit(AsRows(x), Span(targets), Span(weights), options); });
  return *forest;
}

nb::object Predict(const Forest& forest, const Matrix<float>& x, int threads) {
  const auto outputs = static_cast<std::size_t>(forest.outputs());
  std::vector<double> results(x.shape(0) * outputs);
  Released([&] { forest.predict(AsRows(x), results, threads); });
  return ToNumpy(std::move(results), {x.shape(0), outputs});
}

void PredictOnDevice(const Forest& forest, std::uintptr_t x, std::size_t rows,
                     std::uintptr_t results, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  forest.predict_on_device(OnGpu<const float>(x), rows, OnGpu<double>(results),
                           OnGpu<void>(stream));
}

nb::object Apply(const Forest& forest, const Matrix<float>& x, int threads) {
  std::vector<std::int64_t> leaves(x.shape(0) * forest.trees());
  Released([&] { forest.apply(AsRows(x), leaves, threads); });
  return ToNumpy(std::move(leaves), {x.shape(0), forest.trees()});
}

nb::dict TreeOf(const Forest& forest, std::size_t t) {
  TreeArrays tree = forest.tree(t);
  const std::size_t nodes = tree.feature.size();
  nb::dict arrays;
  arrays["feature"] = ToNumpy(std::move(tree.feature));
  arrays["left"] = ToNumpy(std::move(tree.left));
  arrays["right"] = ToNumpy(std::move(tree.right));
  arrays["threshold"] = ToNumpy(std::move(tree.threshold));
  arrays["impurity"] = ToNumpy(std::move(tree.impurity));
  arrays["cover"] = ToNumpy(std::move(tree.weight));
  arrays["samples"] = ToNumpy(std::move(tree.samples));
  arrays["default_left"] = ToNumpy(std::move(tree.missing_left));
  arrays["value"] =
      ToNumpy(std::move(tree.value), {nodes, static_cast<std::size_t>(forest.outputs())});
  return arrays;
}

}  // namespace

void BindExtratrees(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def_static("fit_classes", &Fit<&Forest::FitClasses, std::uint32_t>)
      .def_static("fit_targets", &Fit<&Forest::FitTargets, double>)
      .def_prop_ro("columns", &Forest::columns)
      .def_prop_ro("outputs", &Forest::outputs)
      .def_prop_ro("regression", &Forest::regression)
      .def_prop_ro("trees", &Forest::trees)
      .def_prop_ro("device", &Forest::device)
      .def("tree", &TreeOf)
      .def("predict", &Predict)
      .def("predict_on_device", &PredictOnDevice)
      .def("apply", &Apply)
      .def("feature_importances", [](const Forest& f) { return ToNumpy(f.feature_importances()); })
      .def("to_bytes", [](const Forest& f) { return ToBytes(f.to_bytes()); })
      .def_static("from_bytes",
                  [](const nb::bytes& bytes) { return Forest::from_bytes(Bytes(bytes)); })
      .def("to_xgboost", &Forest::to_xgboost);
}

}  // namespace retable::python
