#include "retable/treeshap.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

TreeModel ReadModel(const nb::bytes& bytes, bool all_trees, const nb::object& say) {
  TreeModel::ReadOptions options{.all_trees = all_trees, .say = {}};
  if (!say.is_none()) options.say = [&say](const std::string& text) { say(text); };
  return TreeModel::Read({bytes.c_str(), bytes.size()}, options);
}

template <class Real>
void Values(const TreeExplainer& explainer, const Matrix<Real>& x, const Output<double>& phi) {
  const nb::gil_scoped_release released;
  explainer.values(Span(x), x.shape(0), Span(phi));
}

template <class Real>
void Interactions(const TreeExplainer& explainer, const Matrix<Real>& x,
                  const Output<double>& matrices) {
  const nb::gil_scoped_release released;
  explainer.interactions(Span(x), x.shape(0), Span(matrices));
}

void ValuesOnDevice(const TreeExplainer& explainer, std::uintptr_t x, std::size_t rows,
                    std::uintptr_t phi, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  explainer.values_on_device(OnGpu<const float>(x), rows, OnGpu<double>(phi), OnGpu<void>(stream));
}

void InteractionsOnDevice(const TreeExplainer& explainer, std::uintptr_t x, std::size_t rows,
                          std::uintptr_t matrices, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  explainer.interactions_on_device(OnGpu<const float>(x), rows, OnGpu<double>(matrices),
                                   OnGpu<void>(stream));
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
  std::vector<std::vector<TreeExplainer::FeatureSet>> found;
  {
    const nb::gil_scoped_release released;
    found = explainer.top_interactions(Span(x), x.shape(0), k);
  }
  return Sets(found, 2);
}

nb::tuple InteractionIndex(const TreeExplainer& explainer, const Matrix<double>& x, int order) {
  std::vector<std::vector<TreeExplainer::FeatureSet>> found;
  {
    const nb::gil_scoped_release released;
    found = explainer.interaction_index(Span(x), x.shape(0), order);
  }
  return Sets(found, static_cast<std::size_t>(order));
}

nb::object Predict(const TreeModel& model, const Matrix<double>& x, int threads) {
  std::vector<double> margins;
  {
    const nb::gil_scoped_release released;
    margins = model.predict(Span(x), x.shape(0), threads);
  }
  return ToNumpy(std::move(margins), {x.shape(0), static_cast<std::size_t>(model.outputs())});
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
      .def_static("read", &ReadModel, nb::arg("bytes"), nb::arg("all_trees") = false,
                  nb::arg("say") = nb::none())
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
      .def("values", &Values<float>)
      .def("values", &Values<double>)
      .def("interactions", &Interactions<float>)
      .def("interactions", &Interactions<double>)
      .def("values_on_device", &ValuesOnDevice)
      .def("interactions_on_device", &InteractionsOnDevice)
      .def("top_interactions", &TopInteractions)
      .def("interaction_index", &InteractionIndex)
      .def_prop_ro("device", &TreeExplainer::device)
      .def_prop_ro("why_not_gpu", &TreeExplainer::why_not_gpu);
}

}  // namespace retable::python
