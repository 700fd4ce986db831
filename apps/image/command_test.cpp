// The command as a user calls it, on the program's own network of digits.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "apps/verb_testing.hpp"
#include "base/cuda/devices.hpp"
#include "base/temporary_folder.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/ppm.hpp"

namespace retable::experiments {
namespace {

class ImageCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (int k = 0; k < 64; ++k) pixels_ += static_cast<char>(k % 11 * 23);
    std::ofstream(network_) << NetworkFile("digits");
    std::ofstream(image_) << "P5 8 8 255\n" << pixels_;
  }

  int Call(std::vector<std::string> more) {
    more.insert(more.begin(), {"--network", network_, "--image", image_});
    out_.str("");
    err_.str("");
    return RunVerbNamed("image", more, out_, err_);
  }
  // The last column of the lines after the first.
  std::vector<double> Numbers() const {
    std::vector<double> numbers;
    std::istringstream lines(out_.str());
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
      numbers.push_back(std::stod(line.substr(line.rfind(',') + 1)));
    }
    return numbers;
  }

  TemporaryFolder folder_;
  const std::string network_ = folder_.path() / "digits.onnx", image_ = folder_.path() / "a.pgm";
  std::string pixels_;
  std::ostringstream out_, err_;
};

TEST_F(ImageCommand, LogitsAreTheNetworks) {
  // No tile is needed: the default would not fill the image.
  ASSERT_EQ(Call({"--logits", "--mean", "0.5", "--deviation", "2"}), 0) << err_.str();
  Image image = ReadPpm("P5 8 8 255\n" + pixels_, "a.pgm");
  for (float& value : image.values) value = (value - 0.5f) / 2;
  std::vector<float> want(10);
  MakeLayerNetwork(ReadLayers(NetworkFile("digits"), image))->logits(image.values, want);
  const auto got = Numbers();
  ASSERT_EQ(got.size(), 10u);
  for (std::size_t c = 0; c < 10; ++c) EXPECT_EQ(static_cast<float>(got[c]), want[c]);
}

// Shapley values add up to v(all) - v(nothing), whatever the permutations are; here to float's
// digits, since OpenCV may evaluate them.
TEST_F(ImageCommand, ValuesAddUpToWhatTheTilesChange) {
  ASSERT_EQ(Call({"--tile", "2", "--permutations", "4"}), 0) << err_.str();
  const auto values = Numbers();
  ASSERT_EQ(values.size(), 16u);
  EXPECT_NE(out_.str().find("\n5,2,2,"), std::string::npos) << out_.str();
  const Image image = ReadPpm("P5 8 8 255\n" + pixels_, "a.pgm");
  const std::shared_ptr<const ImageNetwork> network =
      MakeLayerNetwork(ReadLayers(NetworkFile("digits"), image));
  const auto game = MakeImageGame(network, Tiled(image, 2, {0.0f}));
  std::vector<double> ends(2);
  game->evaluate(std::vector<std::uint64_t>{0, 65535}, ends);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), ends[1] - ends[0], 1e-4);
  EXPECT_NE(err_.str().find("16 tiles by 4 permutations"), std::string::npos) << err_.str();
  ASSERT_EQ(Call({"--tile", "2", "--permutations", "3"}), 0) << err_.str();
  EXPECT_EQ(Numbers(), values);  // they come in pairs
  EXPECT_NE(err_.str().find("16 tiles by 4 permutations"), std::string::npos) << err_.str();
}

TEST_F(ImageCommand, WithoutADeviceItSaysWhyAndWhatToDo) {
  const NoDevice& none = WhyNoDevice();
  if (!none.any()) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_EQ(Call({"--tile", "4", "--device", "cuda"}), 2);
  EXPECT_NE(err_.str().find(none.why + "; " + none.remedy), std::string::npos) << err_.str();
}

TEST_F(ImageCommand, WrongWordsAreSaid) {
  EXPECT_EQ(Call({"--tile", "3"}), 2);
  EXPECT_NE(err_.str().find("a.pgm: tiles of 3 do not fill an image of 8 x 8; --tile takes"),
            std::string::npos)
      << err_.str();
  EXPECT_EQ(Call({"--tile", "4", "--mean", "1,2"}), 1);
  EXPECT_NE(err_.str().find("--mean"), std::string::npos) << err_.str();
  EXPECT_EQ(Call({"--tile", "4", "--deviation", "0"}), 1);
  EXPECT_EQ(Call({"--tile", "4", "--deviation", "inf"}), 1);
  EXPECT_EQ(Call({"--tile", "4", "--mean", "nan"}), 1);
  for (const std::string& input : {network_, image_}) {
    const auto size = std::filesystem::file_size(input);
    EXPECT_EQ(Call({"--tile", "4", "--out", input}), 1);
    EXPECT_NE(err_.str().find("would be overwritten"), std::string::npos) << err_.str();
    EXPECT_EQ(std::filesystem::file_size(input), size);
  }
  for (const char* method : {"Guessing", "External"}) {
    EXPECT_EQ(Call({"--tile", "4", "--method", method}), 1);
    EXPECT_NE(err_.str().find("MC-antithetic"), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find(", External"), std::string::npos) << err_.str();
  }
  EXPECT_EQ(Call({"--tile", "2", "--method", "Stratified", "--permutations", "9"}), 1);
  EXPECT_NE(err_.str().find("--permutations: Stratified needs at least 62 for 16 tiles"),
            std::string::npos)
      << err_.str();
  EXPECT_EQ(Call({"--tile", "2", "--method", "Stratified", "--permutations", "62"}), 0);
  std::ofstream(network_) << "no network";
  EXPECT_EQ(Call({"--tile", "4"}), 2);
  EXPECT_NE(err_.str().find("digits.onnx: an ONNX"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace retable::experiments
