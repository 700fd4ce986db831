#include "base/cuda/cards.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>

namespace retable {
namespace {

class Cards : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("RETABLE_EMULATE_DEVICE"); }
};

TEST_F(Cards, AreNamedByTheVariable) {
  EXPECT_EQ(EmulatedCard(), nullptr);
  setenv("RETABLE_EMULATE_DEVICE", "", 1);
  EXPECT_EQ(EmulatedCard(), nullptr);
  setenv("RETABLE_EMULATE_DEVICE", "rtx4090", 1);
  ASSERT_NE(EmulatedCard(), nullptr);
  EXPECT_EQ(EmulatedCard()->capability, 89);
  EXPECT_EQ(EmulatedCard()->shared_per_block, 99u << 10);
  setenv("RETABLE_EMULATE_DEVICE", "rtx4091", 1);
  try {
    EmulatedCard();
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("rtx4091"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("t4, a100"), std::string::npos);
  }
}

TEST_F(Cards, HaveLimitsOfTheirCapability) {
  std::set<std::string_view> names;
  for (const CardLimits& card : PublishedCards()) {
    SCOPED_TRACE(card.name);
    EXPECT_TRUE(names.insert(card.name).second);
    EXPECT_LE(card.shared_per_block, card.shared_per_multiprocessor);
    // From 8.0 on a block leaves 1 KiB to the system.
    EXPECT_EQ(card.shared_per_multiprocessor - card.shared_per_block,
              card.capability < 80 ? 0u : 1024u);
    EXPECT_EQ(card.threads_per_multiprocessor % 512, 0);
  }
}

}  // namespace
}  // namespace retable
