//! @file
//! Shuffling in place on the GPU. The scratch is the partition shuffle's own memory between levels.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/in_place/workspace.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

//! Regions b < d exchange what they can; what is left of (b, d) goes to the buffer. Blocks: parts x
//! parts x any number that share a pair.
template <class Item>
__global__ void __launch_bounds__(kExchangeThreads)
    ExchangeSegments(const Holding* holdings, Item* items, Item* buffer) {
  const std::uint32_t b = blockIdx.y, d = blockIdx.x, parts = gridDim.x;
  if (b == d) return;
  const Holding mine = holdings[b * parts + d];
  const std::uint32_t first = blockIdx.z * kExchangeThreads + threadIdx.x,
                      step = gridDim.z * kExchangeThreads;
  if (b < d) {
    const Holding other = holdings[d * parts + b];
    for (std::uint32_t k = first; k < mine.kept; k += step) {
      const std::uint64_t p = mine.place(k), q = other.place(k);
      const Item moving = items[p];
      items[p] = items[q];
      items[q] = moving;
    }
  }
  for (std::uint32_t k = mine.kept + first; k < mine.size; k += step) {
    buffer[mine.into + k - mine.kept] = items[mine.place(k)];
  }
}

template <class Item>
__global__ void __launch_bounds__(kExchangeThreads)
    FillFromBuffer(const Holding* holdings, Item* items, const Item* buffer) {
  const Holding mine = holdings[blockIdx.y * gridDim.x + blockIdx.x];
  for (std::uint32_t k = mine.kept + threadIdx.x; k < mine.size; k += kExchangeThreads) {
    items[mine.place(k)] = buffer[mine.from + k - mine.kept];
  }
}

}  // namespace

void InPlaceWorkspace::Prepare(std::uint64_t n, std::size_t item_bytes, std::uint64_t chunk) {
  if (item_bytes != 4 && item_bytes != 8) {
    throw std::invalid_argument("exchanging segments takes items of up to 8 bytes, not " +
                                std::to_string(item_bytes));
  }
  const InPlacePlan plan = MakeInPlacePlan(n, chunk);
  most_ = n;
  chunk_ = chunk;
  std::size_t total = 0;
  CheckCuda(cudaMemGetInfo(&free_before_, &total), "cudaMemGetInfo");
  // The largest bucket: 16 standard deviations over the mean. Chunks of fewer items may be larger,
  // up to `chunk`.
  const auto mean = static_cast<double>(std::max(chunk, plan.chunk));
  const auto largest = static_cast<std::uint64_t>(mean + 16 * std::sqrt(mean) + 256);
  partition_.Prepare(std::min(n, largest), item_bytes);
  partition_.ReserveBetween(std::min(n, largest) * item_bytes);
  const std::uint64_t parts = plan.parts;
  if (parts > 1) {
    buffer_.Reserve(ExchangeBuffer(plan) * item_bytes);
    starts_.Reserve(parts * (parts + 1));
    holdings_.Reserve(parts * parts);
  }
  CheckCuda(cudaMemGetInfo(&free_after_, &total), "cudaMemGetInfo");
}

template <class Item>
void InPlaceWorkspace::Shuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                               cudaStream_t stream) {
  if (n > most_) {
    throw std::invalid_argument("prepare this workspace for " + std::to_string(n) +
                                " items first; it has room for " + std::to_string(most_));
  }
  const InPlacePlan plan = MakeInPlacePlan(n, chunk_);
  auto* scratch = static_cast<Item*>(partition_.between());
  const auto copy = [&](Item* to, const Item* from, std::uint64_t count) {
    CheckCuda(cudaMemcpyAsync(to, from, count * sizeof(Item), cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpyAsync");
  };
  const auto shuffle_bucket = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t key) {
    if (end == begin) return;
    const PartitionPlan bucket = MakePartitionPlan(end - begin);
    const Item* from = out + begin;
    if (bucket.in_memory_per_bucket == 1 && bucket.buckets > 1) {  // one level cannot work in place
      copy(scratch, from, end - begin);
      from = scratch;
    }
    partition_.Enqueue(from, out + begin, end - begin, key, stream);
  };
  const std::uint64_t parts = plan.parts;
  if (parts == 1) {
    if (in != out) copy(out, in, n);
    return shuffle_bucket(0, n, seed);
  }

  std::uint32_t* starts = starts_.data();
  for (std::uint64_t c = 0; c < parts; ++c) {
    const std::uint64_t begin = plan.chunk_begin(c), size = plan.chunk_begin(c + 1) - begin;
    if (size == 0) {
      CheckCuda(cudaMemsetAsync(starts + c * (parts + 1), 0, (parts + 1) * 4, stream), "memset");
      continue;
    }
    Item* split = in == out ? scratch : out + begin;
    partition_.EnqueueSplit(in + begin, split, size, plan.parts, seed, kInPlaceStream, begin >> 8,
                            starts + c * (parts + 1), stream);
    if (in == out) copy(out + begin, scratch, size);
  }
  std::vector<std::uint32_t> segments(parts * (parts + 1));
  CheckCuda(
      cudaMemcpyAsync(segments.data(), starts, segments.size() * 4, cudaMemcpyDeviceToHost, stream),
      "cudaMemcpyAsync");
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const Exchange exchange = MakeExchange(plan, segments);
  buffer_.Reserve(exchange.buffer * sizeof(Item));  // seldom more than was prepared
  Holding* holdings = holdings_.data();
  CheckCuda(
      cudaMemcpyAsync(holdings, exchange.holdings.data(),
                      exchange.holdings.size() * sizeof(Holding), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
  auto* buffer = reinterpret_cast<Item*>(buffer_.data());
  const dim3 pairs(plan.parts, plan.parts);
  const std::uint64_t segment = n / (parts * parts);
  const dim3 shared_pairs(plan.parts, plan.parts,
                          static_cast<unsigned>(std::clamp<std::uint64_t>(segment >> kExchangeShift,
                                                                          1, kMaxExchangeBlocks)));
  ExchangeSegments<<<shared_pairs, kExchangeThreads, 0, stream>>>(holdings, out, buffer);
  CheckCuda(cudaGetLastError(), "ExchangeSegments");
  FillFromBuffer<<<pairs, kExchangeThreads, 0, stream>>>(holdings, out,
                                                         static_cast<const Item*>(buffer));
  CheckCuda(cudaGetLastError(), "FillFromBuffer");
  for (std::uint32_t b = 0; b < parts; ++b) {
    shuffle_bucket(exchange.begins[b], exchange.begins[b + 1], BucketSeed(seed, b));
  }
}

template void InPlaceWorkspace::Shuffle(const std::uint32_t*, std::uint32_t*, std::uint64_t,
                                        std::uint64_t, cudaStream_t);
template void InPlaceWorkspace::Shuffle(const std::uint64_t*, std::uint64_t*, std::uint64_t,
                                        std::uint64_t, cudaStream_t);

namespace {

class CudaInPlace final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    workspace_.Prepare(n, item_bytes);
  }
  // The contract has two arrays: the copy is timed with the rest.
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    CheckCuda(cudaMemcpyAsync(out, in, n * item_bytes, cudaMemcpyDeviceToDevice, stream), "copy");
    if (item_bytes == 4) {
      workspace_.Shuffle(static_cast<std::uint32_t*>(out), n, seed, stream);
    } else {
      workspace_.Shuffle(static_cast<std::uint64_t*>(out), n, seed, stream);
    }
  }

 private:
  InPlaceWorkspace workspace_;
};

RETABLE_REGISTER(Shuffler, in_place,
                 {.name = "InPlace", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaInPlace>();
                  }});

}  // namespace
}  // namespace retable::shuffle
