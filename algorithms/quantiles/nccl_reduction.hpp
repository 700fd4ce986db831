#pragma once
//! @file
//! Sums of a stream spread over the GPUs of one process, joined by NCCL.

#if defined(RETABLE_HAS_NCCL)

#include <memory>
#include <span>
#include <vector>

#include "algorithms/quantiles/sum_forest.hpp"

namespace retable::quantiles {

//! A rank's part of a stream, in the memory of its device.
template <class Real>
struct DevicePart {
  const Real* data = nullptr;
  std::size_t values = 0;
  std::uint64_t first_chunk = 0;  //!< every part but the last is whole chunks
};

//! One communicator over devices 0..count-1. Every device sums its own chunks (ColumnsCuda), the
//! forests are gathered by all, and each appends them in the order of the ranks: the same bits
//! whatever the number of devices.
class NcclReduction {
 public:
  //! @throws std::runtime_error where NCCL or a device is missing.
  NcclReduction(int devices, int order);
  ~NcclReduction();
  NcclReduction(const NcclReduction&) = delete;
  NcclReduction& operator=(const NcclReduction&) = delete;

  //! Part i lies on device i; there are as many as devices. @throws std::invalid_argument for
  //! another number, or parts that are not adjacent; std::runtime_error on an error of CUDA or
  //! NCCL, or should two devices disagree.
  ColumnSums Sum(std::span<const DevicePart<float>> parts);
  ColumnSums Sum(std::span<const DevicePart<double>> parts);

 private:
  struct Rank;
  template <class Real>
  ColumnSums SumParts(std::span<const DevicePart<Real>> parts);

  int order_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace retable::quantiles

#endif
