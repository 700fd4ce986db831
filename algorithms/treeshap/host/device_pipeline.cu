#include "algorithms/treeshap/host/device_pipeline.cuh"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace retable::treeshap {

namespace {

constexpr std::size_t kFewNumbers = std::size_t{1} << 18;

__global__ void __launch_bounds__(256)
    NarrowKernel(const double* from, std::size_t count, float* to) {
  const std::size_t step = std::size_t{gridDim.x} * 256;
  for (std::size_t i = std::size_t{blockIdx.x} * 256 + threadIdx.x; i < count; i += step) {
    to[i] = static_cast<float>(__ldcs(from + i));
  }
}

// 32 places by 32 columns a block, by way of shared memory.
__global__ void __launch_bounds__(256)
    TransposeKernel(const float* rows, const std::uint32_t* order, std::uint32_t count,
                    std::uint32_t columns, std::uint32_t stride, float* x) {
  __shared__ float tile[32][33];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t first_place = blockIdx.x * 32;
  const std::uint32_t first_column = blockIdx.y * 32;
  for (std::uint32_t i = threadIdx.x / 32; i < 32; i += 8) {
    const std::uint32_t place = first_place + i;
    const std::uint32_t f = first_column + lane;
    float value = 0;
    if (place < count && f < columns) {
      const std::size_t row = order == nullptr ? place : order[place];
      value = rows[row * columns + f];
    }
    constexpr float limit = std::numeric_limits<float>::max();
    tile[i][lane] = value > limit ? limit : (value < -limit ? -limit : value);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x / 32; i < 32 && first_column + i < columns; i += 8) {
    x[static_cast<std::size_t>(first_column + i) * stride + first_place + lane] = tile[lane][i];
  }
}

void Narrow(const double* from, std::size_t count, float* to, cudaStream_t stream) {
  const std::size_t blocks = std::min<std::size_t>((count + 1023) / 1024, 2112);
  NarrowKernel<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(from, count, to);
  CheckCuda(cudaGetLastError(), "rounding results");
}

}  // namespace

void TransposeRows(const float* rows, const std::uint32_t* order, std::uint32_t count,
                   std::uint32_t columns, std::uint32_t stride, float* x, cudaStream_t stream) {
  const dim3 grid(stride / 32, (columns + 31) / 32);
  TransposeKernel<<<grid, 256, 0, stream>>>(rows, order, count, columns, stride, x);
  CheckCuda(cudaGetLastError(), "transposing rows");
}

template <class Number>
DevicePipeline<Number>::DevicePipeline(bool zeros, std::function<void(const DeviceBatch&)> explain)
    : zeros_(zeros), explain_(std::move(explain)) {
  CheckCuda(cudaGetDevice(&device_), "cudaGetDevice");
}

// What is under way must not outlive the memory it goes to.
template <class Number>
DevicePipeline<Number>::~DevicePipeline() {
  if (under_way_) cudaDeviceSynchronize();
}

template <class Number>
double DevicePipeline<Number>::Run(const RowBlock& rows, std::size_t piece_rows, int threads,
                                   const ResultBlocks& to, bool once) {
  seconds_ = 0;
  once_ = once;
  RunPipeline<Number>(*this, rows, piece_rows, threads, to);
  under_way_ = false;
  return seconds_;
}

template <class Number>
void DevicePipeline<Number>::Begin(const PipelinePlan& plan) {
  if (under_way_) CheckCuda(cudaDeviceSynchronize(), "an earlier call");  // it ended with an error
  plan_ = plan;
  for (std::size_t s = 0; s < std::min(plan.pieces, kPipelineSlots); ++s) {
    Slot& slot = slots_[s];
    slot.host_rows.Reserve(plan.piece_rows * plan.columns);
    slot.rows.Reserve(plan.piece_rows * plan.columns);
    slot.out.Reserve(plan.piece_rows * plan.per_row);
    slot.buffers.Reserve(plan.buffers * plan.chunk);
    while (slot.arrived.size() < plan.buffers) {
      slot.arrived.push_back(std::make_unique<CudaEvent>(cudaEventDisableTiming));
    }
  }
  const std::size_t numbers = plan.piece_rows * plan.per_row;
  direct_ = std::is_same_v<Number, float> && plan.pieces == 1 && numbers <= kFewNumbers &&
            numbers <= plan.buffers * plan.chunk && slots_[0].buffers.pinned();
  once_ = once_ && direct_ && slots_[0].host_rows.pinned();
  under_way_ = true;
}

template <class Number>
void DevicePipeline<Number>::Upload(std::size_t slot, std::size_t begin, std::size_t count) {
  if (once_) return;
  Select();
  CheckCuda(cudaMemcpyAsync(slots_[slot].rows.data() + begin, slots_[slot].host_rows.data() + begin,
                            count * sizeof(float), cudaMemcpyHostToDevice, up()),
            "upload");
}

template <class Number>
void DevicePipeline<Number>::Start(std::size_t slot, std::size_t rows, bool missing) {
  Select();
  Slot& s = slots_[slot];
  const bool alone = plan_.pieces == 1;
  if (!alone) {
    s.sent.Record(up_.get());
    CheckCuda(cudaStreamWaitEvent(main_.get(), s.sent.get()), "wait");
  }
  constexpr bool narrow = std::is_same_v<Number, float>;
  const std::size_t numbers = rows * plan_.per_row;
  double* out = nullptr;
  if constexpr (narrow) {
    out = sums_.Reserve(numbers);
  } else {
    out = s.out.data();
  }
  if (zeros_) CheckCuda(cudaMemsetAsync(out, 0, numbers * sizeof(double), main_.get()), "memset");
  s.started.Record(main_.get());
  const float* const from = once_ ? s.host_rows.data() : s.rows.data();
  explain_({from, static_cast<std::uint32_t>(rows), missing, out, main_.get()});
  s.stopped.Record(main_.get());
  if constexpr (narrow)
    Narrow(out, numbers, direct_ ? s.buffers.data() : s.out.data(), main_.get());
  if (!alone || direct_) s.ready.Record(main_.get());
  if (!alone) CheckCuda(cudaStreamWaitEvent(s.down.get(), s.ready.get()), "wait");
}

template <class Number>
void DevicePipeline<Number>::Fetch(std::size_t slot, std::size_t buffer, std::size_t begin,
                                   std::size_t count) {
  if (direct_) return;
  Select();
  Slot& s = slots_[slot];
  CheckCuda(cudaMemcpyAsync(s.buffers.data() + buffer * plan_.chunk, s.out.data() + begin,
                            count * sizeof(Number), cudaMemcpyDeviceToHost, down(slot)),
            "download");
  s.arrived[buffer]->Record(down(slot));
}

template <class Number>
const Number* DevicePipeline<Number>::Wait(std::size_t slot, std::size_t buffer) {
  (direct_ ? slots_[slot].ready : *slots_[slot].arrived[buffer]).Wait();
  return slots_[slot].buffers.data() + buffer * plan_.chunk;
}

template <class Number>
void DevicePipeline<Number>::Finish(std::size_t slot) {
  seconds_ += slots_[slot].stopped.SecondsSince(slots_[slot].started);
}

template class DevicePipeline<float>;
template class DevicePipeline<double>;

}  // namespace retable::treeshap
