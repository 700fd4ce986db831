#include "algorithms/treeshap/quadrature/tape/accumulators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

namespace retable::treeshap {
namespace {

constexpr std::int32_t kAdd = 1;  // any instruction that is no spill

std::uint32_t Bits(const Instructions& of, std::size_t word) {
  const Float4& four = of.words.at(word / 4);
  const float words[] = {four.x, four.y, four.z, four.w};
  return std::bit_cast<std::uint32_t>(words[word % 4]);
}

// Instructions of one to `most` sums; each sum's number is kept beside its name.
Instructions RandomRun(std::size_t count, std::uint32_t features, std::uint32_t most,
                       std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Instructions run;
  for (std::size_t i = 0; i < count; ++i) {
    run.starts.push_back(run.words.size());
    run.words.push_back({std::bit_cast<float>(kAdd), 0, 0, 0});
    const std::size_t sums = engine() % (most + 1);
    for (std::size_t s = 0; s < sums; ++s) {
      const auto feature = static_cast<std::uint32_t>(engine() % (1 + engine() % features));
      run.sums.push_back(4 * run.words.size() + 3);
      run.words.push_back({static_cast<float>(run.sums.size()), 0, 0,
                           std::bit_cast<float>(feature | tape::kMissingInside)});
    }
  }
  return run;
}

struct Outcome {
  std::map<std::int32_t, double> sums;  // of each feature
  std::size_t longest = 0;              // adds to one sum
};

// Works through the instructions: every sum grows by its number.
Outcome Simulate(const SlottedInstructions& allocated) {
  const Instructions& of = allocated.instructions;
  std::vector<double> sums(allocated.slot_count, 0.0);
  std::vector<std::size_t> adds(allocated.slot_count, 0);
  std::vector<std::set<std::uint32_t>> features(allocated.slot_count);
  Outcome out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < of.starts.size(); ++i) {
    const std::size_t end = i + 1 < of.starts.size() ? of.starts[i + 1] : of.words.size();
    const bool spill = Bits(of, 4 * of.starts[i]) == tape::kSpill;
    const std::size_t count = spill ? Bits(of, 4 * of.starts[i] + 1) : end - of.starts[i] - 1;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t word = 4 * (of.starts[i] + 1) + (spill ? s : 4 * s + 3);
      const std::uint32_t slot = Bits(of, word) >> tape::kSlotShift & tape::kSlotMask;
      if (!spill) {
        sums.at(slot) += std::bit_cast<float>(Bits(of, word - 3));
        features.at(slot).insert(Bits(of, word) & tape::kSlottedFeatureMask);
        EXPECT_NE(Bits(of, word) & tape::kMissingInside, 0u);
        out.longest = std::max(out.longest, ++adds.at(slot));
        continue;
      }
      const std::int32_t feature = allocated.columns.at(column++);
      EXPECT_EQ(features.at(slot), std::set{static_cast<std::uint32_t>(feature)});
      out.sums[feature] += sums.at(slot);
      sums[slot] = 0;
      adds[slot] = 0;
      features[slot].clear();
    }
  }
  EXPECT_EQ(column, allocated.columns.size());
  for (const auto& left : features) EXPECT_TRUE(left.empty()) << "a sum is not written out";
  return out;
}

TEST(AccumulatorSlots, EverySumIsWrittenOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::uint32_t most = 1 + seed % 9;
    const std::uint32_t slots = 1 + seed * 7 % 40;
    const Instructions run = RandomRun(400, 2 + 15 * static_cast<std::uint32_t>(seed), most, seed);
    std::map<std::int32_t, double> want;
    for (std::size_t i = 0; i < run.sums.size(); ++i) {
      const std::uint32_t bits = Bits(run, run.sums[i]);
      want[static_cast<std::int32_t>(bits & tape::kSlottedFeatureMask)] +=
          static_cast<double>(i + 1);
    }
    const SlottedInstructions allocated = AllocateSlots(run, slots);
    const Outcome got = Simulate(allocated);
    EXPECT_EQ(got.sums, want);
    EXPECT_LE(got.longest, kMaxAdds + most);
    EXPECT_LE(allocated.slot_count, std::max(slots, most));
  }
}

// Where all features have slots, only long sums are written before the end.
TEST(AccumulatorSlots, NothingMovesWhereSlotsSuffice) {
  const Instructions run = RandomRun(60, 12, 3, 1);
  const SlottedInstructions allocated = AllocateSlots(run, 40);
  std::set<std::int32_t> features(allocated.columns.begin(), allocated.columns.end());
  EXPECT_EQ(features.size(), allocated.columns.size());
  EXPECT_EQ(allocated.slot_count, features.size());
}

// A loop over one feature too many: the last one used is the best to give up, and the oldest, which
// comes next, the worst.
TEST(AccumulatorSlots, GivesUpWhatComesAgainLast) {
  Instructions run;
  constexpr std::uint32_t kFeatures = 34;
  for (std::uint32_t i = 0; i < 30 * kFeatures; ++i) {
    run.starts.push_back(run.words.size());
    run.sums.push_back(4 * run.words.size() + 3);
    run.words.push_back({0, 0, 0, std::bit_cast<float>(i % kFeatures)});
  }
  EXPECT_LT(AllocateSlots(run, kFeatures - 1).columns.size(), 30u * kFeatures / 3);
}

}  // namespace
}  // namespace retable::treeshap
