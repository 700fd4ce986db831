#pragma once
//! @file
//! Eight candidates of a node side by side, for the CPU's grower.
//!
//! Problem: a node tries K features, and most nodes have a few samples: a loop over the samples of
//! each feature is then all start and end. Approach: up to eight candidates are the lanes of a
//! vector. A sample's codes stand side by side in a line of eight, so that one loop over the
//! samples serves all candidates, in vector registers whatever the node's size. Idle lanes repeat
//! the first. Codes are bytes or floats (encoding/encoded_matrix.hpp). Cost: per sample one read
//! and one write a candidate, then a few vector instructions for all eight.

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/simd_target.hpp"

namespace retable::extratrees {

inline constexpr std::uint32_t kLanes = 8;

//! A line of eight codes as vectors of 16 bytes or less, which every x86-64 has (wider ones are
//! taken apart, lane by lane), and what comparing codes gives: all bits of a lane, or none.
template <class Code>
struct LaneTypes;
template <>
struct LaneTypes<std::uint8_t> {
  using Codes = std::uint8_t __attribute__((vector_size(8)));
  using Lane = std::int8_t;
  using Mask = Lane __attribute__((vector_size(8)));
};
template <>
struct LaneTypes<float> {
  using Codes = float __attribute__((vector_size(16)));
  using Lane = std::int32_t;
  using Mask = Lane __attribute__((vector_size(16)));
};
template <class Code>
inline constexpr std::uint32_t kPart = sizeof(typename LaneTypes<Code>::Codes) / sizeof(Code);
template <class Code>
inline constexpr std::uint32_t kParts = kLanes / kPart<Code>;

template <class Code>
bool IsMissing(Code code) {
  if constexpr (std::numeric_limits<Code>::is_integer) {
    return code == std::numeric_limits<Code>::max();
  } else {
    return code != code;
  }
}

//! Candidates of a node: features, the range of their codes, and where they are cut.
template <class Code>
struct Candidates {
  std::uint32_t width = 0;  //!< lanes in use
  std::array<std::uint32_t, kLanes> feature{};
  std::array<std::uint64_t, kLanes> bits;  //!< random bits of the cut
  std::array<Code, kLanes> low, high;      //!< low > high: all missing
  std::array<bool, kLanes> missing;        //!< whether some sample's value is missing
  std::array<double, kLanes> threshold;
  std::array<Code, kLanes> cut{};           //!< codes up to it go left
  std::array<bool, kLanes> missing_left{};  //!< missing ones, too

  void Add(std::uint32_t f, std::uint64_t random) {
    feature[width] = f;
    bits[width++] = random;
  }
};

//! Which lanes of a part are missing.
template <class Code>
RETABLE_ALWAYS_INLINE typename LaneTypes<Code>::Mask MissingLanes(
    const typename LaneTypes<Code>::Codes& codes) {
  if constexpr (std::numeric_limits<Code>::is_integer) {
    return codes == std::numeric_limits<Code>::max();
  } else {
    return codes != codes;
  }
}

//! The ranges of n lines of codes.
template <bool kMissing, class Code>
void FindRanges(const Code* lines, std::uint32_t n, Candidates<Code>& c) {
  using Limits = std::numeric_limits<Code>;
  using Mask = typename LaneTypes<Code>::Mask;
  constexpr std::uint32_t kSize = kPart<Code>;
  typename LaneTypes<Code>::Codes low[kParts<Code>], high[kParts<Code>], codes;
  Mask any[kParts<Code>] = {};
  c.low.fill(Limits::is_integer ? Limits::max() : Limits::infinity());
  c.high.fill(Limits::is_integer ? Limits::lowest() : -Limits::infinity());
  std::memcpy(low, c.low.data(), sizeof low);
  std::memcpy(high, c.high.data(), sizeof high);
  for (std::uint32_t i = 0; i < n; ++i, lines += kLanes) {
    for (std::uint32_t p = 0; p < kParts<Code>; ++p) {
      std::memcpy(&codes, lines + p * kSize, sizeof codes);
      low[p] = codes < low[p] ? codes : low[p];
      if constexpr (kMissing) {
        const Mask none = MissingLanes<Code>(codes);
        any[p] |= none;
        // A float that is missing is not above any other.
        if constexpr (Limits::is_integer) codes &= ~reinterpret_cast<const decltype(codes)&>(none);
      }
      high[p] = codes > high[p] ? codes : high[p];
    }
  }
  std::memcpy(c.low.data(), low, sizeof low);
  std::memcpy(c.high.data(), high, sizeof high);
  for (std::uint32_t j = 0; j < kLanes; ++j) c.missing[j] = any[j / kSize][j % kSize] != 0;
}

//! The cuts of all lanes, in registers.
template <bool kMissing, class Code>
class LaneCuts {
 public:
  using Mask = typename LaneTypes<Code>::Mask;
  explicit LaneCuts(const Candidates<Code>& c) {
    std::memcpy(cut_, c.cut.data(), sizeof cut_);
    for (std::uint32_t j = 0; j < kLanes; ++j) {
      missing_left_[j / kPart<Code>][j % kPart<Code>] = c.missing_left[j] ? -1 : 0;
    }
  }
  //! The lanes of a line's part p that go left.
  RETABLE_ALWAYS_INLINE Mask GoLeft(const Code* line, std::uint32_t p) const {
    typename LaneTypes<Code>::Codes codes;
    std::memcpy(&codes, line + p * kPart<Code>, sizeof codes);
    if constexpr (!kMissing) return codes <= cut_[p];
    return (codes <= cut_[p]) | (MissingLanes<Code>(codes) & missing_left_[p]);
  }

 private:
  typename LaneTypes<Code>::Codes cut_[kParts<Code>];
  Mask missing_left_[kParts<Code>];
};

//! How many of n lines go left, by lane. Bytes are counted in bytes, for as long as these hold.
template <class Code>
std::array<std::uint32_t, kLanes> CountLeft(const LaneCuts<false, Code>& cuts, const Code* lines,
                                            std::uint32_t n) {
  using Lane = typename LaneTypes<Code>::Lane;
  constexpr auto kBlock = static_cast<std::uint32_t>(std::numeric_limits<Lane>::max());
  std::array<std::uint32_t, kLanes> total{};
  for (std::uint32_t done = 0; done < n;) {
    const std::uint32_t end = n - done < kBlock ? n : done + kBlock;
    typename LaneTypes<Code>::Mask count[kParts<Code>] = {};
    for (; done < end; ++done, lines += kLanes) {
      for (std::uint32_t p = 0; p < kParts<Code>; ++p) count[p] -= cuts.GoLeft(lines, p);
    }
    std::array<Lane, kLanes> counts;
    std::memcpy(counts.data(), count, sizeof count);
    for (std::uint32_t j = 0; j < kLanes; ++j) total[j] += static_cast<std::uint32_t>(counts[j]);
  }
  return total;
}

//! 64-bit sums by lane over the lines that go left, of a number a line.
class LaneSums {
 public:
  using Pair = long long __attribute__((vector_size(16)));
  using Wide = Pair[kLanes / 2];

  //! The masks of a line, a lane in 64 bits.
  template <class Code>
  static RETABLE_ALWAYS_INLINE void Widen(const LaneCuts<true, Code>& cuts, const Code* line,
                                          Wide& wide) {
    typename LaneTypes<Code>::Mask mask[kParts<Code>];
    for (std::uint32_t p = 0; p < kParts<Code>; ++p) mask[p] = cuts.GoLeft(line, p);
    for (std::uint32_t j = 0; j < kLanes; j += 2) {
      const auto& part = mask[j / kPart<Code>];
      wide[j / 2] = Pair{part[j % kPart<Code>], part[j % kPart<Code> + 1]};
    }
  }
  RETABLE_ALWAYS_INLINE void Add(const Wide& left, long long number) {
    for (std::uint32_t v = 0; v < kLanes / 2; ++v) sum_[v] += left[v] & number;
  }
  std::int64_t operator[](std::uint32_t j) const { return sum_[j / 2][j % 2]; }

 private:
  Wide sum_ = {};
};

}  // namespace retable::extratrees
