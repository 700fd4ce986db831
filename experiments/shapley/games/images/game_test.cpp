// Image games: masks, odds, the networks that the program carries, and files that are no networks.

#include "experiments/shapley/games/images/game.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/temporary_folder.hpp"
#include "experiments/shapley/games/images/digits_testing.hpp"
#include "experiments/shapley/games/images/ppm.hpp"
#include "experiments/shapley/games/problem.hpp"

namespace retable::experiments {
namespace {

// Logits (sum of the pixels weighted by their position, 0).
class Weighted final : public ImageNetwork {
 public:
  explicit Weighted(std::size_t size) : size_(size) {}
  std::size_t classes() const override { return 2; }
  void logits(std::span<const float> images, std::span<float> logits) const override {
    for (std::size_t k = 0; k < images.size() / size_; ++k) {
      logits[2 * k] = logits[2 * k + 1] = 0;
      for (std::size_t i = 0; i < size_; ++i) {
        logits[2 * k] += static_cast<float>(i + 1) * images[k * size_ + i];
      }
    }
  }

 private:
  std::size_t size_;
};

TEST(ImageGame, TilesOutsideTheCoalitionAreBlack) {
  // Two channels of 4 x 4, tiles of 2 x 2; the value is linear, so Shapley values are the tiles'.
  Image image{2, 4, 4, std::vector<float>(32, 1.0f)};
  const auto network = std::make_shared<Weighted>(32);
  const auto game = MakeImageGame(network, Tiled(image, 2, {0.0f, -1.0f}));
  ASSERT_EQ(game->dimension(), 4);
  const auto exact = shapley::ExactShapleyValues(*game);
  for (std::size_t tile = 0; tile < 4; ++tile) {
    double expected = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t y = i % 16 / 4, x = i % 4;
      if (y / 2 * 2 + x / 2 == tile) expected += static_cast<double>(i + 1) * (i < 16 ? 1 : 2);
    }
    EXPECT_NEAR(exact[tile], expected, 1e-9);
  }
}

// More coalitions than are drawn at a time.
TEST(ImageGame, ManyCoalitionsHaveTheValuesOfEachAlone) {
  const Image image{1, 4, 4, std::vector<float>(16, 1.0f)};
  const auto game = MakeImageGame(std::make_shared<Weighted>(16), Tiled(image, 2, {0.0f}));
  std::vector<std::uint64_t> coalitions(150);
  for (std::size_t k = 0; k < coalitions.size(); ++k) coalitions[k] = k * 7 % 16;
  std::vector<double> together(coalitions.size()), alone(1);
  game->evaluate(coalitions, together);
  for (std::size_t k = 0; k < coalitions.size(); ++k) {
    game->evaluate(std::span(coalitions).subspan(k, 1), alone);
    EXPECT_EQ(together[k], alone[0]) << k;
  }
}

TEST(ImageGame, OddsDoNotOverflow) {
  const std::vector<float> logits = {1000, -1000, 0};
  EXPECT_NEAR(LogOdds(logits, 0), 1000, 1e-9);
  EXPECT_NEAR(LogOdds(logits, 1), -2000, 1e-9);
  const std::vector<float> three = {1, 2, 3};
  const double p = std::exp(3) / (std::exp(1) + std::exp(2) + std::exp(3));
  EXPECT_NEAR(LogOdds(three, 2), std::log(p / (1 - p)), 1e-12);
  const std::vector<float> broken = {1, std::nanf(""), 0};
  EXPECT_TRUE(std::isnan(LogOdds(broken, 0)));
}

TEST(ImageGame, BadInputIsRefused) {
  const Image image{1, 4, 4, std::vector<float>(16, 1.0f)};
  EXPECT_THROW(Tiled(image, 3, {0.0f}), std::invalid_argument);
  EXPECT_THROW(Tiled(image, 2, {}), std::invalid_argument);
  EXPECT_THROW(Tiled({1, 4, 4, {}}, 2, {0.0f}), std::invalid_argument);
  EXPECT_THROW(NetworkFile("letters"), std::invalid_argument);
  EXPECT_THROW(ResolveImages("iris"), harness::UnknownName);
}

// A network whose logits are not finite is refused when its game is played.
TEST(ImageGame, ValuesThatAreNotFiniteAreRefused) {
  Image image{1, 2, 2, {1, 1, std::numeric_limits<float>::infinity(), 1}};
  const auto game = MakeImageGame(std::make_shared<Weighted>(4), Tiled(image, 1, {0.0f}));
  std::vector<double> values(5);
  EXPECT_THROW(shapley::WalksChecked(*game, std::vector<std::int32_t>{0, 1, 2, 3}, values),
               std::invalid_argument);
}

TEST(Networks, TheDigitsAreRead) {
  if (const auto why = WhyNoNetworks()) GTEST_SKIP() << *why;
  const DigitsExamples digits = TestDigits();
  const Image like{1, 8, 8, {}};
  const auto network = ReadOnnx(NetworkFile("digits"), like, 100);
  ASSERT_EQ(network->classes(), 10u);
  std::vector<float> alone(10), logits(digits.labels.size() * 10);
  network->logits(digits.images, logits);
  EXPECT_EQ(digits.labels.size(), 359u);
  EXPECT_GT(static_cast<double>(digits.right(logits)) / 359, 0.97);
  // The same answer in any company.
  network->logits(std::span(digits.images).subspan(64 * 41, 64), alone);
  for (std::size_t c = 0; c < 10; ++c) EXPECT_EQ(alone[c], logits[410 + c]);
}

TEST(Networks, TheFashionNetworkLoads) {
  if (const auto why = WhyNoNetworks()) GTEST_SKIP() << *why;
  const auto network = ReadOnnx(NetworkFile("fashion"), {1, 32, 32, {}}, 3);
  ASSERT_EQ(network->classes(), 10u);
  std::vector<float> logits(10);
  network->logits(std::vector<float>(1024, 0.5f), logits);
  for (const float x : logits) EXPECT_TRUE(std::isfinite(x));
}

TEST(Networks, FilesThatAreNoneAreRefused) {
  EXPECT_THROW(ReadOnnx("not a network", {1, 8, 8, {}}, 1), std::invalid_argument);
  EXPECT_THROW(ReadOnnx("", {1, 8, 8, {}}, 1), std::invalid_argument);
  EXPECT_THROW(ReadOnnx(NetworkFile("digits"), {3, 8, 8, {}}, 1), std::invalid_argument);
}

TEST(Networks, EachDeviceSaysWhatItLacks) {
  EXPECT_EQ(WhyNoNetwork("cpu"), WhyNoNetworks());
  EXPECT_FALSE(WhyNoNetwork("cuda").has_value());
#if !defined(RETABLE_HAS_CUDA)
  EXPECT_THROW(MakeImageProblem("cuda", "digits", 0, 1), std::invalid_argument);
#endif
}

// The user's network is believed by its hash only.
TEST(Networks, AnotherNetworkUnderResNetsNameIsRefused) {
  const TemporaryFolder scratch;
  const auto& folder = scratch.path();
  setenv("RETABLE_IMAGENET", folder.c_str(), 1);
  EXPECT_FALSE(ResolveImages("imagenet")[0].present);
  std::ofstream(folder / "resnet50-v1-12.onnx") << "something else";
  std::ofstream(folder / "a.ppm") << "P6 1 1 255\nxyz";
  EXPECT_TRUE(ResolveImages("imagenet")[0].present);
  try {
    MakeImageProblem("cpu", "imagenet", 0, 1);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& problem) {
    EXPECT_NE(std::string(problem.what()).find("SHA-256"), std::string::npos);
  }
  EXPECT_THROW(MakeImageProblem("cpu", "imagenet", 1, 1), std::invalid_argument);
  EXPECT_THROW(MakeImageProblem("cpu", "digits", 359, 1), std::invalid_argument);
  unsetenv("RETABLE_IMAGENET");
}

TEST(Ppm, PicturesAreRead) {
  const Image image = ReadPpm("P6 # made by hand\n2 1\n255\n\xff\x01\x02\x03\x04\x05", "a.ppm");
  EXPECT_EQ(image.width, 2u);
  EXPECT_EQ(image.height, 1u);
  EXPECT_EQ(image.values[0], 1.0f);           // red of the first
  EXPECT_EQ(image.values[1], 3.0f / 255.0f);  // red of the second
  EXPECT_EQ(image.values[5], 5.0f / 255.0f);  // blue of the second
  EXPECT_EQ(ReadPpm("P5 1 2 255\n\x05\xff", "a.pgm").values,
            (std::vector<float>{5.0f / 255.0f, 1.0f}));
  for (const char* bad :
       {"", "P4 1 1 255\nx", "P5 2 1 255\nx", "P6 2 1 255\n12345", "P6 0 1 255\n",
        "P6 1 1 100\nxyz", "P6 -1 1 255\nxyz", "P6 1", "P6 1 1 255\nxyz\n",
        "P6\r\n1 1\r\n255\r\nxyz", "P6 1 1 255#c\nxyz", "P6 1 1 255xyz", "P6 1 1 255"}) {
    EXPECT_THROW(ReadPpm(bad, "bad.ppm"), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace retable::experiments
