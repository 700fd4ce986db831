#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/module.hpp"
#include "retable/core.hpp"

namespace retable::python {
namespace {

//! Somebody's array, kept.
struct Kept {
  nb::ndarray<nb::ro> array;
};

//! An array by its DLPack capsule: what keeps it, its address, shape, strides in elements, type,
//! and device.
nb::tuple FromDlpack(const nb::ndarray<nb::ro>& array) {
  nb::list shape, strides;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape.append(array.shape(i));
    strides.append(array.stride(i));
  }
  const auto type = array.dtype();
  return nb::make_tuple(nb::cast(Kept{array}), reinterpret_cast<std::uintptr_t>(array.data()),
                        nb::tuple(shape), nb::tuple(strides), int{type.code}, int{type.bits},
                        int{type.lanes}, array.device_type(), array.device_id());
}

//! The capsule of an array in our memory; strides in elements.
nb::object ToDlpack(const nb::object& memory, std::size_t begin,
                    const std::vector<std::size_t>& shape, const std::vector<std::int64_t>& strides,
                    std::uint8_t code, std::uint8_t bits) {
  const auto& owned = nb::cast<const DeviceMemory&>(memory);
  return nb::cast(nb::ndarray<>(static_cast<std::byte*>(owned.data()) + begin, shape.size(),
                                shape.data(), memory, strides.data(), {code, bits, 1},
                                nb::device::cuda::value, 0));
}

}  // namespace

void BindDevice(nb::module_& m) {
  m.def("why_no_cuda_device", &WhyNoCudaDevice);
  m.def("why_not_on_device",
        [](std::uintptr_t address) { return WhyNotOnDevice(OnGpu<const void>(address)); });
  m.def("copy_to_host", [](std::uintptr_t from, std::size_t bytes, std::uintptr_t stream) {
    std::vector<std::uint8_t> host(bytes);
    {
      const nb::gil_scoped_release released;
      CopyToHost(OnGpu<const void>(from), host.data(), bytes, OnGpu<void>(stream));
    }
    return ToNumpy(std::move(host));
  });
  nb::class_<DeviceMemory>(m, "DeviceMemory")
      .def(nb::init<std::size_t>(), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("address",
                   [](const DeviceMemory& memory) {
                     return reinterpret_cast<std::uintptr_t>(memory.data());
                   })
      .def_prop_ro("size", &DeviceMemory::size)
      .def("written_on", [](DeviceMemory& memory,
                            std::uintptr_t stream) { memory.written_on(OnGpu<void>(stream)); })
      .def("wait_on", [](const DeviceMemory& memory,
                         std::uintptr_t stream) { memory.wait_on(OnGpu<void>(stream)); })
      .def("written", &DeviceMemory::written)
      .def("synchronize", &DeviceMemory::synchronize, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Kept>(m, "KeptArray");
  m.def("from_dlpack", &FromDlpack);
  m.def("to_dlpack", &ToDlpack);
}

}  // namespace retable::python
