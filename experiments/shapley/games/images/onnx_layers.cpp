// The operators of ONNX that classifiers of images consist of, as layers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "experiments/shapley/games/images/layers.hpp"
#include "experiments/shapley/games/images/onnx_file.hpp"

namespace retable::experiments {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::size_t kMostValues = std::size_t{1} << 28;  // of one tensor
constexpr std::size_t kMostTerms = std::size_t{1} << 26;   // of one output of a convolution

int Int(std::int64_t value) {
  return static_cast<int>(value);
}

std::string Text(const ImageShape& shape) {
  return std::to_string(shape.channels) + " x " + std::to_string(shape.height) + " x " +
         std::to_string(shape.width);
}

// Nodes become layers one after the other. What acts on each value joins the layer that makes it
// where nobody else reads it.
class Builder {
 public:
  Builder(OnnxGraph graph, const ImageShape& image) : graph_(std::move(graph)) {
    layers_.image = image;
    for (const OnnxNode& node : graph_.nodes) {
      for (const std::string& name : node.inputs) ++readers_[name];
    }
    std::vector<OnnxValue> images;
    for (const OnnxValue& input : graph_.inputs) {
      if (!graph_.constants.contains(input.name)) images.push_back(input);
    }
    if (images.size() != 1 || graph_.outputs.size() != 1) {
      RefuseOnnx(std::to_string(images.size()) + " inputs and " +
                 std::to_string(graph_.outputs.size()) + " outputs, not one image and its logits");
    }
    ++readers_[graph_.outputs[0].name];
    names_[images[0].name] = Declared(images[0].dims);
  }

  LayerGraph Build() {
    for (const OnnxNode& node : graph_.nodes) Add(node);
    const int last = Find(graph_.outputs[0].name).tensor;
    if (last == 0) RefuseOnnx("its output is its image");
    layers_.layers.resize(static_cast<std::size_t>(last));  // nobody reads the others
    return std::move(layers_);
  }

 private:
  // What a name stands for: a tensor, seen as a vector (ONNX: batch x features) or as planes (batch
  // x channels x height x width). A vector's shape is features x 1 x 1.
  struct Named {
    int tensor = 0;
    ImageShape shape;
    bool vector = false;
    bool probabilities = false;  // a Softmax was passed over
  };

  // What a layer does, in this order.
  enum class Step { kScale, kFunction, kFactor, kAddend, kClip };

  static ImageShape AsVector(const ImageShape& shape) {
    return {Int(static_cast<std::int64_t>(shape.size())), 1, 1};
  }

  Named Declared(const Integers& dims) const {
    const ImageShape& image = layers_.image;
    if (dims.size() == 2) return {0, AsVector(image), true};
    const Integers want = {0, image.channels, image.height, image.width};
    bool fits = dims.empty() || dims.size() == 4;
    for (std::size_t i = 1; fits && i < dims.size(); ++i) fits = dims[i] < 1 || dims[i] == want[i];
    if (!fits) {
      std::string wanted;
      for (std::size_t i = 1; i < dims.size(); ++i) {
        wanted += (i > 1 ? " x " : "") + (dims[i] < 1 ? "any" : std::to_string(dims[i]));
      }
      RefuseOnnx("it takes no image of " + Text(image) + " (channels, height, width), but of " +
                 wanted);
    }
    return {0, image};
  }

  void Add(const OnnxNode& node) {
    using Adder = void (Builder::*)(const OnnxNode&);
    static const std::map<std::string, Adder> kAdders = {
        {"Add", &Builder::AddTwo},
        {"AveragePool", &Builder::AddPool},
        {"BatchNormalization", &Builder::AddNormalization},
        {"Clip", &Builder::AddClip},
        {"Concat", &Builder::AddConcat},
        {"Constant", &Builder::AddConstant},
        {"Conv", &Builder::AddConvolution},
        {"Div", &Builder::AddTwo},
        {"Dropout", &Builder::AddView},
        {"Elu", &Builder::AddFunction},
        {"Flatten", &Builder::AddView},
        {"Gemm", &Builder::AddDense},
        {"GlobalAveragePool", &Builder::AddWholePool},
        {"GlobalMaxPool", &Builder::AddWholePool},
        {"HardSigmoid", &Builder::AddFunction},
        {"HardSwish", &Builder::AddFunction},
        {"Identity", &Builder::AddView},
        {"LeakyRelu", &Builder::AddFunction},
        {"LogSoftmax", &Builder::AddSoftmax},
        {"MatMul", &Builder::AddDense},
        {"MaxPool", &Builder::AddPool},
        {"Mul", &Builder::AddTwo},
        {"ReduceMean", &Builder::AddWholePool},
        {"Relu", &Builder::AddClip},
        {"Reshape", &Builder::AddView},
        {"Selu", &Builder::AddFunction},
        {"Sigmoid", &Builder::AddFunction},
        {"Softmax", &Builder::AddSoftmax},
        {"Softsign", &Builder::AddFunction},
        {"Squeeze", &Builder::AddView},
        {"Sub", &Builder::AddTwo},
        {"Sum", &Builder::AddTwo},
        {"Tanh", &Builder::AddFunction},
    };
    const auto adder = kAdders.find(node.operation);
    if (adder == kAdders.end()) {
      std::string known;
      for (const auto& [name, unused] : kAdders) known += (known.empty() ? "" : ", ") + name;
      RefuseOnnx("the operator " + node.operation + " is not among " + known);
    }
    bool one = !node.outputs.empty();
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      one = one && (node.outputs[i].empty() || readers_[node.outputs[i]] == 0);
    }
    if (!one) RefuseOnnx(node.operation + " with other than one output");
    if (node.inputs.empty() && node.operation != "Constant")
      RefuseOnnx(node.operation + " of nothing");
    (this->*adder->second)(node);
  }

  static bool Has(const OnnxNode& node, std::size_t input) {
    return input < node.inputs.size() && !node.inputs[input].empty();
  }
  static const std::string& Input(const OnnxNode& node, std::size_t input) {
    if (!Has(node, input)) {
      RefuseOnnx(node.operation + " of " + std::to_string(node.inputs.size()) + " inputs");
    }
    return node.inputs[input];
  }

  const Named& Find(const std::string& name) const {
    const auto found = names_.find(name);
    if (found == names_.end()) RefuseOnnx("nothing makes the tensor \"" + name + "\"");
    return found->second;
  }
  // For a layer to read.
  const Named& Read(const std::string& name) const {
    const Named& named = Find(name);
    if (named.probabilities) RefuseOnnx("\"" + name + "\", a Softmax before the end");
    return named;
  }
  bool IsConstant(const std::string& name) const { return graph_.constants.contains(name); }
  // Of any shape where dims is 0.
  const OnnxTensor& Constant(const std::string& name, std::size_t dims = 0) const {
    const auto found = graph_.constants.find(name);
    if (found == graph_.constants.end() || found->second.values.empty() ||
        (dims > 0 && found->second.dims.size() != dims)) {
      RefuseOnnx("\"" + name + "\" is no constant of " +
                 (dims > 0 ? std::to_string(dims) + " dimensions" : "any shape") + " in float");
    }
    return found->second;
  }
  // A constant as one number for each channel, by the rules of broadcasting.
  std::vector<double> ChannelValues(const std::string& name, const Named& of) const {
    const OnnxTensor& constant = Constant(name);
    const std::size_t rank = of.vector ? 2 : 4, count = constant.values.size();
    const std::size_t dims = constant.dims.size(), channel = dims + 1 - rank;
    const auto channels = static_cast<std::size_t>(of.shape.channels);
    const bool each = count == channels && dims + 1 >= rank && dims <= rank &&
                      constant.dims[channel] == of.shape.channels;
    if (count != 1 && !each) RefuseOnnx("\"" + name + "\" is no number for each channel");
    std::vector<double> values(constant.values.begin(), constant.values.end());
    if (count == 1) values.resize(channels, values[0]);
    return values;
  }
  double Scalar(const std::string& name) const {
    const OnnxTensor& constant = Constant(name);
    if (constant.values.size() != 1) RefuseOnnx("\"" + name + "\" is not one number");
    return static_cast<double>(constant.values[0]);
  }
  // An attribute in older versions of an operator, an input in newer ones; none: not given.
  std::optional<Integers> IntegersOf(const OnnxNode& node, const std::string& name) const {
    const auto attribute = node.attributes.find(name);
    if (attribute != node.attributes.end()) return attribute->second.integers;
    if (!Has(node, 1)) return {};
    const auto constant = graph_.constants.find(node.inputs[1]);
    if (constant == graph_.constants.end() || constant->second.integers.empty()) {
      RefuseOnnx(node.operation + ": \"" + node.inputs[1] + "\" is no constant of integers");
    }
    return constant->second.integers;
  }
  static bool AreRowsAndColumns(Integers axes) {
    for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::sort(axes.begin(), axes.end());
    return axes == Integers{2, 3};
  }

  Layer& Append(const OnnxNode& node, Layer layer, bool vector) {
    // In floating point, where nothing overflows.
    const double values =
        static_cast<double>(layer.out.channels) * layer.out.height * layer.out.width;
    if (!(values >= 1 && values <= static_cast<double>(kMostValues))) {
      RefuseOnnx(node.operation + ": an image that is empty or too large");
    }
    layers_.layers.push_back(std::move(layer));
    const Layer& last = layers_.layers.back();
    names_[node.outputs[0]] = {Int(static_cast<std::int64_t>(layers_.layers.size())), last.out,
                               vector};
    return layers_.layers.back();
  }

  // Another name, whose readers read the original.
  void View(const OnnxNode& node, Named named) {
    names_[node.outputs[0]] = named;
    readers_[node.outputs[0]] += readers_[node.inputs[0]] - 1;
  }

  static bool Takes(const Layer& layer, Step step) {
    const bool function = layer.function.kind != Function::Kind::kNone;
    if (layer.clip != Clip{}) return false;
    if (step >= Step::kAddend) return step == Step::kClip || layer.addend < 0;
    if (layer.factor >= 0 || layer.addend >= 0) return false;
    if (step == Step::kScale) return !function;
    return layer.kind != Layer::Kind::kConvolution && (step == Step::kFactor || !function);
  }

  // The layer that makes `named`, where nobody else reads it (`alone`) and it does nothing yet that
  // comes after `step`; else a new one that copies.
  Layer& Joinable(const OnnxNode& node, const Named& named, bool alone, Step step) {
    if (named.tensor > 0 && alone) {
      Layer& made = layers_.layers[static_cast<std::size_t>(named.tensor) - 1];
      // Only what has one number a channel asks whose shape the channels are of.
      const bool channels = step == Step::kScale || step == Step::kFactor;
      if (Takes(made, step) && (!channels || made.out == named.shape)) {
        names_[node.outputs[0]] = named;
        return made;
      }
    }
    Layer layer;
    layer.input = named.tensor;
    layer.in = layer.out = named.shape;
    return Append(node, std::move(layer), named.vector);
  }
  Layer& Joinable(const OnnxNode& node, const std::string& name, Step step) {
    return Joinable(node, Named(Read(name)), readers_[name] == 1, step);
  }

  void Scale(const OnnxNode& node, const std::string& name, const std::vector<double>& factor,
             const std::vector<double>& shift) {
    Layer& layer = Joinable(node, name, Step::kScale);
    if (layer.weights.empty()) {
      layer.weights.assign(factor.size(), 1.0f);
      layer.bias.assign(factor.size(), 0.0f);
    }
    const std::size_t terms = layer.weights.size() / factor.size();
    for (std::size_t c = 0; c < factor.size(); ++c) {
      for (std::size_t t = 0; t < terms; ++t) {
        float& weight = layer.weights[c * terms + t];
        weight = static_cast<float>(static_cast<double>(weight) * factor[c]);
      }
      layer.bias[c] = static_cast<float>(static_cast<double>(layer.bias[c]) * factor[c] + shift[c]);
    }
  }

  void AddNormalization(const OnnxNode& node) {
    if (node.Integer("training_mode", 0) != 0) RefuseOnnx("BatchNormalization in training");
    const std::string& name = Input(node, 0);
    const Named named = Read(name);
    const auto numbers = [&](std::size_t input) {
      return ChannelNumbers(Input(node, input), named);
    };
    std::vector<double> factor = numbers(1), shift = numbers(2);
    const std::vector<double> mean = numbers(3), variance = numbers(4);
    const auto epsilon = static_cast<double>(node.Number("epsilon", 1e-5f));
    for (std::size_t c = 0; c < factor.size(); ++c) {
      factor[c] /= std::sqrt(variance[c] + epsilon);
      shift[c] -= mean[c] * factor[c];
    }
    Scale(node, name, factor, shift);
  }

  // One number a channel, without broadcasting.
  std::vector<double> ChannelNumbers(const std::string& name, const Named& of) const {
    const OnnxTensor& constant = Constant(name, 1);
    if (constant.dims[0] != of.shape.channels) {
      RefuseOnnx("\"" + name + "\" is no number for each channel");
    }
    return {constant.values.begin(), constant.values.end()};
  }

  // Add, Sum and Mul of tensors; Add, Sub, Mul or Div with a constant.
  void AddTwo(const OnnxNode& node) {
    const std::string& op = node.operation;
    if (op == "Sum" && node.inputs.size() == 1) return View(node, Find(node.inputs[0]));
    const bool first = IsConstant(Input(node, 0)), second = IsConstant(Input(node, 1));
    if (!first && !second && (op == "Add" || op == "Sum")) return AddSum(node);
    if (!first && !second && op == "Mul") return AddProduct(node);
    if (node.inputs.size() != 2 || first == second) {
      RefuseOnnx(op + " of other than a tensor and a constant");
    }
    AddScale(node, node.inputs[first ? 1 : 0], node.inputs[first ? 0 : 1], first);
  }

  // `swapped`: the constant comes first.
  void AddScale(const OnnxNode& node, const std::string& name, const std::string& constant,
                bool swapped) {
    const std::string& op = node.operation;
    std::vector<double> numbers = ChannelValues(constant, Read(name));
    std::vector<double> ones(numbers.size(), 1.0);
    if (op == "Mul") return Scale(node, name, numbers, std::vector<double>(ones.size()));
    if (op == "Div") {
      if (swapped) RefuseOnnx("Div of a constant by a tensor");
      for (double& x : numbers) x = 1 / x;
      return Scale(node, name, numbers, std::vector<double>(ones.size()));
    }
    if (op == "Sub") {
      for (double& x : swapped ? ones : numbers) x = -x;
    }
    Scale(node, name, ones, numbers);
  }

  void AddSum(const OnnxNode& node) {
    // The layer of the latest tensor may take the sum: it runs after those of the others.
    std::vector<std::string> names = node.inputs;
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return Read(a).tensor > Read(b).tensor;
    });
    Named sum = Read(names[0]);
    for (std::size_t i = 1; i < names.size(); ++i) {
      const Named added = Read(names[i]);
      if (sum.shape != added.shape || sum.vector != added.vector) {
        RefuseOnnx(node.operation + " of " + Text(sum.shape) + " and " + Text(added.shape));
      }
      const bool alone = added.tensor < sum.tensor && (i > 1 || readers_[names[0]] == 1);
      Joinable(node, sum, alone, Step::kAddend).addend = added.tensor;
      sum = names_[node.outputs[0]];
    }
  }

  // Of two tensors of one shape, or of one and another of a value for each channel.
  void AddProduct(const OnnxNode& node) {
    if (node.inputs.size() != 2) RefuseOnnx("Mul of other than two tensors");
    std::string whole = node.inputs[0], factor = node.inputs[1];
    const auto precedes = [&] {
      const Named a = Read(whole), b = Read(factor);
      return a.shape == b.shape ? a.tensor < b.tensor : a.shape.size() < b.shape.size();
    };
    if (precedes()) std::swap(whole, factor);
    const Named named = Read(whole), by = Read(factor);
    const bool same = named.shape == by.shape;
    if (named.vector != by.vector ||
        (!same && by.shape != ImageShape{named.shape.channels, 1, 1})) {
      RefuseOnnx("Mul of " + Text(named.shape) + " and " + Text(by.shape));
    }
    const bool alone = by.tensor < named.tensor && readers_[whole] == 1;
    Layer& layer = Joinable(node, named, alone, Step::kFactor);
    layer.factor = by.tensor;
    layer.factor_of_channel = !same;
  }

  void AddClip(const OnnxNode& node) {
    const float infinity = std::numeric_limits<float>::infinity();
    Clip clip;
    clip.low = node.operation == "Relu" ? 0 : node.Number("min", -infinity);
    if (node.operation == "Clip") {
      clip.high = node.Number("max", infinity);
      if (Has(node, 1)) clip.low = static_cast<float>(Scalar(node.inputs[1]));
      if (Has(node, 2)) clip.high = static_cast<float>(Scalar(node.inputs[2]));
    }
    Joinable(node, Input(node, 0), Step::kClip).clip = clip;
  }

  void AddFunction(const OnnxNode& node) {
    using Kind = Function::Kind;
    struct Known {
      Kind kind;
      const char* a;
      float a_default;
      const char* b;
      float b_default;
    };
    static const std::map<std::string, Known> kFunctions = {
        {"Elu", {Kind::kElu, "alpha", 1, "", 1}},
        {"HardSigmoid", {Kind::kHardSigmoid, "alpha", 0.2f, "beta", 0.5f}},
        {"HardSwish", {Kind::kHardSwish, "", 1 / 6.0f, "", 0.5f}},
        {"LeakyRelu", {Kind::kLeaky, "alpha", 0.01f, "", 0}},
        {"Selu", {Kind::kElu, "alpha", 1.67326319f, "gamma", 1.05070102f}},
        {"Sigmoid", {Kind::kSigmoid, "", 0, "", 0}},
        {"Softsign", {Kind::kSoftsign, "", 0, "", 0}},
        {"Tanh", {Kind::kTanh, "", 0, "", 0}},
    };
    const Known& known = kFunctions.at(node.operation);
    Joinable(node, Input(node, 0), Step::kFunction).function = {
        known.kind, node.Number(known.a, known.a_default), node.Number(known.b, known.b_default)};
  }

  // Dropout, Identity, and what gives a tensor another shape.
  void AddView(const OnnxNode& node) {
    const std::string& op = node.operation;
    if (op == "Identity" && IsConstant(Input(node, 0))) {
      graph_.constants[node.outputs[0]] = graph_.constants.at(node.inputs[0]);
      return;
    }
    if (op == "Dropout" && Has(node, 2)) {
      const auto training = graph_.constants.find(node.inputs[2]);
      if (training == graph_.constants.end() || training->second.integers != Integers{0}) {
        RefuseOnnx("Dropout in training");
      }
    }
    Named named = Find(Input(node, 0));
    const ImageShape shape = named.shape;
    if (op == "Flatten") {
      if (node.Integer("axis", 1) != 1) RefuseOnnx("Flatten along another axis");
      named.vector = true;
    }
    if (op == "Squeeze") {
      const auto axes = IntegersOf(node, "axes");
      if (named.vector || shape.height * shape.width != 1 || (axes && !AreRowsAndColumns(*axes))) {
        RefuseOnnx("Squeeze of " + Text(shape) + " to other than a vector");
      }
      named.vector = true;
    }
    if (op == "Reshape") named = Reshaped(named, IntegersOf(node, "shape").value_or(Integers{}));
    if (named.vector) named.shape = AsVector(shape);
    View(node, named);
  }

  // ONNX: 0 keeps a dimension, -1 is what is left; the first is the batch.
  static Named Reshaped(Named named, Integers dims) {
    const ImageShape& shape = named.shape;
    const Integers had = {0, shape.channels, shape.height, shape.width};
    if (dims.size() != 2 && dims.size() != 4) RefuseOnnx("Reshape to other than 2 or 4 dimensions");
    std::int64_t known = 1, size = static_cast<std::int64_t>(shape.size());
    std::int64_t* rest = nullptr;
    for (std::size_t i = 1; i < dims.size(); ++i) {
      if (dims[i] == 0 && (i == 1 || !named.vector)) dims[i] = had[i];
      if (dims[i] == -1 && rest == nullptr) {
        rest = &dims[i];
      } else if (dims[i] < 1 || dims[i] > size) {
        RefuseOnnx("Reshape of " + Text(shape) + " to another size");
      } else {
        known *= dims[i];
      }
      if (known > size) break;
    }
    if (rest != nullptr) *rest = size / known;
    if (known * (rest != nullptr ? *rest : 1) != size) {
      RefuseOnnx("Reshape of " + Text(shape) + " to another size");
    }
    named.vector = dims.size() == 2;
    if (!named.vector) named.shape = {Int(dims[1]), Int(dims[2]), Int(dims[3])};
    return named;
  }

  void AddSoftmax(const OnnxNode& node) {
    Named named = Read(Input(node, 0));
    const std::int64_t axis = node.Integer("axis", named.vector ? 1 : -1);
    if (axis != 1 && !(named.vector && axis == -1)) {
      RefuseOnnx(node.operation + " along another axis than the classes");
    }
    if (named.shape.height * named.shape.width != 1) RefuseOnnx(node.operation + " of planes");
    named.probabilities = true;
    View(node, named);
  }

  void AddConstant(const OnnxNode& node) {
    OnnxTensor constant;
    for (const auto& [name, attribute] : node.attributes) {
      if (name == "value") constant = attribute.tensor;
      if (name == "value_float") constant.values = {attribute.number};
      if (name == "value_floats") constant.values = attribute.numbers;
      if (name == "value_int") constant.integers = {attribute.integer};
      if (name == "value_ints") constant.integers = attribute.integers;
      const std::size_t count = std::max(constant.values.size(), constant.integers.size());
      if (name.ends_with("s")) constant.dims = {static_cast<std::int64_t>(count)};
    }
    graph_.constants[node.outputs[0]] = std::move(constant);
  }

  void AddConcat(const OnnxNode& node) {
    const Named first = Read(Input(node, 0));
    const std::int64_t rank = first.vector ? 2 : 4, axis = node.Integer("axis", 1);
    if (axis != 1 && axis + rank != 1) RefuseOnnx("Concat along another axis than the channels");
    Layer layer;
    layer.input = first.tensor;
    layer.in = layer.out = first.shape;
    std::int64_t channels = first.shape.channels;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Named part = Read(Input(node, i));
      if (part.vector != first.vector || part.shape.height != first.shape.height ||
          part.shape.width != first.shape.width) {
        RefuseOnnx("Concat of " + Text(first.shape) + " and " + Text(part.shape));
      }
      layer.parts.push_back({part.tensor, part.shape.channels});
      channels += part.shape.channels;
    }
    if (channels > Int(kMostValues)) RefuseOnnx("Concat: an image that is too large");
    layer.out.channels = Int(channels);
    Append(node, std::move(layer), first.vector);
  }

  Layer Reading(const OnnxNode& node, Layer::Kind kind) const {
    const Named& named = Read(Input(node, 0));
    if (named.vector) RefuseOnnx(node.operation + " of a vector");
    Layer layer;
    layer.kind = kind;
    layer.input = named.tensor;
    layer.in = named.shape;
    return layer;
  }

  void AddWholePool(const OnnxNode& node) {
    const bool maximum = node.operation == "GlobalMaxPool";
    Layer layer = Reading(node, maximum ? Layer::Kind::kMaximum : Layer::Kind::kAverage);
    const bool mean = node.operation == "ReduceMean";
    if (mean && !AreRowsAndColumns(IntegersOf(node, "axes").value_or(Integers{}))) {
      RefuseOnnx("ReduceMean along other axes than rows and columns");
    }
    layer.window.height = layer.in.height;
    layer.window.width = layer.in.width;
    layer.out = {layer.in.channels, 1, 1};
    Append(node, std::move(layer), mean && node.Integer("keepdims", 1) == 0);
  }

  void AddPool(const OnnxNode& node) {
    const bool maximum = node.operation == "MaxPool";
    Layer layer = Reading(node, maximum ? Layer::Kind::kMaximum : Layer::Kind::kAverage);
    const Integers kernel = node.Sizes("kernel_shape", {0, 0});
    const Integers pads = SetWindow(node, kernel, node.Integer("ceil_mode", 0) != 0, layer);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::int64_t dilation = i % 2 == 0 ? layer.window.dilation_y : layer.window.dilation_x;
      if (pads[i] > (kernel[i % 2] - 1) * dilation) {
        RefuseOnnx(node.operation + " with more padding than its kernel reaches over");
      }
    }
    if (!maximum && node.Integer("count_include_pad", 0) != 0) {
      layer.counted_height = Int(layer.in.height + pads[2]);
      layer.counted_width = Int(layer.in.width + pads[3]);
    }
    layer.out.channels = layer.in.channels;
    Append(node, std::move(layer), false);
  }

  // The window and the height and width of the output. @return the padding above, left, below,
  // right
  static Integers SetWindow(const OnnxNode& node, const Integers& kernel, bool ceil, Layer& layer) {
    Integers pads = node.Sizes("pads", {0, 0, 0, 0});
    const Integers strides = node.Sizes("strides", {1, 1});
    const Integers dilations = node.Sizes("dilations", {1, 1});
    const std::string automatic = node.Text("auto_pad", "NOTSET");
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!same && automatic != "NOTSET" && automatic != "VALID") {
      RefuseOnnx("auto_pad " + automatic + " of " + node.operation);
    }
    if (automatic == "VALID") pads = {0, 0, 0, 0};
    const std::int64_t in[] = {layer.in.height, layer.in.width};
    std::int64_t out[2];
    for (std::size_t i = 0; i < 2; ++i) {
      if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1 || kernel[i] > 1 << 20) {
        RefuseOnnx("the kernel, strides or dilations of " + node.operation);
      }
      const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
      if (same) {
        out[i] = (in[i] + strides[i] - 1) / strides[i];
        const std::int64_t both =
            std::max<std::int64_t>(0, (out[i] - 1) * strides[i] + reach - in[i]);
        pads[i] = automatic == "SAME_UPPER" ? both / 2 : both - both / 2;
        pads[i + 2] = both - pads[i];
      }
      const std::int64_t room = in[i] + pads[i] + pads[i + 2] - reach;
      if (room < 0) RefuseOnnx(node.operation + " with a kernel larger than its image");
      if (same) continue;
      out[i] = (room + (ceil ? strides[i] - 1 : 0)) / strides[i] + 1;
      // A window that would begin after the image and its padding before does not count.
      if (ceil && (out[i] - 1) * strides[i] >= in[i] + pads[i]) --out[i];
    }
    for (const std::int64_t pad : pads) {
      if (pad > Int(kMostValues)) RefuseOnnx("pads of " + node.operation);
    }
    layer.window = {Int(kernel[0]), Int(kernel[1]), Int(strides[0]),   Int(strides[1]),
                    Int(pads[0]),   Int(pads[1]),   Int(dilations[0]), Int(dilations[1])};
    layer.out = {0, Int(out[0]), Int(out[1])};
    return pads;
  }

  void AddConvolution(const OnnxNode& node) {
    Layer layer = Reading(node, Layer::Kind::kConvolution);
    const OnnxTensor& weights = Constant(Input(node, 1), 4);
    const Integers& dims = weights.dims;
    const std::int64_t sections = node.Integer("group", 1);
    if (sections < 1 || layer.in.channels % sections != 0 || dims[0] % sections != 0 ||
        dims[1] != layer.in.channels / sections) {
      RefuseOnnx("Conv of " + std::to_string(sections) + " groups of " + std::to_string(dims[1]) +
                 " channels for an image of " + std::to_string(layer.in.channels));
    }
    layer.sections = Int(sections);
    const Integers pads = SetWindow(node, {dims[2], dims[3]}, false, layer);
    layer.out.channels = Int(dims[0]);
    layer.weights = weights.values;
    const Window whole{layer.in.height, layer.in.width};
    const bool padded = pads != Integers{0, 0, 0, 0};
    if (sections == 1 && !padded && layer.window.height == whole.height &&
        layer.window.width == whole.width && layer.out.height * layer.out.width == 1) {
      layer.in = AsVector(layer.in);
      layer.window = {};
    }
    SetBias(node, 1, layer);
    CheckTerms(node, layer);
    Append(node, std::move(layer), false);
  }

  // Gemm and MatMul: convolutions of one pixel.
  void AddDense(const OnnxNode& node) {
    const bool gemm = node.operation == "Gemm";
    if (IsConstant(Input(node, 0)) || (gemm && node.Integer("transA", 0) != 0)) {
      RefuseOnnx(node.operation + " with the image on the right, or transposed");
    }
    const Named& named = Read(node.inputs[0]);
    Layer layer;
    layer.kind = Layer::Kind::kConvolution;
    layer.input = named.tensor;
    layer.in = AsVector(named.shape);
    const OnnxTensor& weights = Constant(Input(node, 1), 2);
    const bool transposed = gemm && node.Integer("transB", 0) != 0;
    const auto rows = static_cast<std::size_t>(weights.dims[0]);
    const auto columns = static_cast<std::size_t>(weights.dims[1]);
    const std::size_t inputs = transposed ? columns : rows, outputs = transposed ? rows : columns;
    if (inputs != layer.in.size()) {
      RefuseOnnx(node.operation + " of " + std::to_string(inputs) + " values for an image of " +
                 std::to_string(layer.in.size()));
    }
    layer.out = {static_cast<int>(outputs), 1, 1};
    layer.weights.resize(inputs * outputs);
    const float alpha = gemm ? node.Number("alpha", 1) : 1;
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        layer.weights[o * inputs + i] =
            alpha * weights.values[transposed ? o * columns + i : i * columns + o];
      }
    }
    SetBias(node, gemm ? node.Number("beta", 1) : 1, layer);
    CheckTerms(node, layer);
    Append(node, std::move(layer), true);
  }

  void SetBias(const OnnxNode& node, float factor, Layer& layer) const {
    layer.bias.assign(static_cast<std::size_t>(layer.out.channels), 0.0f);
    if (!Has(node, 2)) return;
    const Named out{0, {layer.out.channels, 1, 1}, true};
    const bool dense = node.operation == "Gemm";
    const auto bias =
        dense ? ChannelValues(node.inputs[2], out) : ChannelNumbers(node.inputs[2], out);
    for (std::size_t c = 0; c < bias.size(); ++c)
      layer.bias[c] = factor * static_cast<float>(bias[c]);
  }

  static void CheckTerms(const OnnxNode& node, const Layer& layer) {
    if (layer.weights.size() / layer.bias.size() > kMostTerms) {
      RefuseOnnx(node.operation + " with too many inputs");
    }
  }

  OnnxGraph graph_;
  LayerGraph layers_;
  std::map<std::string, Named> names_;
  std::map<std::string, int> readers_;
};

}  // namespace

double LayerGraph::flop_count() const {
  double sum = 0;
  for (const Layer& layer : layers) {
    const auto out = static_cast<double>(layer.out.size());
    const double taps = static_cast<double>(layer.window.height) * layer.window.width;
    if (layer.kind == Layer::Kind::kConvolution) {
      sum += 2 * static_cast<double>(layer.weights.size()) * layer.out.height * layer.out.width;
    } else {
      sum += out * ((taps > 1 ? taps : 0) + (layer.weights.empty() ? 0 : 2));
    }
    sum += out *
           ((layer.addend >= 0 ? 1 : 0) + (layer.clip == Clip{} ? 0 : 1) +
            (layer.factor >= 0 ? 1 : 0) + (layer.function.kind == Function::Kind::kNone ? 0 : 1));
  }
  return sum;
}

LayerGraph ReadLayers(std::string_view onnx, const Image& like) {
  if (like.size() == 0 || like.size() > kMostValues) RefuseOnnx("an empty or too large image");
  return Builder(ReadOnnxGraph(onnx), {Int(static_cast<std::int64_t>(like.channels)),
                                       Int(static_cast<std::int64_t>(like.height)),
                                       Int(static_cast<std::int64_t>(like.width))})
      .Build();
}

}  // namespace retable::experiments
