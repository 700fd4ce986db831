#include "experiments/shuffle/shuffle_command.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace retable::experiments {
namespace {

TEST(ShuffleCommand, WritesBits) {
  std::ostringstream out, again, err;
  const std::vector<std::string> words = {"bits", "--method", "Partition", "--items",
                                          "100",  "--mib",    "0.01"};
  EXPECT_EQ(ShuffleCommand(words, out, err), 0) << err.str();
  EXPECT_EQ(out.str().size(), 10485u);
  EXPECT_EQ(ShuffleCommand(words, again, err), 0);
  EXPECT_EQ(out.str(), again.str());
}

TEST(ShuffleCommand, BatteryTellsGoodFromBad) {
  std::ostringstream out, err;
  EXPECT_EQ(
      ShuffleCommand({"battery", "--method", "Fisher-Yates", "--items", "16", "--samples", "2000"},
                     out, err),
      0)
      << out.str();
  EXPECT_EQ(
      ShuffleCommand({"battery", "--method", "VarPhilox 24", "--items", "16", "--samples", "2000"},
                     out, err),
      3)
      << out.str();
  EXPECT_NE(out.str().find("parity"), std::string::npos);
}

TEST(ShuffleCommand, WrongUsageIsNamed) {
  std::ostringstream out, err;
  EXPECT_EQ(ShuffleCommand({"battery", "--method", "nonesuch"}, out, err), 1);
  EXPECT_NE(err.str().find("Fisher-Yates"), std::string::npos);
  EXPECT_EQ(ShuffleCommand({}, out, err), 1);
  EXPECT_EQ(ShuffleCommand({"bits", "--method", "LCG", "--items", "1"}, out, err), 1);
}

}  // namespace
}  // namespace retable::experiments
