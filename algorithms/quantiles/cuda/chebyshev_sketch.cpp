//! @file
//! The CUDA implementation of "Retable": sums and lattice on the device, the fit on the host.
//!
//! Streams take the kernels of stream_sums.hpp. With sums of log x they are summed as columns of
//! one table, in float64 as on the CPU.

#if defined(RETABLE_HAS_CUDA)

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/cuda/feed_through_device.hpp"
#include "algorithms/quantiles/cuda/stream_sums.hpp"
#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

namespace retable::quantiles {
namespace {

//! Error of moments from float32 tiles where several values repeat that a lattice histogram cannot
//! hold; else it is below 1e-8.
constexpr double kFloat32Noise = 5e-7;

//! What sums need on a device.
struct Workspace {
  Workspace(int order, bool log) : stream(order), columns(order, log) {}
  ChebyshevCuda stream;
  ColumnsCuda columns;
};

//! One for all sketches of a thread on its device, since to allocate one takes longer than a short
//! call. A call waits for its answer, so that no two are in use at a time.
Workspace& OfThisThread(int order, bool log) {
  thread_local std::map<std::tuple<int, int, bool>, Workspace> kept;
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  return kept.try_emplace({device, order, log}, order, log).first->second;
}

class ChebyshevSketchCuda final : public ChebyshevSketch, public DeviceUpdate {
 public:
  ChebyshevSketchCuda(int order, bool log) : ChebyshevSketch(order, log), logs_(log) {
    OfThisThread(order, log);  // throws without a device
  }

  void update(std::span<const float> values) override {
    FeedThroughDevice(values,
                      [this](const float* piece, std::size_t n) { Feed(piece, n, nullptr); });
  }
  void update(std::span<const double> values) override {
    FeedThroughDevice(values,
                      [this](const double* piece, std::size_t n) { Feed(piece, n, nullptr); });
  }
  DeviceUpdate* device_update() override { return this; }
  void update_device(const float* values, std::size_t n, void* stream) override {
    Feed(values, n, stream);
  }
  void update_device(const double* values, std::size_t n, void* stream) override {
    Feed(values, n, stream);
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<ChebyshevSketchCuda>(sums_.order(), logs_);
  }

 private:
  template <class Real>
  void Feed(const Real* values, std::size_t n, void* stream) {
    if (n == 0) return;
    RequireRoom(n);
    Workspace& device = OfThisThread(sums_.order(), logs_);
    if (!logs_) {
      const ChebyshevSums sums = device.stream.Sum(values, n, stream);
      if (HasInfinite(sums)) return FeedFinite(values, n, stream);
      Absorb({sums, {}, device.stream.digits()}, device.stream.exact() ? 0 : kFloat32Noise,
             kRounding<Real>);
      return;
    }
    const std::size_t whole = n / kLongStream;
    AbsorbAll(DeviceColumns<Real>{values, kLongStream, whole, kLongStream}, stream);
    AbsorbAll(DeviceColumns<Real>{values + whole * kLongStream, n % kLongStream, 1, kLongStream},
              stream);
  }
  template <class Real>
  void AbsorbAll(const DeviceColumns<Real>& pieces, void* stream) {
    const Real* values = pieces.data;
    for (const ColumnSums& sums : OfThisThread(sums_.order(), logs_).columns.Sum(pieces, stream)) {
      if (HasInfinite(sums.sums)) {
        FeedFinite(values, pieces.rows, stream);
      } else {
        Absorb(sums, 0, kRounding<Real>);
      }
      values += pieces.stride;
    }
  }
  //! Sums of a stream that holds an infinite value are not valid, as their bounds show.
  static bool HasInfinite(const ChebyshevSums& sums) {
    return sums.sum[0] > 0 && (std::isinf(sums.min) || std::isinf(sums.max));
  }
  template <class Real>
  void FeedFinite(const Real* values, std::size_t n, void* stream) {
    Infinities infinite;
    const std::vector<Real> finite = FiniteOnHost(values, n, stream, infinite);
    sums_.Count(infinite);
    DeviceArray<Real> again{std::span<const Real>(finite)};
    Feed(again.data(), finite.size(), nullptr);  // the stream of the upload
  }

  bool logs_;
};

RETABLE_REGISTER(QuantileSketch, retable, (ChebyshevMethod<ChebyshevSketchCuda>(Device::kCuda)));

}  // namespace
}  // namespace retable::quantiles

#endif
