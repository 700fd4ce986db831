// ONNX operators by their definitions, one by one and in random networks; files that are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/seed_testing.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/network_writer_testing.hpp"

namespace retable::experiments {
namespace {

Image ImageOf(const ImageShape& shape, std::vector<float> values = {}) {
  return {static_cast<std::size_t>(shape.channels), static_cast<std::size_t>(shape.height),
          static_cast<std::size_t>(shape.width), std::move(values)};
}

std::vector<float> Logits(const std::string& bytes, const Image& image) {
  const auto network = MakeLayerNetwork(ReadLayers(bytes, image));
  std::vector<float> logits(network->classes());
  network->logits(image.values, logits);
  return logits;
}

//! The largest difference, over one and the largest of the values wanted.
double Far(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double far = 0, size = 1;
  for (std::size_t c = 0; c < want.size(); ++c) {
    if (!std::isfinite(got[c]) || !std::isfinite(want[c])) return HUGE_VAL;
    far = std::max(far, std::abs(static_cast<double>(got[c]) - want[c]));
    size = std::max(size, std::abs(want[c]));
  }
  return far / size;
}

ImageShape AnyShape(std::mt19937_64& random) {
  return {Between(1, 5, random), Between(1, 12, random), Between(1, 12, random)};
}

TEST(Operators, RandomNetworksAnswerByTheDefinitions) {
  std::mt19937_64 random(FreshSeed());
  int finite = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const ImageShape shape = AnyShape(random);
    const Image image = ImageOf(shape, RandomFloats(shape.size(), random));
    const int steps = Between(0, 9, random), classes = Between(1, 30, random);
    const auto written = RandomWrittenNetwork(shape, image.values, steps, classes, false, random);
    // A dilated maximum may see nothing but padding.
    const auto& logits = written.logits;
    if (!std::all_of(logits.begin(), logits.end(), [](double x) { return std::isfinite(x); })) {
      continue;
    }
    ++finite;
    ASSERT_LT(Far(Logits(written.bytes, image), written.logits), 2e-4) << "trial " << trial;
  }
  EXPECT_GT(finite, 300);
}

TEST(Operators, RandomNetworksAgreeWithOpenCv) {
  if (const auto why = WhyNoNetworks()) GTEST_SKIP() << *why;
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const ImageShape shape{Between(1, 4, random), Between(6, 14, random), Between(6, 14, random)};
    const Image image = ImageOf(shape, RandomFloats(shape.size(), random));
    const auto written = RandomWrittenNetwork(shape, image.values, Between(1, 6, random),
                                              Between(2, 9, random), true, random);
    const auto other = ReadOnnx(written.bytes, image, 1);
    std::vector<float> theirs(other->classes());
    other->logits(image.values, theirs);
    ASSERT_LT(Far(theirs, written.logits), 2e-4) << "trial " << trial;
    ASSERT_LT(Far(Logits(written.bytes, image), {theirs.begin(), theirs.end()}), 2e-4)
        << "trial " << trial;
  }
}

// Kernels larger than the image, strides beyond the kernel, odd padding, a section for each
// channel, images of one pixel.
TEST(Operators, WindowsOfEveryKindAreTheDefinitions) {
  std::mt19937_64 random(12);
  using Place = NetworkWriter::Place;
  const std::vector<Place> places = {
      {},
      {.height = 5, .width = 5, .top = 2, .left = 2, .bottom = 2, .right = 2},
      {.height = 5, .width = 3, .top = 4, .left = 2, .bottom = 4, .right = 2},
      {.height = 1, .width = 2, .stride_y = 3, .stride_x = 4, .left = 1, .right = 0},
      {.height = 2,
       .width = 2,
       .stride_y = 5,
       .stride_x = 5,
       .top = 1,
       .left = 0,
       .bottom = 1,
       .right = 1},
      {.height = 3,
       .width = 2,
       .dilation_y = 2,
       .dilation_x = 3,
       .top = 3,
       .left = 3,
       .bottom = 2,
       .right = 3},
      {.height = 3,
       .width = 3,
       .stride_y = 2,
       .stride_x = 2,
       .top = 1,
       .left = 1,
       .bottom = 1,
       .right = 1,
       .ceil = true},
      {.height = 4, .width = 4, .stride_y = 3, .stride_x = 2, .automatic = "SAME_UPPER"},
      {.height = 4, .width = 4, .stride_y = 3, .stride_x = 2, .automatic = "SAME_LOWER"},
      {.height = 1, .width = 1, .stride_y = 2, .automatic = "VALID"},
  };
  for (const ImageShape& shape : {ImageShape{4, 1, 1}, ImageShape{2, 1, 7}, ImageShape{6, 9, 4}}) {
    const Image image = ImageOf(shape, RandomFloats(shape.size(), random));
    for (std::size_t k = 0; k < places.size(); ++k) {
      const Place& place = places[k];
      const bool fits =
          place.automatic.starts_with("SAME") ||
          ((place.height - 1) * place.dilation_y < shape.height + place.top + place.bottom &&
           (place.width - 1) * place.dilation_x < shape.width + place.left + place.right);
      if (!fits) continue;
      for (int way = 0; way < 5; ++way) {
        NetworkWriter writer(shape, image.values, random);
        const auto& x = writer.image();
        Place floor = place;
        floor.ceil = false;
        const auto y = way == 0 ? writer.Convolution(x, 5, 1, floor, true)
                       : way == 1
                           ? writer.Convolution(x, 2 * shape.channels, shape.channels, floor, false)
                       : way == 2 ? writer.Pool(x, true, place, false)
                                  : writer.Pool(x, false, place, way == 4);
        // Of a dilated window there may be nothing in the image.
        if (y.values[0] == -HUGE_VAL || y.values.back() == -HUGE_VAL) continue;
        EXPECT_LT(Far(Logits(writer.Bytes(y), image), y.values), 1e-5)
            << "place " << k << " way " << way;
      }
    }
  }
}

TEST(Operators, FunctionsAreAccurate) {
  for (float x = -100; x < 100; x += 0.0137f) {
    const double d = static_cast<double>(x);
    const auto apply = [x](Function::Kind kind) {
      return static_cast<double>(Apply({kind, 1, 1}, x));
    };
    const double exp1 = std::expm1(std::clamp(d, -87.0, 88.0));
    ASSERT_NEAR(static_cast<double>(Expm1(x)), exp1, 4e-7 * std::abs(exp1)) << x;
    ASSERT_NEAR(apply(Function::Kind::kTanh), std::tanh(d), 4e-7 * std::abs(std::tanh(d))) << x;
    ASSERT_NEAR(apply(Function::Kind::kSigmoid), 1 / (1 + std::exp(-d)), 3e-7) << x;
  }
  EXPECT_TRUE(std::isnan(Expm1(std::nanf(""))));
  EXPECT_EQ(Apply({Function::Kind::kTanh}, HUGE_VALF), 1.0f);
  EXPECT_EQ(Apply({Function::Kind::kElu, 1, 1}, -HUGE_VALF), -1.0f);
}

// How many layers a network needs.
std::size_t LayersOf(const NetworkWriter& writer, const NetworkWriter::Value& y) {
  return ReadLayers(writer.Bytes(y), ImageOf(writer.image().shape)).layers.size();
}

TEST(Operators, WhatActsOnValuesJoinsTheLayerBefore) {
  std::mt19937_64 random(13);
  const ImageShape shape{3, 5, 4};
  const auto pixels = RandomFloats(shape.size(), random);
  const auto same = [](double v) { return v; };
  const auto writer = [&] { return NetworkWriter(shape, pixels, random); };
  {
    NetworkWriter w = writer();  // one convolution
    const auto y = w.Normalised(w.Convolution(w.image(), 3, 1, {}, false));
    const auto sum = w.Sum("Add", {y, w.image()});
    EXPECT_EQ(LayersOf(w, w.Each("Softmax", w.AsVector(w.Each("Relu", sum, same)), same)), 1u);
  }
  {
    NetworkWriter w =
        writer();  // the convolution is read twice: its sum and both activations are new
    const auto y = w.Convolution(w.image(), 3, 1, {}, false);
    EXPECT_EQ(LayersOf(w, w.Sum("Add", {w.Each("Relu", y, same), w.Each("Tanh", y, same)})), 3u);
  }
  {
    NetworkWriter w = writer();  // a copy of two tensors, and the normalisation with it
    const auto y = w.Convolution(w.image(), 4, 1, {}, true);
    EXPECT_EQ(LayersOf(w, w.Each("Relu", w.Normalised(w.Concat({y, w.image()}, 1)), same)), 2u);
  }
  {
    NetworkWriter w = writer();  // x * sigmoid(x): the activation and the product are one layer
    const auto y = w.Convolution(w.image(), 4, 1, {}, true);
    EXPECT_EQ(LayersOf(w, w.Each("Relu", w.Product(y, w.Each("Sigmoid", y, same)), same)), 2u);
  }
  {
    NetworkWriter w = writer();  // nobody reads the second layer
    const auto y = w.Convolution(w.image(), 4, 1, {}, true);
    w.Normalised(w.Convolution(y, 4, 1, {}, true));
    EXPECT_EQ(LayersOf(w, y), 1u);
  }
}

// Twelve channels of a pixel each, seen as three of four pixels: the factors are of the three.
TEST(Operators, AFactorOfEachChannelIsOfTheChannelsOfItsView) {
  std::mt19937_64 random(15);
  const Image image = ImageOf({3, 2, 2}, RandomFloats(12, random));
  for (const bool function : {false, true}) {
    NetworkWriter w({3, 2, 2}, image.values, random);
    auto y = w.Pool(w.image(), true, {}, false);
    y.name = w.Node("Reshape", {y.name, w.Integers({0, 12, 1, 1})});
    y.shape = {12, 1, 1};
    y = w.Normalised(y);
    if (function) y = w.Each("Tanh", y, [](double v) { return std::tanh(v); });
    y.name = w.Node("Reshape", {y.name, w.Integers({0, 3, 2, 2})});
    y.shape = {3, 2, 2};
    y = w.Product(y, w.Whole(w.image(), "GlobalMaxPool"));
    EXPECT_LT(Far(Logits(w.Bytes(y), image), y.values), 1e-5) << function;
  }
}

TEST(Operators, ADropoutThatDoesNotTrainIsACopy) {
  std::mt19937_64 random(16);
  const Image image = ImageOf({2, 3, 3}, RandomFloats(18, random));
  NetworkWriter w({2, 3, 3}, image.values, random);
  auto y = w.Pool(w.image(), true, {}, false);
  y.name = w.Node("Dropout", {y.name, w.Constant({}, {0.5f}), w.Boolean(false)});
  EXPECT_LT(Far(Logits(w.Bytes(y), image), y.values), 1e-7);
}

TEST(Operators, HalfFloatsAreRead) {
  // 1, -2, the least above zero, 65504.
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc000, 0x0001, 0x7bff};
  const auto tensor = [&](const std::string& values) {
    return BytesField(5, NumberField(1, 4) + NumberField(2, 10) + BytesField(8, "c") + values);
  };
  std::string packed;
  for (const std::uint16_t half : halves) packed += Varint(half);
  const std::string node = BytesField(
      1, BytesField(1, "image") + BytesField(1, "c") + BytesField(2, "y") + BytesField(4, "Mul"));
  const std::string ends =
      BytesField(
          11,
          BytesField(1, "image") +
              BytesField(2, BytesField(1, BytesField(2, BytesField(1, "") + BytesField(1, ""))))) +
      BytesField(12, BytesField(1, "y"));
  for (const std::string& values : {BytesField(9, Raw(halves)), BytesField(5, packed)}) {
    const auto got = Logits(BytesField(7, tensor(values) + node + ends), {4, 1, 1, {1, 1, 1, 1}});
    EXPECT_EQ(got, (std::vector<float>{1, -2, std::ldexp(1.0f, -24), 65504}));
  }
}

std::string WhyRefused(const std::string& bytes, const Image& like) {
  try {
    ReadLayers(bytes, like);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "not refused";
}

TEST(Operators, WhatIsNotReadIsRefusedByName) {
  std::mt19937_64 random(14);
  const ImageShape shape{2, 4, 4};
  const auto pixels = RandomFloats(shape.size(), random);
  using Write = std::function<std::string(NetworkWriter&)>;
  const auto node = [](const char* op,
                       const std::vector<NetworkWriter::Attribute>& attributes = {}) {
    return [op, attributes](NetworkWriter& w) { return w.Node(op, {"image"}, attributes); };
  };
  const std::pair<const char*, Write> cases[] = {
      {"operator Transpose", node("Transpose")},
      {"Softmax of planes", node("Softmax", {{"axis", std::int64_t{1}}})},
      {"Softmax along another", node("Softmax", {{"axis", std::int64_t{2}}})},
      {"Concat along another", node("Concat", {{"axis", std::int64_t{2}}})},
      {"Flatten along another", node("Flatten", {{"axis", std::int64_t{2}}})},
      {"kernel larger", node("MaxPool", {{"kernel_shape", Ints{5, 5}}})},
      {"kernel", node("MaxPool")},
      {"padding", node("MaxPool", {{"kernel_shape", Ints{1, 1}}, {"pads", Ints{1, 1, 1, 1}}})},
      {"pads of AveragePool", node("AveragePool", {{"kernel_shape", Ints{1, 1}}, {"pads", Ints{-1, 0, 0, 0}}})},
      {"two dimensions", node("AveragePool", {{"kernel_shape", Ints{1}}})},
      {"auto_pad", node("MaxPool", {{"kernel_shape", Ints{1, 1}}, {"auto_pad", "SAME"}})},
      {"strides", node("MaxPool", {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{0, 1}}})},
      {"ReduceMean along", node("ReduceMean", {{"axes", Ints{1}}})},
      {"Squeeze", node("Squeeze")},
      {"training", node("BatchNormalization", {{"training_mode", std::int64_t{1}}})},
      {"BatchNormalization of 1 inputs", node("BatchNormalization")},
      {"its output is its image", node("Identity")},
      {"a tensor and a constant", [](NetworkWriter& w) { return w.Node("Div", {"image", "image"}); }},
      {"Mul of 2 x 4 x 4 and 1 x 4 x 4", [](NetworkWriter& w) {
         return w.Node("Mul", {"image", w.Node("Conv", {"image", w.Constant({1, 2, 1, 1}, {1, 2})})});
       }},
      {"Mul of other than two", [](NetworkWriter& w) { return w.Node("Mul", {"image", "image", "image"}); }},
      {"nothing makes the tensor \"lost\"", [](NetworkWriter& w) { return w.Node("Relu", {"lost"}); }},
      {"a Softmax before the end",
       [](NetworkWriter& w) { return w.Node("Relu", {w.Node("Softmax", {w.Node("Flatten", {"image"})})}); }},
      {"a Softmax before the end",
       [](NetworkWriter& w) {
         return w.Node("LogSoftmax", {w.Node("Softmax", {w.Node("Flatten", {"image"})})});
       }},
      {"the operator Relu of the domain my.own",
       [](NetworkWriter& w) { return w.Node("Relu", {"image"}, {}, 1, "my.own"); }},
      {"Dropout in training", [](NetworkWriter& w) {
         return w.Node("Dropout", {"image", w.Constant({}, {0.5f}), w.Boolean(true)});
       }},
      {"number for each channel",
       [](NetworkWriter& w) { return w.Node("Add", {"image", w.Constant({4}, {1, 2, 3, 4})}); }},
      {"no constant", [](NetworkWriter& w) { return w.Node("Add", {"image", w.Integers({1})}); }},
      {"Add of 2 x 1 x 1 and 2 x 4 x 4",
       [](NetworkWriter& w) { return w.Node("Add", {"image", w.Node("GlobalMaxPool", {"image"})}); }},
      {"Concat of", [](NetworkWriter& w) {
         return w.Node("Concat", {"image", w.Node("GlobalMaxPool", {"image"})}, {{"axis", std::int64_t{1}}});
       }},
      {"one output", [](NetworkWriter& w) {
         const auto pool = w.Node("MaxPool", {"image"}, {{"kernel_shape", Ints{1, 1}}}, 2);
         return w.Node("Add", {pool, "t2"});
       }},
      {"Gemm with the image on the right", [](NetworkWriter& w) {
         return w.Node("Gemm", {w.Node("Flatten", {"image"}), w.Constant({32, 1}, std::vector<float>(32))},
                       {{"transA", std::int64_t{1}}});
       }},
      {"MatMul of 16 values", [](NetworkWriter& w) {
         return w.Node("MatMul", {w.Node("Flatten", {"image"}), w.Constant({16, 1}, std::vector<float>(16))});
       }},
      {"3 groups", [](NetworkWriter& w) {
         return w.Node("Conv", {"image", w.Constant({3, 1, 1, 1}, {1, 2, 3})}, {{"group", std::int64_t{3}}});
       }},
      {"4 dimensions", [](NetworkWriter& w) { return w.Node("Conv", {"image", w.Constant({2, 2, 1}, {1, 2, 3, 4})}); }},
      {"too large", [](NetworkWriter& w) {
         const Ints pads(4, 1 << 20);
         return w.Node("Conv", {"image", w.Constant({1, 2, 1, 1}, {1, 2})}, {{"pads", pads}});
       }},
      {"2 or 4 dimensions", [](NetworkWriter& w) { return w.Node("Reshape", {"image", w.Integers({1, 3, -1})}); }},
      {"Reshape of 2 x 4 x 4", [](NetworkWriter& w) { return w.Node("Reshape", {"image", w.Integers({0, 33})}); }},
  };
  for (const auto& [why, write] : cases) {
    NetworkWriter writer(shape, pixels, random);
    writer.plain = true;
    NetworkWriter::Value y = writer.image();
    y.name = write(writer);
    const std::string said = WhyRefused(writer.Bytes(y), ImageOf(shape));
    EXPECT_NE(said.find(why), std::string::npos) << why << ": " << said;
  }
  NetworkWriter writer(shape, pixels, random);
  const auto y = writer.Pool(writer.image(), true, {}, false);
  EXPECT_EQ(WhyRefused(writer.Bytes(y, {0, 2, 0, 4}), ImageOf(shape)), "not refused");
  EXPECT_NE(WhyRefused(writer.Bytes(y, {0, 3, 4, 4}), ImageOf(shape)).find("2 x 4 x 4"),
            std::string::npos);
  EXPECT_NE(WhyRefused(writer.Bytes(y, {0, 32}), ImageOf(shape)).find("vector"), std::string::npos);
}

}  // namespace
}  // namespace retable::experiments
