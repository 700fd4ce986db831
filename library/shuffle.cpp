#include "retable/shuffle.hpp"

#include <algorithm>
#include <stdexcept>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/cuda/on_device.hpp"
#include "base/parallel.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/shuffle/shuffle_on_device.hpp"
#endif

namespace retable {

namespace {

constexpr std::uint64_t kFeistelItems = std::uint64_t{1} << 31;
constexpr std::uint64_t kBlock = 1 << 14;  // positions that one task evaluates

const Method<shuffle::Shuffler>& MethodOf(const ShuffleOptions& options, Device device) {
  return MethodByName<shuffle::Shuffler>("shuffler", options.method, device,
                                         {"Gather"});  // which repeats items
}

std::unique_ptr<shuffle::Shuffler> MakeShuffler(const ShuffleOptions& options) {
  return MethodOf(options, DeviceByName(options.device)).make({});
}

}  // namespace

struct Permutation::Cipher {
  shuffle::FeistelCipher feistel;
  shuffle::WhitenedPhilox philox;
};

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
  Cipher cipher;
  if (n <= kFeistelItems) {
    cipher.feistel = shuffle::MakeFeistelCipher(n, seed);
  } else {
    cipher.philox = shuffle::MakeWhitenedPhilox(n, seed);
  }
  cipher_ = std::make_shared<const Cipher>(cipher);
}

std::uint64_t Permutation::operator[](std::uint64_t i) const {
  if (i >= n_) {
    throw std::out_of_range("position " + std::to_string(i) + " of a permutation of " +
                            std::to_string(n_));
  }
  if (n_ <= kFeistelItems) return cipher_->feistel.CycleWalk(static_cast<std::uint32_t>(i));
  std::uint64_t y = cipher_->philox(i);
  while (y >= n_) y = cipher_->philox(y);
  return y;
}

void Permutation::fill(std::uint64_t first, std::int64_t step, std::uint64_t count,
                       std::int64_t* values) const {
  if (values == nullptr && count > 0) throw std::invalid_argument("the values are null");
  const auto forward = static_cast<std::uint64_t>(step);
  const auto position = [&](std::uint64_t j) { return first + forward * j; };
  const std::uint64_t stride = step < 0 ? 0 - forward : forward;
  const std::uint64_t room = step < 0 ? first : n_ - 1 - first;
  if (count > 0 && (first >= n_ || (stride > 0 && count - 1 > room / stride))) {
    throw std::out_of_range("positions beyond a permutation of " + std::to_string(n_));
  }
  const auto evaluate = [&](std::uint64_t begin, std::uint64_t end) {
    if (n_ > kFeistelItems) {
      for (std::uint64_t j = begin; j < end; ++j) {
        values[j] = static_cast<std::int64_t>((*this)[position(j)]);
      }
      return;
    }
    std::uint32_t batch[shuffle::kHostBatch];
    for (std::uint64_t j = begin; j < end; j += shuffle::kHostBatch) {
      const std::uint64_t items = std::min(shuffle::kHostBatch, end - j);
      for (std::uint64_t k = 0; k < items; ++k) {
        batch[k] = static_cast<std::uint32_t>(position(j + k));
      }
      shuffle::CycleWalkMany(cipher_->feistel, batch, items);
      std::copy_n(batch, items, values + j);
    }
  };
  if (count <= kBlock) return evaluate(0, count);
  ParallelBlocks(count, kBlock, evaluate);
}

void ShuffleItems(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                  std::uint64_t seed, const ShuffleOptions& options) {
  MakeShuffler(options)->shuffle(in, out, n, item_bytes, seed);
}

void ShuffleItemsOnDevice(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                          std::uint64_t seed, const ShuffleOptions& options, void* stream) {
  const OnDevice current;
  MethodOf(options, Device::kCuda);
#if defined(RETABLE_HAS_CUDA)
  shuffle::CheckBuffers(in, out, n, item_bytes);
  if (n == 0) return;
  shuffle::ShuffleOnDevice(options.method, in, out, n, item_bytes, seed,
                           static_cast<cudaStream_t>(stream));
#else
  static_cast<void>(in), static_cast<void>(out), static_cast<void>(n);
  static_cast<void>(item_bytes), static_cast<void>(seed), static_cast<void>(stream);
#endif
}

std::vector<std::uint64_t> RandomPermutation(std::uint64_t n, std::uint64_t seed,
                                             const ShuffleOptions& options) {
  return MakeShuffler(options)->permutation(n, seed);
}

std::vector<std::int64_t> SampleIndices(std::uint64_t n, std::uint64_t k, std::uint64_t seed) {
  if (k > n) {
    throw std::invalid_argument("a sample of " + std::to_string(k) + " of " + std::to_string(n) +
                                " without replacement");
  }
  shuffle::RequireMemory("a sample of", k, sizeof(std::int64_t));
  std::vector<std::int64_t> sample(k);
  Permutation(n, seed).fill(0, 1, k, sample.data());
  return sample;
}

}  // namespace retable
