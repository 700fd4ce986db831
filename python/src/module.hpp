#pragma once
//! @file
//! The extension module `retable._retable`: a function a component that adds its classes. They take
//! arrays of one layout and leave the rest (data frames, shapes, names) to the Python files.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace retable::python {

namespace nb = nanobind;

//! A row-major array of host memory.
template <class T, class... Shape>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu, Shape...>;
template <class T>
using Matrix = Array<const T, nb::ndim<2>>;
template <class T>
using Vector = Array<const T, nb::ndim<1>>;
template <class T>
using Output = Array<T>;

template <class A>
auto Span(const A& array) {
  return std::span(array.data(), array.size());
}

//! A NumPy array that owns the vector.
template <class T>
nb::object ToNumpy(std::vector<T> values, std::vector<std::size_t> shape = {}) {
  auto* memory = new std::vector<T>(std::move(values));
  nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {memory->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(memory->data(), shape.size(), shape.data(), owner));
}

//! An address in device memory, or a stream, as Python has it.
template <class T>
T* OnGpu(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

//! Calls work() without the GIL, and returns what it returns.
template <class Work>
auto WithoutGil(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

//! Calls work without the GIL. Ctrl-C, looked for between the parts of the work, is raised.
void Released(const std::function<void()>& work);

inline std::span<const std::byte> Bytes(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

inline nb::bytes ToBytes(const std::vector<std::byte>& bytes) {
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void BindDevice(nb::module_& m);
void BindTreeshap(nb::module_& m);
void BindShuffle(nb::module_& m);
void BindQuantiles(nb::module_& m);
void BindExtratrees(nb::module_& m);
void BindShapley(nb::module_& m);

}  // namespace retable::python
