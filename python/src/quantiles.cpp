#include "retable/quantiles.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

template <class Real>
void Update(QuantileSketch& sketch, const Vector<Real>& values) {
  const nb::gil_scoped_release released;
  sketch.update(Span(values));
}

template <class Real>
void UpdateOnDevice(QuantileSketch& sketch, std::uintptr_t values, std::size_t n,
                    std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  sketch.update_on_device(OnGpu<const Real>(values), n, OnGpu<void>(stream));
}

template <class Call>
nb::object Answer(const Vector<double>& asked, const Call& call) {
  return ToNumpy(WithoutGil([&] { return call(Span(asked)); }));
}

// A matrix of any strides.
template <class Real>
std::vector<QuantileSketch> Columns(const nb::ndarray<const Real, nb::ndim<2>, nb::device::cpu>& x,
                                    int order, bool log) {
  const nb::gil_scoped_release released;
  return SketchColumns(x.data(), x.shape(0), x.shape(1), x.stride(0), x.stride(1),
                       {.order = order, .log = log});
}

}  // namespace

void BindQuantiles(nb::module_& m) {
  using Sketch = QuantileSketch;
  nb::class_<Sketch>(m, "QuantileSketch")
      .def("__init__",
           [](Sketch* self, int order, bool log, const std::string& device) {
             new (self) Sketch({.order = order, .log = log, .device = device});
           })
      .def("update", &Update<float>)
      .def("update", &Update<double>)
      .def("update_on_device_4", &UpdateOnDevice<float>)
      .def("update_on_device_8", &UpdateOnDevice<double>)
      .def("merge", [](Sketch& self, const Sketch& other) { self.merge(other); })
      .def("count", &Sketch::count)
      .def("min", &Sketch::min)
      .def("max", &Sketch::max)
      .def("quantiles",
           [](const Sketch& self, const Vector<double>& phis) {
             return Answer(phis, [&](auto asked) { return self.quantiles(asked); });
           })
      .def("rank_bounds",
           [](const Sketch& self, const Vector<double>& phis) {
             return Answer(phis, [&](auto asked) { return self.rank_bounds(asked); });
           })
      .def("cdf",
           [](const Sketch& self, const Vector<double>& xs) {
             return Answer(xs, [&](auto asked) { return self.cdf(asked); });
           })
      .def("copy", [](const Sketch& self) { return Sketch(self); })
      .def("to_bytes", [](const Sketch& self) { return ToBytes(self.to_bytes()); })
      .def_static("from_bytes",
                  [](const nb::bytes& bytes) { return Sketch::from_bytes(Bytes(bytes)); })
      .def_prop_ro("order", [](const Sketch& self) { return self.options().order; })
      .def_prop_ro("log", [](const Sketch& self) { return self.options().log; });
  m.def("sketch_columns", &Columns<float>);
  m.def("sketch_columns", &Columns<double>);
}

}  // namespace retable::python
