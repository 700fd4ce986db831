#include "algorithms/shuffle/multi_gpu/several_gpus.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cuda/workspace.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/streams.hpp"

namespace retable::shuffle {

struct SeveralGpus::Device {
  int id;
  CudaStream stream{cudaStreamDefault};
  PartitionWorkspace partition;
  DeviceArray<std::byte> split, received;
  DeviceArray<std::uint32_t> starts;

  explicit Device(int device) : id(SelectDevice(device)) {}
  ~Device() { cudaSetDevice(id); }
  void Use() const { SelectDevice(id); }
  void Wait() const {
    Use();
    stream.Wait();
  }
};

SeveralGpus::SeveralGpus(std::vector<int> devices) {
  if (devices.empty()) throw std::invalid_argument("name at least one device");
  if (devices.size() * kDeviceDigits > kMaxDigits) {
    throw std::invalid_argument("up to " + std::to_string(kMaxDigits / kDeviceDigits) +
                                " devices, not " + std::to_string(devices.size()));
  }
  for (const int id : devices) {
    SelectDevice(id);
    for (const int other : devices) {
      int reachable = 0;
      CheckCuda(cudaDeviceCanAccessPeer(&reachable, id, other), "cudaDeviceCanAccessPeer");
      if (id == other || reachable == 0) continue;  // copies then go by way of the host
      const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
      } else {
        CheckCuda(status, "cudaDeviceEnablePeerAccess");
      }
    }
    devices_.push_back(std::make_unique<Device>(id));
  }
}

SeveralGpus::~SeveralGpus() = default;

std::uint64_t SeveralGpus::slice(std::uint64_t n, std::size_t g) const {
  const std::uint64_t each = ((n + devices_.size() - 1) / devices_.size() + 255) / 256 * 256;
  return std::min(n, (g + 1) * each) - std::min(n, g * each);
}

std::uint64_t SeveralGpus::capacity(std::uint64_t n) const {
  return MostItems(n, devices_.size());
}

void SeveralGpus::Prepare(std::uint64_t n, std::size_t item_bytes) {
  for (auto& device : devices_) {
    device->Use();
    device->split.Reserve(slice(n, 0) * item_bytes);
    device->received.Reserve(capacity(n) * item_bytes);
    device->starts.Reserve(devices_.size() * kDeviceDigits + 1);
    device->partition.Prepare(std::max(capacity(n), slice(n, 0)), item_bytes);
  }
}

template <class Item>
std::vector<std::uint64_t> SeveralGpus::Shuffle(const std::vector<const Item*>& in,
                                                const std::vector<Item*>& out, std::uint64_t n,
                                                std::uint64_t seed) {
  const std::size_t parts = devices_.size();
  if (in.size() != parts || out.size() != parts) {
    throw std::invalid_argument("give one slice and one part for each of the " +
                                std::to_string(parts) + " devices");
  }
  const std::size_t digits = parts * kDeviceDigits, row = digits + 1;
  std::vector<std::uint32_t> starts(parts * row, 0);  // [slice][digit]
  for (std::size_t g = 0; g < parts; ++g) {
    Device& device = *devices_[g];
    if (slice(n, g) == 0) continue;
    device.Use();
    device.partition.EnqueueSplit(in[g], reinterpret_cast<Item*>(device.split.data()), slice(n, g),
                                  static_cast<std::uint32_t>(digits), seed, kDeviceStream,
                                  g * (slice(n, 0) / 256), device.starts.data(),
                                  device.stream.get());
  }
  // Only now, as a copy to pageable memory waits for its device.
  for (std::size_t g = 0; g < parts; ++g) {
    if (slice(n, g) == 0) continue;
    devices_[g]->Use();
    CheckCuda(cudaMemcpyAsync(starts.data() + g * row, devices_[g]->starts.data(), row * 4,
                              cudaMemcpyDeviceToHost, devices_[g]->stream.get()),
              "cudaMemcpyAsync");
  }
  for (const auto& device : devices_) device->Wait();
  std::vector<std::uint64_t> sizes(parts, 0);
  // Each device fetches its parts one after the other, from the next device first, so that each is
  // read by one other at a time: copies at the same time share the engines that make them.
  for (std::size_t to = 0; to < parts; ++to) {
    Device& device = *devices_[to];
    device.Use();
    std::vector<std::uint64_t> begins(parts + 1, 0);
    for (std::size_t from = 0; from < parts; ++from) {
      const std::uint32_t* part = &starts[from * row + to * kDeviceDigits];
      begins[from + 1] = begins[from] + part[kDeviceDigits] - part[0];
    }
    sizes[to] = begins[parts];
    if (sizes[to] > capacity(n)) {
      throw std::runtime_error("a part of " + std::to_string(sizes[to]) +
                               " items is 16 standard deviations over its mean");
    }
    for (std::size_t turn = 1; turn <= parts; ++turn) {
      const std::size_t from = (to + turn) % parts;
      const std::uint64_t count = begins[from + 1] - begins[from];
      if (count == 0) continue;
      const Item* source = reinterpret_cast<const Item*>(devices_[from]->split.data()) +
                           starts[from * row + to * kDeviceDigits];
      Item* target = reinterpret_cast<Item*>(device.received.data()) + begins[from];
      CheckCuda(cudaMemcpyPeerAsync(target, device.id, source, devices_[from]->id,
                                    count * sizeof(Item), device.stream.get()),
                "cudaMemcpyPeerAsync");
    }
  }
  for (std::size_t to = 0; to < parts; ++to) {
    if (sizes[to] == 0) continue;
    Device& device = *devices_[to];
    device.Use();
    device.partition.Enqueue(reinterpret_cast<const Item*>(device.received.data()), out[to],
                             sizes[to], BucketSeed(seed, static_cast<std::uint32_t>(to)),
                             device.stream.get());
  }
  for (const auto& device : devices_) device->Wait();
  return sizes;
}

template std::vector<std::uint64_t> SeveralGpus::Shuffle(const std::vector<const std::uint32_t*>&,
                                                         const std::vector<std::uint32_t*>&,
                                                         std::uint64_t, std::uint64_t);
template std::vector<std::uint64_t> SeveralGpus::Shuffle(const std::vector<const std::uint64_t*>&,
                                                         const std::vector<std::uint64_t*>&,
                                                         std::uint64_t, std::uint64_t);

}  // namespace retable::shuffle
