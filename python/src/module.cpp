#include "python/src/module.hpp"

#include "retable/core.hpp"

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
