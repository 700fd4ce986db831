#include "retable/shuffle.hpp"

#include <nanobind/stl/string.h>

#include <stdexcept>

#include "python/src/module.hpp"

namespace retable::python {
namespace {

// Both arrays as bytes: n items of item_bytes each.
void Shuffle(const Array<const std::uint8_t>& in, const Output<std::uint8_t>& out, std::uint64_t n,
             std::size_t item_bytes, std::uint64_t seed, const std::string& method,
             const std::string& device) {
  if (in.size() != n * item_bytes || out.size() != in.size()) {
    throw std::invalid_argument("the buffers do not hold the items");
  }
  const nb::gil_scoped_release released;
  ShuffleItems(in.data(), out.data(), n, item_bytes, seed, {.method = method, .device = device});
}

void ShuffleOnDevice(std::uintptr_t in, std::uintptr_t out, std::uint64_t n, std::size_t item_bytes,
                     std::uint64_t seed, const std::string& method, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  ShuffleItemsOnDevice(OnGpu<const void>(in), OnGpu<void>(out), n, item_bytes, seed,
                       {.method = method, .device = "cuda"}, OnGpu<void>(stream));
}

nb::object RandomOrder(std::uint64_t n, std::uint64_t seed, const std::string& method,
                       const std::string& device) {
  return ToNumpy(
      WithoutGil([&] { return RandomPermutation(n, seed, {.method = method, .device = device}); }));
}

nb::object Sample(std::uint64_t n, std::uint64_t k, std::uint64_t seed) {
  return ToNumpy(WithoutGil([&] { return SampleIndices(n, k, seed); }));
}

void Fill(const Permutation& order, std::uint64_t first, std::int64_t step,
          const Output<std::int64_t>& values) {
  const nb::gil_scoped_release released;
  order.fill(first, step, values.size(), values.data());
}

}  // namespace

void BindShuffle(nb::module_& m) {
  nb::class_<Permutation>(m, "Permutation")
      .def(nb::init<std::uint64_t, std::uint64_t>())
      .def("at", &Permutation::operator[])
      .def("fill", &Fill);
  m.def("shuffle", &Shuffle);
  m.def("shuffle_on_device", &ShuffleOnDevice);
  m.def("permutation", &RandomOrder);
  m.def("sample", &Sample);
}

}  // namespace retable::python
