#include "algorithms/quantiles/nccl_reduction.hpp"

#if defined(RETABLE_HAS_NCCL)

#include <cstring>
#include <stdexcept>

#include "algorithms/common/nccl.hpp"
#include "base/cuda_memory.hpp"

namespace retable::quantiles {
namespace {

//! A part as a table whose columns are its whole chunks.
template <class Real>
DeviceColumns<Real> WholeChunks(const DevicePart<Real>& part) {
  return {part.data, kChunk, part.values / kChunk, kChunk};
}
//! What is left behind them: one column, maybe empty.
template <class Real>
DeviceColumns<Real> Rest(const DevicePart<Real>& part) {
  const std::size_t whole = part.values / kChunk * kChunk;
  return {part.data + whole, part.values - whole, part.values > whole ? 1u : 0u, kChunk};
}

}  // namespace

struct NcclReduction::Rank {
  Rank(int device_number, int order) : device(device_number), mine(order) {
    CheckCuda(cudaSetDevice(device), "cudaSetDevice");
    columns.emplace_back(order);
    columns.emplace_back(order);
    CheckCuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    const std::size_t bytes = SumForest::kWireDoubles * sizeof(double);
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&send), bytes), "cudaMalloc");
  }
  ~Rank() {
    if (cudaSetDevice(device) != cudaSuccess) return;
    if (communicator != nullptr) Nccl().CommDestroy(communicator);
    cudaFree(send);
    cudaFree(receive);
    cudaStreamDestroy(stream);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int device;
  std::vector<ColumnsCuda> columns;  //!< for whole chunks, and for the rest
  cudaStream_t stream = nullptr;
  ncclComm_t communicator = nullptr;
  double* send = nullptr;
  double* receive = nullptr;
  SumForest mine;
};

NcclReduction::NcclReduction(int devices, int order) : order_(order) {
  if (devices < 1) throw std::invalid_argument("a reduction needs at least one device");
  const NcclFunctions& nccl = Nccl();
  const auto count = static_cast<std::size_t>(devices);
  const std::size_t bytes = count * SumForest::kWireDoubles * sizeof(double);
  for (int device = 0; device < devices; ++device) {
    ranks_.push_back(std::make_unique<Rank>(device, order));
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&ranks_.back()->receive), bytes), "cudaMalloc");
  }
  std::vector<ncclComm_t> communicators(count);
  CheckNccl(nccl.CommInitAll(communicators.data(), devices, nullptr), "ncclCommInitAll");
  for (std::size_t i = 0; i < count; ++i) ranks_[i]->communicator = communicators[i];
}

NcclReduction::~NcclReduction() = default;

template <class Real>
ColumnSums NcclReduction::SumParts(std::span<const DevicePart<Real>> parts) {
  if (parts.size() != ranks_.size()) throw std::invalid_argument("a part for each device, please");
  // All devices sum at the same time; only then is the first one waited for.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Rank& rank = *ranks_[i];
    CheckCuda(cudaSetDevice(rank.device), "cudaSetDevice");
    rank.columns[0].Enqueue(WholeChunks(parts[i]), rank.stream);
    rank.columns[1].Enqueue(Rest(parts[i]), rank.stream);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Rank& rank = *ranks_[i];
    CheckCuda(cudaSetDevice(rank.device), "cudaSetDevice");
    rank.mine = SumForest(order_);
    std::uint64_t chunk = parts[i].first_chunk;
    for (int half = 0; half < 2; ++half) {
      const auto columns = half == 0 ? WholeChunks(parts[i]) : Rest(parts[i]);
      for (const ColumnSums& sums :
           rank.columns[static_cast<std::size_t>(half)].Fetch(columns.columns, rank.stream)) {
        rank.mine.Add(chunk++, sums);
      }
    }
    const std::vector<double> wire = rank.mine.Pack();
    CheckCuda(cudaMemcpyAsync(rank.send, wire.data(), wire.size() * sizeof(double),
                              cudaMemcpyHostToDevice, rank.stream),
              "copy of a forest");
    CheckCuda(cudaStreamSynchronize(rank.stream), "copy of a forest");
  }
  const NcclFunctions& nccl = Nccl();
  CheckNccl(nccl.GroupStart(), "ncclGroupStart");
  for (const auto& rank : ranks_) {
    CheckNccl(nccl.AllGather(rank->send, rank->receive, SumForest::kWireDoubles, ncclDouble,
                             rank->communicator, rank->stream),
              "ncclAllGather");
  }
  CheckNccl(nccl.GroupEnd(), "ncclGroupEnd");
  ColumnSums total;
  std::vector<double> gathered(ranks_.size() * SumForest::kWireDoubles);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = *ranks_[i];
    CheckCuda(cudaSetDevice(rank.device), "cudaSetDevice");
    CheckCuda(cudaMemcpyAsync(gathered.data(), rank.receive, gathered.size() * sizeof(double),
                              cudaMemcpyDeviceToHost, rank.stream),
              "copy of the forests");
    CheckCuda(cudaStreamSynchronize(rank.stream), "ncclAllGather");
    SumForest joint(order_);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      joint.Append(SumForest::Unpack(std::span<const double>(gathered).subspan(
          r * SumForest::kWireDoubles, SumForest::kWireDoubles)));
    }
    const ColumnSums sums = joint.Total();
    if (i > 0 && std::memcmp(&sums.sums, &total.sums, sizeof sums.sums) != 0) {
      throw std::runtime_error("device " + std::to_string(i) + " has other sums than device 0");
    }
    total = sums;
  }
  CheckCuda(cudaSetDevice(0), "cudaSetDevice");
  return total;
}

ColumnSums NcclReduction::Sum(std::span<const DevicePart<float>> parts) {
  return SumParts(parts);
}
ColumnSums NcclReduction::Sum(std::span<const DevicePart<double>> parts) {
  return SumParts(parts);
}

}  // namespace retable::quantiles

#endif
