//! @file
//! The bijective shuffles on the GPU: LCG, VarPhilox, VarPhilox-mended, in the paper's three
//! fusions.

#include <memory>

#include "algorithms/shuffle/bijective/kernels.cuh"
#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/gather.cuh"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

__global__ void ScanCounts(std::uint32_t* counts, std::uint32_t tiles) {
  __shared__ std::uint32_t warps[33];
  __shared__ std::uint32_t carry;
  if (threadIdx.x == 0) carry = 0;
  for (std::uint32_t base = 0; base < tiles; base += 4096) {
    __syncthreads();
    std::uint32_t own[4], sum = 0;
    const std::uint32_t first = base + threadIdx.x * 4;
    for (int e = 0; e < 4; ++e) sum += own[e] = first + e < tiles ? counts[first + e] : 0;
    std::uint32_t running = carry + ExclusiveSum<32>(sum, warps);
    for (int e = 0; e < 4; ++e) {
      if (first + e < tiles) counts[first + e] = running;
      running += own[e];
    }
    __syncthreads();
    if (threadIdx.x == 1023) carry = running;
  }
}

namespace {

unsigned Blocks(std::uint64_t count, std::uint64_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

std::uint64_t Domain(std::uint64_t n) {
  return std::uint64_t{1} << std::max(8, CeilLog2(n));
}

// Device memory of a bijective shuffle and its launches.
class Bijective {
 public:
  void Prepare(std::uint64_t n, int fusion) {
    std::uint64_t tiles = Blocks(Domain(n), kBijectTile);
    if (fusion == 2) {
      const std::uint64_t small_tiles = kSmallDomain / kBijectThreads;
      const std::uint64_t before = status_.size();
      status_.Reserve(std::max(tiles, small_tiles));
      if (status_.size() != before) {
        CheckCuda(cudaMemset(status_.data(), 0, status_.size() * 8), "cudaMemset");
        // A stream that does not wait for the default one may be the next to read it.
        CheckCuda(cudaStreamSynchronize(nullptr), "cudaMemset");
        epoch_ = 0;
      }
      return;
    }
    counts_.Reserve(tiles);
    if (fusion == 0) {
      values_.Reserve(Domain(n));
      index_.Reserve(n);
    }
  }

  template <class Item, class F>
  void Enqueue(const F& f, std::uint64_t domain, int fusion, const Item* in, Item* out,
               std::uint64_t n, cudaStream_t stream) {
    const unsigned tiles = Blocks(domain, kBijectTile);
    // A kernel that follows one that did not start would write by counts that nobody made.
    const auto started = [] { CheckCuda(cudaGetLastError(), "bijective shuffle"); };
    if (fusion == 0) {
      StoreValues<kBijectThreads><<<Blocks(domain, kBijectThreads), kBijectThreads, 0, stream>>>(
          f, values_.data(), domain);
      started();
      const StoredValues stored{values_.data(), domain};
      CountValid<<<tiles, kBijectThreads, 0, stream>>>(stored, n, domain, counts_.data());
      started();
      ScanCounts<<<1, 1024, 0, stream>>>(counts_.data(), tiles);
      started();
      WriteValid<<<tiles, kBijectThreads, 0, stream>>>(
          stored, index_.data(), n, n, static_cast<const std::uint32_t*>(counts_.data()));
      started();
      EnqueueGather<kBijectThreads, kBijectEach / 2>(StoredIndices{index_.data()}, in, out, n,
                                                     stream);
    } else if (n == domain) {
      EnqueueGather<kBijectThreads, kBijectEach / 2>(f, in, out, n, stream);
    } else if (fusion == 1) {
      CountValid<<<tiles, kBijectThreads, 0, stream>>>(f, n, domain, counts_.data());
      started();
      ScanCounts<<<1, 1024, 0, stream>>>(counts_.data(), tiles);
      started();
      GatherValid<<<tiles, kBijectThreads, 0, stream>>>(f, in, out, n, domain, counts_.data());
    } else {
      if (++epoch_ >> 26) {
        CheckCuda(cudaMemsetAsync(status_.data(), 0, status_.size() * 8, stream), "cudaMemset");
        epoch_ = 1;
      }
      const LookBack look_back{status_.data(), epoch_};
      if (domain <= kSmallDomain) {
        ShuffleOnePass<1><<<Blocks(domain, kBijectThreads), kBijectThreads, 0, stream>>>(
            f, in, out, n, domain, look_back);
      } else {
        ShuffleOnePass<kBijectEach>
            <<<tiles, kBijectThreads, 0, stream>>>(f, in, out, n, domain, look_back);
      }
    }
    started();
  }

 private:
  DeviceArray<unsigned long long> status_;
  DeviceArray<std::uint32_t> counts_, values_, index_;
  std::uint32_t epoch_ = 0;
};

void CheckSize(std::uint64_t n) {
  if (n > (std::uint64_t{1} << 31)) {
    throw std::invalid_argument("bijective shuffles on a GPU take up to 2^31 items, not " +
                                std::to_string(n));
  }
}

// `choose` calls launch(f, its domain) with the bijection of n and a seed.
template <class Choose>
class CudaBijective final : public CudaShuffler {
 public:
  CudaBijective(int fusion, Choose choose) : fusion_(fusion), choose_(choose) {
    if (fusion < 0 || fusion > 2) throw std::invalid_argument("fusion is 0, 1 or 2");
  }
  void prepare(std::uint64_t n, std::size_t) override {
    CheckSize(n);
    bijective_.Prepare(n, fusion_);
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    choose_(n, seed, [&](const auto& f, std::uint64_t domain) {
      WithItems(in, out, item_bytes, [&](const auto* source, auto* target) {
        bijective_.Enqueue(f, domain, fusion_, source, target, n, stream);
      });
    });
  }

 private:
  Bijective bijective_;
  int fusion_;
  Choose choose_;
};

template <class Choose>
std::unique_ptr<Shuffler> MakeCudaBijective(const Parameters& p, Choose choose) {
  return std::make_unique<CudaBijective<Choose>>(IntParameter(p, "fusion", 2), choose);
}

struct ChooseLcg {
  template <class Launch>
  void operator()(std::uint64_t n, std::uint64_t seed, const Launch& launch) const {
    const Lcg f = MakeLcg(n, seed);
    launch(f, f.size());
  }
};

struct ChooseVarPhilox {
  int rounds;
  template <class Launch>
  void operator()(std::uint64_t n, std::uint64_t seed, const Launch& launch) const {
    const VariablePhilox f = MakeVariablePhilox(n, seed, rounds);
    if (rounds == 24) return launch(FixedRounds<VariablePhilox, 24>{f}, f.size());
    launch(f, f.size());
  }
};

struct ChooseWhitened {
  template <class Launch>
  void operator()(std::uint64_t n, std::uint64_t seed, const Launch& launch) const {
    const WhitenedPhilox f = MakeWhitenedPhilox(n, seed);
    if (f.cipher.rounds == 12) return launch(FixedRounds<WhitenedPhilox, 12>{f}, f.size());
    if (f.cipher.rounds == 20) return launch(FixedRounds<WhitenedPhilox, 20>{f}, f.size());
    launch(f, f.size());
  }
};

ParameterInfo Fusion() {
  return {"fusion", std::int64_t{2},
          "0 separate passes, 1 two-pass scan, 2 one pass with look-back"};
}

RETABLE_REGISTER(Shuffler, lcg,
                 {.name = "LCG",
                  .device = Device::kCuda,
                  .parameters = {Fusion()},
                  .make = [](const Parameters& p) { return MakeCudaBijective(p, ChooseLcg{}); }});

RETABLE_REGISTER(Shuffler, var_philox,
                 {.name = "VarPhilox",
                  .device = Device::kCuda,
                  .parameters = {{"rounds", std::int64_t{24}, "rounds of the cipher, 1 to 64"},
                                 Fusion()},
                  .make = [](const Parameters& p) {
                    const int rounds = IntParameter(p, "rounds", 24);
                    MakeVariablePhilox(1, 0, rounds);  // refuses wrong ones
                    return MakeCudaBijective(p, ChooseVarPhilox{rounds});
                  }});

RETABLE_REGISTER(Shuffler, whitened,
                 {.name = "VarPhilox-mended",
                  .device = Device::kCuda,
                  .parameters = {Fusion()},
                  .make = [](const Parameters& p) {
                    return MakeCudaBijective(p, ChooseWhitened{});
                  }});

}  // namespace
}  // namespace retable::shuffle
