// The subset of ONNX that small convolutional networks need. The file is a protocol buffer
// (https://protobuf.dev/programming-guides/encoding) of the messages of onnx.proto, whose field
// numbers stand below; fields of other numbers are passed over.

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "experiments/shapley/games/images/layers.hpp"

namespace retable::experiments {
namespace {

[[noreturn]] void Refuse(const std::string& why) {
  throw std::invalid_argument("an ONNX network that cannot be read: " + why);
}

// One field of a message: a number, or bytes that are a text, a message or packed numbers.
struct Field {
  std::uint64_t number = 0, value = 0;
  std::string_view bytes;
};

class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  bool Next(Field& field) {
    if (rest_.empty()) return false;
    const std::uint64_t key = Number();
    field = {key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = Number();
        return true;
      case 1:
        field.bytes = Take(8);
        return true;
      case 2:
        field.bytes = Take(Number());
        return true;
      case 5:
        field.bytes = Take(4);
        return true;
      default:
        Refuse("bytes that are no protocol buffer");
    }
  }

  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    Refuse("bytes that are no protocol buffer");
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view Take(std::uint64_t count) {
    if (count > rest_.size()) Refuse("it ends within a message");
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

// A repeated integer: one to a field, or many packed in one.
void AppendNumbers(const Field& field, std::vector<std::int64_t>& to) {
  if (field.bytes.empty()) {
    to.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  for (Message packed(field.bytes); !packed.empty();) {
    to.push_back(static_cast<std::int64_t>(packed.Number()));
  }
}

void AppendFloats(std::string_view bytes, std::vector<float>& to) {
  static_assert(std::endian::native == std::endian::little, "ONNX keeps floats little-endian");
  if (bytes.size() % sizeof(float) != 0) Refuse("a part of a float");
  if (bytes.empty()) return;
  const std::size_t had = to.size();
  to.resize(had + bytes.size() / sizeof(float));
  std::memcpy(to.data() + had, bytes.data(), bytes.size());
}

struct Tensor {
  std::vector<std::int64_t> dims;
  std::vector<float> values;
};

// TensorProto: dims 1, data_type 2 (1: float), float_data 4, name 8, raw_data 9.
std::pair<std::string, Tensor> ReadTensor(std::string_view bytes) {
  std::string name;
  Tensor tensor;
  std::uint64_t type = 0;
  Field field;
  for (Message message(bytes); message.Next(field);) {
    if (field.number == 1) AppendNumbers(field, tensor.dims);
    if (field.number == 2) type = field.value;
    if (field.number == 4 || field.number == 9) AppendFloats(field.bytes, tensor.values);
    if (field.number == 8) name = field.bytes;
  }
  std::size_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 1 || dim > std::numeric_limits<std::int32_t>::max()) Refuse("the shape of " + name);
    count *= static_cast<std::size_t>(dim);
    if (count > std::size_t{1} << 32) Refuse("the shape of " + name);
  }
  // Integers are shapes for operators that are refused anyway.
  if (type == 1 && tensor.values.size() != count) Refuse("values and shape of " + name);
  if (type != 1) tensor.values.clear();
  return {name, std::move(tensor)};
}

// AttributeProto: name 1, f 2, i 3, s 4, ints 8.
struct Attribute {
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<std::int64_t> integers;
};

// NodeProto: input 1, output 2, op_type 4, attribute 5.
struct Node {
  std::vector<std::string> inputs, outputs;
  std::string operation;
  std::map<std::string, Attribute> attributes;

  std::int64_t Integer(const std::string& name, std::int64_t fallback) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : found->second.integer;
  }
  float Number(const std::string& name, float fallback) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : found->second.number;
  }
  std::vector<std::int64_t> Integers(const std::string& name,
                                     std::vector<std::int64_t> fallback) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return fallback;
    const auto& values = found->second.integers;
    if (values.size() != fallback.size()) Refuse(operation + " with other than two dimensions");
    for (const std::int64_t value : values) {
      if (value < 0 || value > 1 << 20) Refuse(name + " of " + operation);
    }
    return values;
  }
};

Node ReadNode(std::string_view bytes) {
  Node node;
  Field field;
  for (Message message(bytes); message.Next(field);) {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 4) node.operation = field.bytes;
    if (field.number != 5) continue;
    std::string name;
    Attribute attribute;
    Field part;
    for (Message inner(field.bytes); inner.Next(part);) {
      if (part.number == 1) name = part.bytes;
      if (part.number == 2 && part.bytes.size() == 4) {
        std::memcpy(&attribute.number, part.bytes.data(), 4);
      }
      if (part.number == 3) attribute.integer = static_cast<std::int64_t>(part.value);
      if (part.number == 4) attribute.text = part.bytes;
      if (part.number == 8) AppendNumbers(part, attribute.integers);
    }
    node.attributes[name] = std::move(attribute);
  }
  return node;
}

// GraphProto: node 1, initializer 5, input 11, output 12; ValueInfoProto: name 1.
struct Graph {
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<std::string> inputs, outputs;
};

Graph ReadGraph(std::string_view bytes) {
  Graph graph;
  Field field;
  for (Message message(bytes); message.Next(field);) {
    if (field.number == 1) graph.nodes.push_back(ReadNode(field.bytes));
    if (field.number == 5) graph.constants.insert(ReadTensor(field.bytes));
    if (field.number != 11 && field.number != 12) continue;
    Field part;
    for (Message inner(field.bytes); inner.Next(part);) {
      if (part.number == 1)
        (field.number == 11 ? graph.inputs : graph.outputs).emplace_back(part.bytes);
    }
  }
  return graph;
}

int Int(std::int64_t value) {
  return static_cast<int>(value);
}

// Nodes become layers one after the other; a sum or ReLU of a value that nobody else reads joins
// the layer that makes it.
class Builder {
 public:
  Builder(const Graph& graph, const ImageShape& image) : graph_(graph) {
    layers_.image = image;
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.inputs) ++readers_[name];
    }
    std::vector<std::string> images;
    std::copy_if(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(images),
                 [&](const std::string& name) { return !graph.constants.contains(name); });
    if (images.size() != 1 || graph.outputs.size() != 1) {
      Refuse(std::to_string(images.size()) + " inputs and " + std::to_string(graph.outputs.size()) +
             " outputs, not one image and its logits");
    }
    tensors_[images[0]] = 0;
    ++readers_[graph.outputs[0]];
  }

  LayerGraph Build() {
    for (const Node& node : graph_.nodes) Add(node);
    if (layers_.layers.empty() ||
        TensorOf(graph_.outputs[0]) != static_cast<int>(layers_.layers.size())) {
      Refuse("its output is not the last layer's");
    }
    return std::move(layers_);
  }

 private:
  void Add(const Node& node) {
    if (node.outputs.size() != 1) Refuse(node.operation + " with other than one output");
    const std::string& op = node.operation;
    if (op == "Conv") {
      AddConvolution(node);
    } else if (op == "Gemm") {
      AddDense(node);
    } else if (op == "Relu") {
      Needs(node, 1);
      Joinable(node, node.inputs[0]).relu = true;
    } else if (op == "Add") {
      AddSum(node);
    } else if (op == "GlobalAveragePool") {
      AddAverage(node);
    } else if (op == "Flatten" || op == "Identity") {
      Needs(node, 1);
      if (op == "Flatten" && node.Integer("axis", 1) != 1) Refuse("Flatten along another axis");
      Name(node, TensorOf(node.inputs[0]));
      // Whoever reads the copy reads the original.
      readers_[node.outputs[0]] += readers_[node.inputs[0]] - 1;
    } else {
      Refuse("the operator " + op +
             " is not among Conv, Relu, Add, GlobalAveragePool, Flatten, Gemm and Identity");
    }
  }

  static void Needs(const Node& node, std::size_t inputs) {
    if (node.inputs.size() != inputs) {
      Refuse(node.operation + " of " + std::to_string(node.inputs.size()) + " inputs");
    }
  }

  int TensorOf(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) Refuse("nothing makes the tensor \"" + name + "\"");
    return found->second;
  }
  const ImageShape& ShapeOf(int tensor) const {
    return tensor == 0 ? layers_.image : layers_.layers[static_cast<std::size_t>(tensor) - 1].out;
  }
  const Tensor& Constant(const std::string& name, std::size_t dims) const {
    const auto found = graph_.constants.find(name);
    if (found == graph_.constants.end() || found->second.values.empty() ||
        found->second.dims.size() != dims) {
      Refuse("\"" + name + "\" is no constant of " + std::to_string(dims) + " dimensions in float");
    }
    return found->second;
  }
  void Name(const Node& node, int tensor) { tensors_[node.outputs[0]] = tensor; }

  Layer& Append(const Node& node, Layer layer) {
    if (layer.out.size() == 0 || layer.out.size() > std::size_t{1} << 28) {
      Refuse(node.operation + ": an image that is empty or too large");
    }
    layers_.layers.push_back(std::move(layer));
    Name(node, static_cast<int>(layers_.layers.size()));
    return layers_.layers.back();
  }

  // The last layer where it makes `name` for this node alone and does nothing after what the node
  // does; else a new one that copies.
  Layer& Joinable(const Node& node, const std::string& name) {
    const int tensor = TensorOf(name);
    if (tensor > 0 && tensor == static_cast<int>(layers_.layers.size()) && readers_[name] == 1 &&
        !layers_.layers.back().relu &&
        (node.operation == "Relu" || layers_.layers.back().addend < 0)) {
      Name(node, tensor);
      return layers_.layers.back();
    }
    Layer layer;
    layer.input = tensor;
    layer.in = layer.out = ShapeOf(tensor);
    return Append(node, std::move(layer));
  }

  void AddSum(const Node& node) {
    Needs(node, 2);
    int a = TensorOf(node.inputs[0]), b = TensorOf(node.inputs[1]);
    if (ShapeOf(a) != ShapeOf(b)) Refuse("Add of two shapes");
    std::string made = node.inputs[0];
    if (b > a) {  // the later one may take the sum
      std::swap(a, b);
      made = node.inputs[1];
    }
    Joinable(node, made).addend = b;
  }

  void AddAverage(const Node& node) {
    Needs(node, 1);
    Layer layer;
    layer.kind = Layer::Kind::kAverage;
    layer.input = TensorOf(node.inputs[0]);
    layer.in = ShapeOf(layer.input);
    layer.out = {layer.in.channels, 1, 1};
    Append(node, std::move(layer));
  }

  void SetBias(const Node& node, Layer& layer) const {
    layer.bias.assign(static_cast<std::size_t>(layer.out.channels), 0.0f);
    if (node.inputs.size() < 3 || node.inputs[2].empty()) return;
    const Tensor& bias = Constant(node.inputs[2], 1);
    if (bias.values.size() != layer.bias.size()) Refuse("the bias of a " + node.operation);
    layer.bias = bias.values;
  }

  void AddConvolution(const Node& node) {
    if (node.inputs.size() != 2) Needs(node, 3);
    Layer layer;
    layer.kind = Layer::Kind::kConvolution;
    layer.input = TensorOf(node.inputs[0]);
    layer.in = ShapeOf(layer.input);
    const Tensor& weights = Constant(node.inputs[1], 4);
    const auto pads = node.Integers("pads", {0, 0, 0, 0});
    const auto strides = node.Integers("strides", {1, 1});
    const auto automatic = node.attributes.find("auto_pad");
    if (node.Integer("group", 1) != 1 ||
        node.Integers("dilations", {1, 1}) != std::vector<std::int64_t>{1, 1} || strides[0] < 1 ||
        strides[1] < 1 ||
        (automatic != node.attributes.end() && automatic->second.text != "NOTSET")) {
      Refuse("Conv in groups, dilated or padded automatically");
    }
    if (weights.dims[1] != layer.in.channels) {
      Refuse("Conv of " + std::to_string(weights.dims[1]) + " channels for an image of " +
             std::to_string(layer.in.channels));
    }
    layer.kernel_height = Int(weights.dims[2]);
    layer.kernel_width = Int(weights.dims[3]);
    layer.stride_y = Int(strides[0]);
    layer.stride_x = Int(strides[1]);
    layer.top = Int(pads[0]);
    layer.left = Int(pads[1]);
    const std::int64_t down = layer.in.height + pads[0] + pads[2] - weights.dims[2];
    const std::int64_t across = layer.in.width + pads[1] + pads[3] - weights.dims[3];
    if (down < 0 || across < 0) Refuse("Conv with a kernel larger than its image");
    layer.out = {Int(weights.dims[0]), Int(down / strides[0] + 1), Int(across / strides[1] + 1)};
    layer.weights = weights.values;
    SetBias(node, layer);
    Append(node, std::move(layer));
  }

  // A convolution whose kernel is the whole image.
  void AddDense(const Node& node) {
    if (node.inputs.size() != 2) Needs(node, 3);
    if (node.Number("alpha", 1) != 1 || node.Number("beta", 1) != 1 ||
        node.Integer("transA", 0) != 0) {
      Refuse("Gemm with factors, or of a transposed image");
    }
    Layer layer;
    layer.kind = Layer::Kind::kConvolution;
    layer.input = TensorOf(node.inputs[0]);
    layer.in = ShapeOf(layer.input);
    layer.kernel_height = layer.in.height;
    layer.kernel_width = layer.in.width;
    const Tensor& weights = Constant(node.inputs[1], 2);
    const bool transposed = node.Integer("transB", 0) != 0;
    const auto rows = static_cast<std::size_t>(weights.dims[0]);
    const auto columns = static_cast<std::size_t>(weights.dims[1]);
    const std::size_t inputs = transposed ? columns : rows, outputs = transposed ? rows : columns;
    if (inputs != layer.in.size()) {
      Refuse("Gemm of " + std::to_string(inputs) + " values for an image of " +
             std::to_string(layer.in.size()));
    }
    layer.out = {static_cast<int>(outputs), 1, 1};
    layer.weights.resize(inputs * outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        layer.weights[o * inputs + i] =
            weights.values[transposed ? o * columns + i : i * columns + o];
      }
    }
    SetBias(node, layer);
    Append(node, std::move(layer));
  }

  const Graph& graph_;
  LayerGraph layers_;
  std::map<std::string, int> tensors_;
  std::map<std::string, int> readers_;
};

}  // namespace

double LayerGraph::flop_count() const {
  double sum = 0;
  for (const Layer& layer : layers) {
    const auto out = static_cast<double>(layer.out.size());
    if (layer.kind == Layer::Kind::kConvolution) {
      sum += 2 * static_cast<double>(layer.weights.size()) * layer.out.height * layer.out.width;
    } else if (layer.kind == Layer::Kind::kAverage) {
      sum += static_cast<double>(layer.in.size());
    }
    sum += out * ((layer.addend >= 0 ? 1 : 0) + (layer.relu ? 1 : 0));
  }
  return sum;
}

// ModelProto: graph 7.
LayerGraph ReadLayers(std::string_view onnx, const Image& like) {
  if (like.size() == 0 || like.size() > std::size_t{1} << 28) Refuse("an empty or too large image");
  std::string_view graph;
  Field field;
  for (Message model(onnx); model.Next(field);) {
    if (field.number == 7) graph = field.bytes;
  }
  if (graph.empty()) Refuse("it has no graph");
  const Graph parts = ReadGraph(graph);
  return Builder(parts, {Int(static_cast<std::int64_t>(like.channels)),
                         Int(static_cast<std::int64_t>(like.height)),
                         Int(static_cast<std::int64_t>(like.width))})
      .Build();
}

}  // namespace retable::experiments
