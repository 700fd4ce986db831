#include "retable/treeshap.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

template <class Real>
using OfRows = void (TreeExplainer::*)(std::span<const Real>, std::size_t, std::span<double>) const;

template <class Real, OfRows<Real> kMethod>
void Explain(const TreeExplainer& explainer, const Matrix<Real>& x, const Output<double>& to) {
  WithoutGil([&] { (explainer.*kMethod)(Span(x), x.shape(0), Span(to)); });
}

template <auto kMethod>
void ExplainOnDevice(const TreeExplainer& explainer, std::uintptr_t x, std::size_t rows,
                     std::uintptr_t to, std::uintptr_t stream) {
  WithoutGil([&] {
    (explainer.*kMethod)(OnGpu<const float>(x), rows, OnGpu<double>(to), OnGpu<void>(stream));
  });
}

// Sets of one size as arrays: where the sets of each row and output begin, their features, their
// values.
nb::tuple Sets(const std::vector<std::vector<TreeExplainer::FeatureSet>>& found, std::size_t size) {
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int32_t> features;
  std::vector<double> values;
  for (const auto& sets : found) {
    for (const auto& set : sets) {
      features.insert(features.end(), set.features.begin(), set.features.end());
      values.push_back(set.value);
    }
    begin.push_back(static_cast<std::int64_t>(values.size()));
  }
  const std::size_t count = values.size();
  return nb::make_tuple(ToNumpy(std::move(begin)), ToNumpy(std::move(features), {count, size}),
                        ToNumpy(std::move(values)));
}

nb::tuple TopInteractions(const TreeExplainer& explainer, const Matrix<double>& x, std::size_t k) {
  return Sets(WithoutGil([&] { return explainer.top_interactions(Span(x), x.shape(0), k); }), 2);
}

nb::tuple InteractionIndex(const TreeExplainer& explainer, const Matrix<double>& x, int order) {
  return Sets(WithoutGil([&] { return explainer.interaction_index(Span(x), x.shape(0), order); }),
              static_cast<std::size_t>(order));
}

nb::object Predict(const TreeModel& model, const Matrix<double>& x, int threads) {
  return ToNumpy(WithoutGil([&] { return model.predict(Span(x), x.shape(0), threads); }),
                 {x.shape(0), static_cast<std::size_t>(model.outputs())});
}

void NewExplainer(TreeExplainer* self, const TreeModel& model, const std::string& device,
                  const std::string& precision, const std::string& index, int threads,
                  const Matrix<double>& background) {
  const nb::gil_scoped_release released;
  new (self) TreeExplainer(
      model, {.device = device, .precision = precision, .index = index, .threads = threads},
      Span(background));
}

}  // namespace

void BindTreeshap(nb::module_& m) {
  nb::class_<TreeModel>(m, "TreeModel")
      .def_static("read",
                  [](const nb::bytes& bytes) {
                    return TreeModel::Read({bytes.c_str(), bytes.size()});
                  })
      .def_prop_ro("features", &TreeModel::features)
      .def_prop_ro("outputs", &TreeModel::outputs)
      .def_prop_ro("trees", &TreeModel::trees)
      .def_prop_ro("feature_names", &TreeModel::feature_names)
      .def("expected_values",
           [](const TreeModel& model) { return ToNumpy(model.expected_values()); })
      .def("has_categories", &TreeModel::has_categories)
      .def("category_code",
           [](const TreeModel& model, int feature, const nb::object& value) {
             if (nb::isinstance<nb::str>(value)) {
               return model.category_code(feature, nb::cast<std::string_view>(value));
             }
             return model.category_code(feature, nb::cast<double>(value));
           })
      .def("predict", &Predict);
  nb::class_<TreeExplainer>(m, "Explainer")
      .def("__init__", &NewExplainer)
      .def("values", &Explain<float, &TreeExplainer::values>)
      .def("values", &Explain<double, &TreeExplainer::values>)
      .def("interactions", &Explain<float, &TreeExplainer::interactions>)
      .def("interactions", &Explain<double, &TreeExplainer::interactions>)
      .def("values_on_device", &ExplainOnDevice<&TreeExplainer::values_on_device>)
      .def("interactions_on_device", &ExplainOnDevice<&TreeExplainer::interactions_on_device>)
      .def("top_interactions", &TopInteractions)
      .def("interaction_index", &InteractionIndex)
      .def_prop_ro("device", &TreeExplainer::device)
      .def_prop_ro("why_not_gpu", &TreeExplainer::why_not_gpu);
}

}  // namespace retable::python
