#include "python/src/module.hpp"

#include "retable/core.hpp"

#include <chrono>

namespace retable::python {

void Released(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kStep = std::chrono::milliseconds(50);
  const nb::gil_scoped_release released;
  Clock::time_point next = Clock::now() + kStep;
  const auto check = [&] {
    if (Clock::now() < next) return;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    next = Clock::now() + kStep;
  };
  Interruptible(check, work);
}

}  // namespace retable::python

NB_MODULE(_retable, m) {
  using namespace retable::python;
  m.def("version", &retable::Version);
  m.def("built_with_cuda", &retable::BuiltWithCuda);
  m.def("cuda_devices", &retable::CudaDevices);
  m.def("threads", &retable::Threads);
  BindTreeshap(m);
  BindShuffle(m);
  BindQuantiles(m);
  BindExtratrees(m);
  BindShapley(m);
}
