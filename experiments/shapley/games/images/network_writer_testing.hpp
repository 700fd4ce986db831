#pragma once
//! @file
//! ONNX files for tests, written operator by operator, each beside its answer for one image by the
//! operator's definition, in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/shapley/games/images/random_networks_testing.hpp"

namespace retable::experiments {

//! Parts of a protocol buffer.
inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
inline std::string NumberField(std::uint64_t field, std::int64_t value) {
  return Varint(field << 3) + Varint(static_cast<std::uint64_t>(value));
}
inline std::string BytesField(std::uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
template <class T>
std::string Raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

using Ints = std::vector<std::int64_t>;

class NetworkWriter {
 public:
  struct Attribute {
    std::string name;
    std::variant<std::int64_t, float, std::string, Ints> value;
  };
  struct Value {
    std::string name;
    ImageShape shape;
    bool vector = false;
    std::vector<double> values;

    double at(int c, int y, int x) const {
      return values[static_cast<std::size_t>((c * shape.height + y) * shape.width + x)];
    }
  };
  //! What Conv and pools share. `automatic`: auto_pad.
  struct Place {
    int height = 1, width = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
    int top = 0, left = 0, bottom = 0, right = 0;
    bool ceil = false;
    std::string automatic = "NOTSET";
  };

  NetworkWriter(const ImageShape& image, std::vector<float> pixels, std::mt19937_64& random)
      : random_(random), image_{"image", image, false, {pixels.begin(), pixels.end()}} {}

  const Value& image() const { return image_; }

  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, int outputs = 1,
                   const std::string& domain = "") {
    std::string node = domain.empty() ? "" : BytesField(7, domain), name;
    for (const auto& input : inputs) node += BytesField(1, input);
    for (int k = 0; k < outputs; ++k) {
      const std::string output = "t" + std::to_string(++count_);
      if (k == 0) name = output;
      node += BytesField(2, output);
    }
    node += BytesField(4, op);
    for (const auto& [attribute, value] : attributes) {
      std::string bytes = BytesField(1, attribute);
      if (const auto* number = std::get_if<std::int64_t>(&value)) bytes += NumberField(3, *number);
      if (const auto* real = std::get_if<float>(&value)) {
        bytes += Varint(2 << 3 | 5) + Raw(std::vector<float>{*real});
      }
      if (const auto* text = std::get_if<std::string>(&value)) bytes += BytesField(4, *text);
      if (const auto* many = std::get_if<Ints>(&value)) {
        for (const std::int64_t one : *many) bytes += NumberField(8, one);
      }
      const std::int64_t types[] = {2, 1, 3, 7};  // of AttributeProto
      bytes += NumberField(20, types[value.index()]);
      node += BytesField(5, bytes);
    }
    graph_ += BytesField(1, node);
    return name;
  }

  //! A constant, by one of the ways that ONNX has. `values` must be floats' values.
  std::string Constant(const Ints& dims, const std::vector<float>& values) {
    const int way = plain ? 0 : Between(0, 4, random_);
    std::string tensor, name = "c" + std::to_string(++count_);
    for (const std::int64_t dim : dims) tensor += NumberField(1, dim);
    tensor += NumberField(2, way == 1 ? 11 : 1) + BytesField(8, name);
    if (way == 1) tensor += BytesField(9, Raw(std::vector<double>(values.begin(), values.end())));
    if (way == 2) tensor += BytesField(4, Raw(values));
    if (way != 1 && way != 2) tensor += BytesField(9, Raw(values));
    if (way == 3) {
      const std::string attribute =
          BytesField(1, "value") + BytesField(5, tensor) + NumberField(20, 4);
      graph_ +=
          BytesField(1, BytesField(2, name) + BytesField(4, "Constant") + BytesField(5, attribute));
      return name;
    }
    graph_ += BytesField(5, tensor);
    if (way == 4) graph_ += BytesField(11, BytesField(1, name));  // a graph input too
    return name;
  }
  std::string Integers(const Ints& values) {
    const std::string name = "i" + std::to_string(++count_);
    graph_ +=
        BytesField(5, NumberField(1, static_cast<std::int64_t>(values.size())) + NumberField(2, 7) +
                          BytesField(8, name) + BytesField(9, Raw(values)));
    return name;
  }

  std::string Boolean(bool value) {
    const std::string name = "b" + std::to_string(++count_);
    graph_ += BytesField(
        5, NumberField(2, 9) + BytesField(8, name) + BytesField(9, std::string(1, value ? 1 : 0)));
    return name;
  }

  //! Each value on its own.
  Value Each(const std::string& op, const Value& x, const std::function<double(double)>& f,
             const std::vector<std::string>& more = {},
             const std::vector<Attribute>& attributes = {}) {
    std::vector<std::string> inputs = {x.name};
    inputs.insert(inputs.end(), more.begin(), more.end());
    Value y = x;
    y.name = Node(op, inputs, attributes);
    for (double& value : y.values) value = f(value);
    return y;
  }

  Value Convolution(const Value& x, int channels, int groups, const Place& place, bool bias) {
    const int inputs = x.shape.channels / groups;
    const float scale = 1 / std::sqrt(static_cast<float>(inputs * place.height * place.width));
    auto weights = RandomFloats(
        static_cast<std::size_t>(channels * inputs * place.height * place.width), random_);
    for (float& weight : weights) weight *= scale;
    const auto biases = RandomFloats(static_cast<std::size_t>(channels), random_);
    std::vector<std::string> names = {
        x.name, Constant({channels, inputs, place.height, place.width}, weights)};
    if (bias) names.push_back(Constant({channels}, biases));
    auto attributes = Attributes(place);
    if (groups > 1) attributes.push_back({"group", std::int64_t{groups}});
    Value y = Sized(x, channels, place);
    y.name = Node("Conv", names, attributes);
    Over(x, y, place, [&](int o, const auto& taps) {
      double sum = bias ? static_cast<double>(biases[static_cast<std::size_t>(o)]) : 0.0;
      const int first = o / (channels / groups) * inputs;
      for (const Tap& tap : taps) {
        if (!tap.inside) continue;
        for (int c = 0; c < inputs; ++c) {
          const int w = ((o * inputs + c) * place.height + tap.row) * place.width + tap.column;
          sum += static_cast<double>(weights[static_cast<std::size_t>(w)]) *
                 x.at(first + c, tap.y, tap.x);
        }
      }
      return sum;
    });
    return y;
  }

  Value Pool(const Value& x, bool maximum, const Place& place, bool count_padding) {
    auto attributes = Attributes(place);
    if (place.ceil) attributes.push_back({"ceil_mode", std::int64_t{1}});
    if (count_padding) attributes.push_back({"count_include_pad", std::int64_t{1}});
    Value y = Sized(x, x.shape.channels, place);
    y.name = Node(maximum ? "MaxPool" : "AveragePool", {x.name}, attributes);
    Over(x, y, place, [&](int c, const auto& taps) {
      double most = -HUGE_VAL, sum = 0;
      int count = 0;
      for (const Tap& tap : taps) {
        if (tap.inside) {
          most = std::max(most, x.at(c, tap.y, tap.x));
          sum += x.at(c, tap.y, tap.x);
        }
        count += tap.inside || (count_padding && tap.padding) ? 1 : 0;
      }
      return maximum ? most : count == 0 ? 0 : sum / count;
    });
    return y;
  }

  //! A mean or a maximum of each plane.
  Value Whole(const Value& x, const std::string& op, bool keep_dims = true) {
    Value y = x;
    y.shape = {x.shape.channels, 1, 1};
    y.vector = !keep_dims;
    if (op == "ReduceMean") {
      const std::vector<Attribute> keep = {{"keepdims", std::int64_t{keep_dims ? 1 : 0}}};
      y.name = Node(op, {x.name, Integers({-1, 2})}, keep);
    } else {
      y.name = Node(op, {x.name});
    }
    const auto pixels = static_cast<std::ptrdiff_t>(x.shape.height) * x.shape.width;
    y.values.clear();
    for (auto at = x.values.begin(); at != x.values.end(); at += pixels) {
      double sum = 0;
      std::for_each(at, at + pixels, [&](double value) { sum += value; });
      y.values.push_back(op == "GlobalMaxPool" ? *std::max_element(at, at + pixels)
                                               : sum / static_cast<double>(pixels));
    }
    return y;
  }

  //! Add, Sub, Mul or Div by a constant, one a channel or one for all, on either side.
  Value WithConstant(const std::string& op, const Value& x, bool swapped, bool each) {
    auto numbers = RandomFloats(static_cast<std::size_t>(each ? x.shape.channels : 1), random_);
    if (op == "Div") {
      for (float& number : numbers) number = std::copysign(std::abs(number) + 1, number);
    }
    const std::int64_t count = static_cast<std::int64_t>(numbers.size());
    const Ints planes = Between(0, 1, random_) == 1 ? Ints{1, count, 1, 1} : Ints{count, 1, 1};
    const Ints vector = Between(0, 1, random_) == 1 ? Ints{1, count} : Ints{count};
    const std::string constant = Constant(!each && Between(0, 1, random_) == 1 ? Ints{}
                                          : x.vector                           ? vector
                                                                               : planes,
                                          numbers);
    Value y = x;
    y.name = swapped ? Node(op, {constant, x.name}) : Node(op, {x.name, constant});
    const std::size_t pixels = x.values.size() / static_cast<std::size_t>(x.shape.channels);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto number = static_cast<double>(numbers[each ? i / pixels : 0]);
      double& value = y.values[i];
      if (op == "Add") value += number;
      if (op == "Sub") value = swapped ? number - value : value - number;
      if (op == "Mul") value *= number;
      if (op == "Div") value /= number;
    }
    return y;
  }

  Value Normalised(const Value& x) {
    const auto channels = static_cast<std::size_t>(x.shape.channels);
    const auto scale = RandomFloats(channels, random_), shift = RandomFloats(channels, random_);
    const auto mean = RandomFloats(channels, random_);
    auto variance = RandomFloats(channels, random_);
    for (float& v : variance) v = v * v + 0.1f;
    const Ints dims = {static_cast<std::int64_t>(channels)};
    Value y = x;
    y.name = Node("BatchNormalization",
                  {x.name, Constant(dims, scale), Constant(dims, shift), Constant(dims, mean),
                   Constant(dims, variance)},
                  {{"epsilon", 1e-3f}});
    const std::size_t pixels = x.values.size() / channels;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto of = [&](const std::vector<float>& v) {
        return static_cast<double>(v[i / pixels]);
      };
      y.values[i] = (x.values[i] - of(mean)) /
                        std::sqrt(of(variance) + static_cast<double>(1e-3f)) * of(scale) +
                    of(shift);
    }
    return y;
  }

  Value Sum(const std::string& op, const std::vector<Value>& parts) {
    Value y = parts[0];
    std::vector<std::string> names;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      names.push_back(parts[k].name);
      for (std::size_t i = 0; k > 0 && i < y.values.size(); ++i) y.values[i] += parts[k].values[i];
    }
    y.name = Node(op, names);
    return y;
  }

  //! x times a tensor of its shape or of one value for each channel, on either side.
  Value Product(const Value& x, const Value& factor, bool swapped = false) {
    Value y = x;
    const std::size_t each = x.values.size() / factor.values.size();
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] *= factor.values[i / each];
    y.name = swapped ? Node("Mul", {factor.name, x.name}) : Node("Mul", {x.name, factor.name});
    return y;
  }

  Value Concat(const std::vector<Value>& parts, std::int64_t axis) {
    Value y = parts[0];
    std::vector<std::string> names = {parts[0].name};
    for (std::size_t k = 1; k < parts.size(); ++k) {
      names.push_back(parts[k].name);
      y.shape.channels += parts[k].shape.channels;
      y.values.insert(y.values.end(), parts[k].values.begin(), parts[k].values.end());
    }
    y.name = Node("Concat", names, {{"axis", axis}});
    return y;
  }

  //! Flatten, Reshape or, of a single pixel, Squeeze.
  Value AsVector(const Value& x) {
    Value y = x;
    const auto size = static_cast<std::int64_t>(x.values.size());
    y.shape = {static_cast<int>(size), 1, 1};
    y.vector = true;
    const bool pixel = x.shape.height * x.shape.width == 1 && !x.vector;
    const int way = plain ? 1 : Between(pixel ? 0 : 1, 5, random_);
    if (way == 0 && pixel) {
      y.name = Node("Squeeze", {x.name, Integers({3, 2})});
    } else if (way <= 2) {
      y.name = Node("Flatten", {x.name}, {{"axis", std::int64_t{1}}});
    } else {
      const Ints shapes[] = {{-1, size}, {0, -1}, {1, size}};
      y.name = Node("Reshape", {x.name, Integers(shapes[way - 3])});
    }
    return y;
  }

  Value Dense(const Value& x, int outputs) {
    const auto inputs = static_cast<int>(x.values.size());
    auto weights = RandomFloats(static_cast<std::size_t>(outputs * inputs), random_);  // [out][in]
    const float scale = 1 / std::sqrt(static_cast<float>(inputs));
    for (float& weight : weights) weight *= scale;
    auto biases = RandomFloats(static_cast<std::size_t>(outputs), random_);
    const int way = plain ? 0 : Between(0, 2, random_);  // Gemm, Gemm with factors, MatMul
    const bool transposed = plain || (way < 2 && Between(0, 1, random_) == 1);
    std::vector<float> stored = weights;
    for (int o = 0; o < outputs && !transposed; ++o) {
      for (int i = 0; i < inputs; ++i) {
        stored[static_cast<std::size_t>(i * outputs + o)] =
            weights[static_cast<std::size_t>(o * inputs + i)];
      }
    }
    const Ints dims = transposed ? Ints{outputs, inputs} : Ints{inputs, outputs};
    Value y = x;
    y.shape = {outputs, 1, 1};
    y.vector = true;
    y.values.clear();
    const double alpha = way == 1 ? 0.5 : 1, beta = way == 1 ? -2 : way == 2 ? 0 : 1;
    for (int o = 0; o < outputs; ++o) {
      double sum = beta * static_cast<double>(biases[static_cast<std::size_t>(o)]);
      for (int i = 0; i < inputs; ++i) {
        sum += alpha * static_cast<double>(weights[static_cast<std::size_t>(o * inputs + i)]) *
               x.values[static_cast<std::size_t>(i)];
      }
      y.values.push_back(sum);
    }
    std::vector<std::string> names = {x.name, Constant(dims, stored)};
    std::vector<Attribute> attributes = {{"transB", std::int64_t{transposed ? 1 : 0}}};
    if (way == 1) attributes.insert(attributes.end(), {{"alpha", 0.5f}, {"beta", -2.0f}});
    if (way < 2) names.push_back(Constant({outputs}, biases));
    y.name =
        Node(way < 2 ? "Gemm" : "MatMul", names, way < 2 ? attributes : std::vector<Attribute>{});
    return y;
  }

  //! The file. `dims`: the image's declared shape.
  std::string Bytes(const Value& output, const Ints& dims = {}) const {
    const auto classes = static_cast<std::int64_t>(output.values.size());
    const std::string graph = graph_ + BytesField(11, Info("image", dims)) +
                              BytesField(12, Info(output.name, {0, classes}));
    // ir_version, graph, opset_import
    return NumberField(1, 7) + BytesField(7, graph) + BytesField(8, NumberField(2, 13));
  }

  bool plain = false;  //!< only what OpenCV reads rightly too

 private:
  struct Tap {
    int row, column, y, x;
    bool inside, padding;  // in the image; in it or its padding
  };

  // 0: a dimension by name.
  static std::string Info(const std::string& name, const Ints& dims) {
    std::string shape;
    for (const std::int64_t dim : dims) {
      shape += BytesField(1, dim > 0 ? NumberField(1, dim) : BytesField(2, "batch"));
    }
    return BytesField(1, name) +
           BytesField(2, BytesField(1, NumberField(1, 1) + BytesField(2, shape)));
  }

  static std::vector<Attribute> Attributes(const Place& place) {
    std::vector<Attribute> all = {{"kernel_shape", Ints{place.height, place.width}},
                                  {"strides", Ints{place.stride_y, place.stride_x}}};
    if (place.automatic != "NOTSET") {
      all.push_back({"auto_pad", place.automatic});
    } else {
      all.push_back({"pads", Ints{place.top, place.left, place.bottom, place.right}});
    }
    if (place.dilation_y * place.dilation_x > 1) {
      all.push_back({"dilations", Ints{place.dilation_y, place.dilation_x}});
    }
    return all;
  }

  // The padding that auto_pad stands for.
  static Place Padded(const Value& x, Place place) {
    const auto axis = [&](int in, int kernel, int stride, int& before, int& after) {
      const int out = (in + stride - 1) / stride;
      const int both = std::max(0, (out - 1) * stride + kernel - in);
      before = place.automatic == "SAME_LOWER" ? (both + 1) / 2 : both / 2;
      after = both - before;
    };
    if (place.automatic == "VALID") place.top = place.left = place.bottom = place.right = 0;
    if (!place.automatic.starts_with("SAME")) return place;
    axis(x.shape.height, (place.height - 1) * place.dilation_y + 1, place.stride_y, place.top,
         place.bottom);
    axis(x.shape.width, (place.width - 1) * place.dilation_x + 1, place.stride_x, place.left,
         place.right);
    return place;
  }

  static Value Sized(const Value& x, int channels, const Place& place) {
    const Place p = Padded(x, place);
    const auto out = [&](int in, int before, int after, int reach, int stride) {
      const double steps = static_cast<double>(in + before + after - reach) / stride;
      int count = static_cast<int>(p.ceil ? std::ceil(steps) : std::floor(steps)) + 1;
      while (p.ceil && (count - 1) * stride >= in + before) --count;
      return count;
    };
    Value y = x;
    y.shape = {channels,
               out(x.shape.height, p.top, p.bottom, (p.height - 1) * p.dilation_y + 1, p.stride_y),
               out(x.shape.width, p.left, p.right, (p.width - 1) * p.dilation_x + 1, p.stride_x)};
    return y;
  }

  // Values of y by f(channel, all places that a window looks at).
  template <class F>
  static void Over(const Value& x, Value& y, const Place& place, const F& f) {
    const Place p = Padded(x, place);
    y.values.clear();
    for (int c = 0; c < y.shape.channels; ++c) {
      for (int row = 0; row < y.shape.height; ++row) {
        for (int column = 0; column < y.shape.width; ++column) {
          std::vector<Tap> taps;
          for (int i = 0; i < p.height; ++i) {
            for (int j = 0; j < p.width; ++j) {
              const int at_y = row * p.stride_y - p.top + i * p.dilation_y;
              const int at_x = column * p.stride_x - p.left + j * p.dilation_x;
              const bool inside =
                  at_y >= 0 && at_y < x.shape.height && at_x >= 0 && at_x < x.shape.width;
              taps.push_back({i, j, at_y, at_x, inside,
                              at_y < x.shape.height + p.bottom && at_x < x.shape.width + p.right});
            }
          }
          y.values.push_back(f(c, taps));
        }
      }
    }
  }

  std::mt19937_64& random_;
  Value image_;
  std::string graph_;
  int count_ = 0;
};

//! A network of `steps` operators drawn from all that are read, then a dense layer of `classes`,
//! and what it answers to the image.
struct WrittenNetwork {
  std::string bytes;
  std::vector<double> logits;
};

class RandomOperators {
 public:
  using Value = NetworkWriter::Value;

  RandomOperators(const ImageShape& image, const std::vector<float>& pixels, bool plain,
                  std::mt19937_64& random)
      : random_(random), writer_(image, pixels, random), values_{writer_.image()} {
    writer_.plain = plain;
  }

  WrittenNetwork Write(int steps, int classes) {
    const ImageShape image = values_[0].shape;
    for (int k = 0; k < steps; ++k) Step();
    Value x = values_.back();
    if (writer_.plain || (!x.vector && Between(0, 1, random_) == 1)) {
      x = writer_.Whole(x, writer_.plain ? "GlobalAveragePool" : "ReduceMean", writer_.plain);
    }
    x = writer_.AsVector(x);
    if (!writer_.plain && Between(0, 1, random_) == 1) x = AnyEach(x);
    x = writer_.Dense(x, classes);
    const std::vector<double> logits = x.values;
    if (Between(0, 2, random_) == 0) {
      x.name = writer_.Node(Between(0, 1, random_) == 1 ? "Softmax" : "LogSoftmax", {x.name},
                            {{"axis", std::int64_t{Between(0, 1, random_) == 1 ? 1 : -1}}});
      if (!writer_.plain) x.name = writer_.Node("Identity", {x.name});
    }
    const Ints dims = {0, image.channels, image.height, image.width};
    return {writer_.Bytes(x, dims), logits};
  }

 private:
  int Draw(int low, int high) { return Between(low, high, random_); }

  NetworkWriter::Place AnyPlace(const ImageShape& in, bool pool) {
    NetworkWriter::Place place;
    const bool dilates = !(writer_.plain && pool) && Draw(0, 2) == 0;
    place.dilation_y = dilates ? Draw(1, 3) : 1;
    place.dilation_x = dilates ? Draw(1, 3) : 1;
    place.stride_y = Draw(1, 3);
    place.stride_x = writer_.plain ? place.stride_y : Draw(1, 4);
    place.height = Draw(1, 4);
    place.width = Draw(1, 4);
    const int reach_y = (place.height - 1) * place.dilation_y;
    const int reach_x = (place.width - 1) * place.dilation_x;
    // Room for the kernel; a pool's padding stays below its reach.
    const int most = writer_.plain ? 1 : 3;
    const auto pad = [&](int reach) { return Draw(0, pool ? std::min(reach, most) : most); };
    place.top = pad(reach_y);
    place.left = pad(reach_x);
    place.bottom = writer_.plain ? place.top : pad(reach_y);
    place.right = writer_.plain ? place.left : pad(reach_x);
    const bool fits = in.height + place.top + place.bottom > reach_y &&
                      in.width + place.left + place.right > reach_x;
    if (!writer_.plain && Draw(0, 3) == 0) {
      place.automatic = fits && Draw(0, 1) == 0 ? "NOTSET"
                        : Draw(0, 1) == 1       ? "SAME_UPPER"
                                                : "SAME_LOWER";
    }
    if (!fits && place.automatic == "NOTSET") return {};
    place.ceil = pool && !writer_.plain && place.automatic == "NOTSET" && Draw(0, 1) == 1;
    return place;
  }

  Value AnyEach(const Value& x) {
    const auto& r = [&](float low, float high) {
      return std::uniform_real_distribution<float>(low, high)(random_);
    };
    const float a = r(0.05f, 2), b = r(-1, 1);
    const double da = static_cast<double>(a), db = static_cast<double>(b);
    const auto exp1 = [](double v) { return std::expm1(v); };
    const auto hard = [](double v) { return std::clamp(v / 6 + 0.5, 0.0, 1.0); };
    switch (writer_.plain ? Draw(0, 3) : Draw(0, 13)) {
      case 0:
        return writer_.Each("Relu", x, [](double v) { return std::max(v, 0.0); });
      case 1:
        return writer_.Each("Sigmoid", x, [](double v) { return 1 / (1 + std::exp(-v)); });
      case 2:
        return writer_.Each("Tanh", x, [](double v) { return std::tanh(v); });
      case 3:
        return writer_.Each("LeakyRelu", x, [=](double v) { return v < 0 ? da * v : v; }, {},
                            {{"alpha", a}});
      case 4:
        return writer_.Each("Elu", x, [=](double v) { return v < 0 ? da * exp1(v) : v; }, {},
                            {{"alpha", a}});
      case 5:
        return writer_.Each("Selu", x, [=](double v) {
          const double gamma = 1.05070102214813232421875, alpha = 1.67326319217681884765625;
          return gamma * (v < 0 ? alpha * exp1(v) : v);
        });
      case 6:
        return writer_.Each("HardSigmoid", x,
                            [=](double v) { return std::clamp(da * v + db, 0.0, 1.0); }, {},
                            {{"alpha", a}, {"beta", b}});
      case 7:
        return writer_.Each("HardSwish", x, [=](double v) { return v * hard(v); });
      case 8:
        return writer_.Each("Softsign", x, [](double v) { return v / (1 + std::abs(v)); });
      case 9:
        return writer_.Each("Clip", x, [=](double v) { return std::clamp(v, db, db + 1); },
                            {writer_.Constant({}, {b}), writer_.Constant({}, {b + 1})});
      case 10:
        return writer_.Each("Clip", x, [=](double v) { return std::max(v, db); }, {}, {{"min", b}});
      case 11:
        return writer_.Each("Dropout", x, [](double v) { return v; });
      case 12:
        return writer_.Each("Identity", x, [](double v) { return v; });
      default: {
        const char* ops[] = {"Add", "Sub", "Mul", "Div"};
        const int op = Draw(0, 3);
        return writer_.WithConstant(ops[op], x, op < 3 && Draw(0, 1) == 1, Draw(0, 1) == 1);
      }
    }
  }

  // Another tensor of x's shape, or x itself.
  const Value& Beside(const Value& x, bool whole_shape) {
    const Value* found = &x;
    for (const Value& other : values_) {
      const bool same = other.shape.height == x.shape.height &&
                        other.shape.width == x.shape.width &&
                        (!whole_shape || other.shape.channels == x.shape.channels);
      if (same && Draw(0, 1) == 1) found = &other;
    }
    return *found;
  }

  void Step() {
    const Value x = values_[static_cast<std::size_t>(Draw(
        std::max(0, static_cast<int>(values_.size()) - 3), static_cast<int>(values_.size()) - 1))];
    const int channels = x.shape.channels;
    switch (Draw(0, 10)) {
      case 0:
      case 1:
        return Push(
            writer_.Convolution(x, Draw(1, 30), 1, AnyPlace(x.shape, false), Draw(0, 1) == 1));
      case 2: {
        int groups = Draw(1, channels);
        while (channels % groups != 0) --groups;
        if (Draw(0, 1) == 1) groups = channels;
        return Push(writer_.Convolution(x, groups * Draw(1, 9), groups, AnyPlace(x.shape, false),
                                        Draw(0, 1) == 1));
      }
      case 3:
        return Push(writer_.Pool(x, true, AnyPlace(x.shape, true), false));
      case 4:
        return Push(
            writer_.Pool(x, false, AnyPlace(x.shape, true), !writer_.plain && Draw(0, 1) == 1));
      case 5:
        return Push(writer_.Normalised(x));
      case 6: {
        std::vector<Value> parts = {x, Beside(x, true)};
        if (!writer_.plain && Draw(0, 2) == 0) parts.push_back(Beside(x, true));
        return Push(writer_.Sum(parts.size() == 2 && Draw(0, 1) == 1 ? "Add" : "Sum", parts));
      }
      case 7: {
        std::vector<Value> parts;
        for (int k = Draw(writer_.plain ? 2 : 1, 3); k > 0; --k) parts.push_back(Beside(x, false));
        if (parts.size() * 30 > 1 && channels > 60) parts.resize(1);
        return Push(writer_.Concat(parts, writer_.plain || Draw(0, 1) == 1 ? 1 : -3));
      }
      case 8: {  // a gate, a value times its activation, or any other tensor
        const int kind = writer_.plain ? 1 : Draw(0, 2);
        const Value factor =
            kind == 0 ? writer_.Whole(AnyEach(x), "GlobalAveragePool")
            : kind == 1
                ? writer_.Each("Sigmoid", x, [](double v) { return 1 / (1 + std::exp(-v)); })
                : Beside(x, true);
        return Push(writer_.Product(x, factor, !writer_.plain && Draw(0, 1) == 1));
      }
      default:
        return Push(AnyEach(x));
    }
  }

  void Push(Value value) { values_.push_back(std::move(value)); }

  std::mt19937_64& random_;
  NetworkWriter writer_;
  std::vector<Value> values_;
};

inline WrittenNetwork RandomWrittenNetwork(const ImageShape& image,
                                           const std::vector<float>& pixels, int steps, int classes,
                                           bool plain, std::mt19937_64& random) {
  return RandomOperators(image, pixels, plain, random).Write(steps, classes);
}

}  // namespace retable::experiments
