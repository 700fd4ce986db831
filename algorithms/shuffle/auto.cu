//! @file
//! "Shuffle" on the GPU.

#include "algorithms/shuffle/auto.hpp"

#include <map>
#include <memory>
#include <string_view>

#include "algorithms/shuffle/cuda_shuffler.hpp"

namespace retable::shuffle {
namespace {

class CudaAuto final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    Method(n, item_bytes).prepare(n, item_bytes);
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    Method(n, item_bytes).enqueue(in, out, n, item_bytes, seed, stream);
  }

 private:
  CudaShuffler& Method(std::uint64_t n, std::size_t item_bytes) {
    auto& method = methods_[MethodOf(n, item_bytes)];
    if (method == nullptr) method = MakeCudaShuffler(MethodOf(n, item_bytes));
    return *method;
  }

  std::map<std::string_view, std::unique_ptr<CudaShuffler>> methods_;
};

RETABLE_REGISTER(Shuffler, best,
                 {.name = "Shuffle", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaAuto>();
                  }});

}  // namespace
}  // namespace retable::shuffle
