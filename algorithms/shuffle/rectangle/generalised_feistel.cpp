#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {

namespace {

constexpr std::uint64_t kFewRounds = std::uint64_t{1} << 12;  // 12 half-rounds from so many on

// The even a near sqrt(n) whose rectangle exceeds n least: the fewer values are cycle-walked,
// the fewer warps wait for a second evaluation. Few items get a rectangle of at least 256.
void SetSides(FeistelCipher& cipher, std::uint64_t n) {
  const std::uint64_t least_side = n < kFewRounds ? 12 : 26;
  n = std::max<std::uint64_t>(n, 256);
  const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  std::uint64_t least = ~std::uint64_t{0};
  const auto try_side = [&](std::uint64_t a) {
    const std::uint64_t b = (n + a - 1) / a;
    if (a < least_side || b < least_side || a * b - n >= least) return;
    least = a * b - n;
    cipher.a = static_cast<std::uint32_t>(a);
    cipher.b = static_cast<std::uint32_t>(b);
  };
  const std::uint64_t middle = (root + 1) & ~std::uint64_t{1};
  for (std::uint64_t d = 0; d <= std::min<std::uint64_t>(128, root * 2 / 3); d += 2) {
    try_side(middle - d);
    try_side(middle + d);
  }
}

}  // namespace

FeistelCipher MakeFeistelCipher(std::uint64_t n, std::uint64_t seed) {
  if (n > (std::uint64_t{1} << 31)) {
    throw std::invalid_argument("the rectangle cipher takes up to 2^31 items, not " +
                                std::to_string(n));
  }
  FeistelCipher cipher;
  cipher.n = static_cast<std::uint32_t>(n);
  SetSides(cipher, n);
  cipher.reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / cipher.b);
  cipher.half_rounds = n < kFewRounds ? 14 : 12;
  SetKeys(cipher, seed);
  return cipher;
}

void SetKeys(FeistelCipher& cipher, std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (int r = 0; r < cipher.half_rounds; r += 4) {
    const PhiloxBlock block =
        random.Block(kMaxRounds + 1 + static_cast<std::uint64_t>(r) / 4, kKeyStream);
    std::copy_n(block.word, 4, cipher.key + r);
  }
}

namespace {

// 64 values side by side: the rounds are outermost, so that each is a loop without dependencies.
RETABLE_CLONES void EncryptBlock(const FeistelCipher& cipher, std::uint32_t* values) {
  const std::uint32_t a = cipher.a, b = cipher.b;
  std::uint32_t left[64], right[64];
  for (int i = 0; i < 64; ++i) {
    const auto quotient = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(values[i]) * cipher.reciprocal) >> 32);
    const std::uint32_t rest = values[i] - quotient * b;
    left[i] = rest >= b ? quotient + 1 : quotient;
    right[i] = rest >= b ? rest - b : rest;
  }
  for (int r = 0; r < cipher.half_rounds; r += 2) {
    const std::uint32_t to_left = cipher.key[r], to_right = cipher.key[r + 1];
    for (int i = 0; i < 64; ++i) {
      left[i] = FeistelCipher::AddMixed(left[i], right[i], to_left, a);
      right[i] = FeistelCipher::AddMixed(right[i], left[i], to_right, b);
    }
  }
  for (int i = 0; i < 64; ++i) values[i] = left[i] * b + right[i];
}

}  // namespace

void CycleWalkMany(const FeistelCipher& cipher, std::uint32_t* values, std::size_t count) {
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    EncryptBlock(cipher, values + i);
    for (std::size_t j = i; j < i + 64; ++j) {
      if (values[j] >= cipher.n) values[j] = cipher.CycleWalk(values[j]);
    }
  }
  for (; i < count; ++i) values[i] = cipher.CycleWalk(values[i]);
}

bool FindWalkEnds(const FeistelCipher& cipher, WalkEnds& ends) {
  const std::uint64_t excess = std::uint64_t{cipher.a} * cipher.b - cipher.n;
  if (excess > WalkEnds::kMost) return false;
  for (std::uint32_t e = 0; e < excess; ++e) {
    // A cycle of values from n on is met by no value below n.
    std::uint32_t y = cipher.Encrypt(cipher.n + e);
    for (std::uint32_t step = 1; y >= cipher.n && step < excess; ++step) y = cipher.Encrypt(y);
    ends.end[e] = y < cipher.n ? y : 0;
  }
  return true;
}

namespace {

class FeistelShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    const FeistelCipher cipher = MakeFeistelCipher(n, seed);
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      const Item* source = static_cast<const Item*>(in);
      Item* target = static_cast<Item*>(out);
      ParallelFor((n + kHostBlock - 1) / kHostBlock, [&](std::uint64_t block) {
        const std::uint64_t end = std::min(n, (block + 1) * kHostBlock);
        std::uint32_t order[kHostBatch];
        for (std::uint64_t j = block * kHostBlock; j < end; j += kHostBatch) {
          const std::uint64_t count = std::min(kHostBatch, end - j);
          std::iota(order, order + count, static_cast<std::uint32_t>(j));
          CycleWalkMany(cipher, order, count);
          for (std::uint64_t k = 0; k < count; ++k) target[j + k] = source[order[k]];
        }
      });
    });
  }
};

RETABLE_REGISTER(Shuffler, rectangle,
                 {.name = "Rectangle",
                  .device = Device::kCpu,
                  .summary = "Feistel network on an a x b rectangle barely over n; no scan",
                  .citation = "ours, after Black and Rogaway 2002",
                  .parameters = {},
                  .make = [](const Parameters&) { return std::make_unique<FeistelShuffler>(); }});

}  // namespace
}  // namespace retable::shuffle
