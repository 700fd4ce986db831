// Field numbers are those of onnx.proto; fields of other numbers are passed over.

#include "experiments/shapley/games/images/onnx_file.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace retable::experiments {
namespace {

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
        RefuseOnnx("bytes that are no protocol buffer");
    }
  }

  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    RefuseOnnx("bytes that are no protocol buffer");
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view Take(std::uint64_t count) {
    if (count > rest_.size()) RefuseOnnx("it ends within a message");
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

// Numbers of type T as they lie in memory.
template <class T, class To>
void AppendRaw(std::string_view bytes, std::vector<To>& to) {
  static_assert(std::endian::native == std::endian::little, "ONNX keeps numbers little-endian");
  if (bytes.size() % sizeof(T) != 0) RefuseOnnx("a part of a number");
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    to.push_back(static_cast<To>(value));
  }
}

float FromHalf(std::int64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  float size = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  if (exponent == 0) size = std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) size = fraction == 0 ? HUGE_VALF : std::nanf("");
  return (bits >> 15 & 1) != 0 ? -size : size;
}

enum TensorType : std::uint64_t { kFloat = 1, kInt64 = 7, kBool = 9, kHalf = 10, kDouble = 11 };

// How many values a shape has.
std::size_t CountOf(const OnnxTensor& tensor) {
  std::size_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    const bool fits = dim >= 1 && dim <= std::numeric_limits<std::int32_t>::max();
    if (fits) count *= static_cast<std::size_t>(dim);
    if (!fits || count > std::size_t{1} << 32) RefuseOnnx("the shape of " + tensor.name);
  }
  return count;
}

// Values of the type alone, those in `raw` and `halves` too.
void Convert(std::uint64_t type, std::string_view raw, std::vector<std::int64_t> halves,
             OnnxTensor& tensor) {
  if (type != kFloat && type != kDouble) tensor.values.clear();
  if (type != kInt64) tensor.integers.clear();
  if (type == kFloat) AppendRaw<float>(raw, tensor.values);
  if (type == kDouble) AppendRaw<double>(raw, tensor.values);
  if (type == kInt64) AppendRaw<std::int64_t>(raw, tensor.integers);
  if (type == kBool) {
    AppendRaw<std::uint8_t>(raw, halves);
    tensor.integers = std::move(halves);
  }
  if (type != kHalf) return;
  AppendRaw<std::uint16_t>(raw, halves);
  for (const std::int64_t bits : halves) tensor.values.push_back(FromHalf(bits));
}

// TensorProto: dims 1, data_type 2, float_data 4, int32_data 5, int64_data 7, name 8, raw_data 9,
// double_data 10, external_data 13.
OnnxTensor ReadTensor(std::string_view bytes) {
  OnnxTensor tensor;
  std::uint64_t type = 0;
  std::string_view raw;
  std::vector<std::int64_t> halves;
  Field field;
  for (Message message(bytes); message.Next(field);) {
    if (field.number == 1) AppendNumbers(field, tensor.dims);
    if (field.number == 2) type = field.value;
    if (field.number == 4) AppendRaw<float>(field.bytes, tensor.values);
    if (field.number == 5) AppendNumbers(field, halves);
    if (field.number == 7) AppendNumbers(field, tensor.integers);
    if (field.number == 8) tensor.name = field.bytes;
    if (field.number == 9) raw = field.bytes;
    if (field.number == 10) AppendRaw<double>(field.bytes, tensor.values);
    if (field.number == 13) RefuseOnnx("the values of " + tensor.name + " are in another file");
  }
  Convert(type, raw, std::move(halves), tensor);
  const std::size_t count = CountOf(tensor), read = tensor.values.size() + tensor.integers.size();
  const bool known =
      type == kFloat || type == kInt64 || type == kBool || type == kHalf || type == kDouble;
  if (known && read != count) RefuseOnnx("values and shape of " + tensor.name);
  return tensor;
}

// AttributeProto: name 1, f 2, i 3, s 4, t 5, floats 7, ints 8.
std::pair<std::string, OnnxAttribute> ReadAttribute(std::string_view bytes) {
  std::string name;
  OnnxAttribute attribute;
  Field part;
  for (Message message(bytes); message.Next(part);) {
    if (part.number == 1) name = part.bytes;
    if (part.number == 2 && part.bytes.size() == 4) {
      std::memcpy(&attribute.number, part.bytes.data(), 4);
    }
    if (part.number == 3) attribute.integer = static_cast<std::int64_t>(part.value);
    if (part.number == 4) attribute.text = part.bytes;
    if (part.number == 5) attribute.tensor = ReadTensor(part.bytes);
    if (part.number == 7) AppendRaw<float>(part.bytes, attribute.numbers);
    if (part.number == 8) AppendNumbers(part, attribute.integers);
  }
  return {name, std::move(attribute)};
}

// NodeProto: input 1, output 2, op_type 4, attribute 5, domain 7.
OnnxNode ReadNode(std::string_view bytes) {
  OnnxNode node;
  std::string_view domain;
  Field field;
  for (Message message(bytes); message.Next(field);) {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 4) node.operation = field.bytes;
    if (field.number == 5) node.attributes.insert(ReadAttribute(field.bytes));
    if (field.number == 7) domain = field.bytes;
  }
  if (!domain.empty() && domain != "ai.onnx") {
    RefuseOnnx("the operator " + node.operation + " of the domain " + std::string(domain));
  }
  return node;
}

// The bytes of the last field of that number, of the messages one within the other.
std::string_view Within(std::string_view bytes, std::initializer_list<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    std::string_view found;
    Field field;
    for (Message message(bytes); message.Next(field);) {
      if (field.number == number) found = field.bytes;
    }
    bytes = found;
  }
  return bytes;
}

// ValueInfoProto: name 1, type 2; TypeProto: tensor_type 1; its shape 2, whose dim 1; dim_value 1.
OnnxValue ReadValue(std::string_view bytes) {
  OnnxValue value;
  value.name = Within(bytes, {1});
  Field field, part;
  for (Message shape(Within(bytes, {2, 1, 2})); shape.Next(field);) {
    if (field.number != 1) continue;
    value.dims.push_back(0);
    for (Message dim(field.bytes); dim.Next(part);) {
      if (part.number == 1) value.dims.back() = static_cast<std::int64_t>(part.value);
    }
  }
  return value;
}

}  // namespace

void RefuseOnnx(const std::string& why) {
  throw std::invalid_argument("an ONNX network that cannot be read: " + why);
}

std::vector<std::int64_t> OnnxNode::Sizes(const std::string& name,
                                          std::vector<std::int64_t> fallback) const {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return fallback;
  const auto& values = found->second.integers;
  if (values.size() != fallback.size()) RefuseOnnx(operation + " with other than two dimensions");
  for (const std::int64_t value : values) {
    if (value < 0 || value > 1 << 20) RefuseOnnx(name + " of " + operation);
  }
  return values;
}

// ModelProto: graph 7; GraphProto: node 1, initializer 5, input 11, output 12.
OnnxGraph ReadOnnxGraph(std::string_view bytes) {
  const std::string_view parts = Within(bytes, {7});
  if (parts.empty()) RefuseOnnx("it has no graph");
  OnnxGraph graph;
  Field field;
  for (Message message(parts); message.Next(field);) {
    if (field.number == 1) graph.nodes.push_back(ReadNode(field.bytes));
    if (field.number == 5) {
      OnnxTensor tensor = ReadTensor(field.bytes);
      const std::string name = tensor.name;
      graph.constants.emplace(name, std::move(tensor));
    }
    if (field.number == 11) graph.inputs.push_back(ReadValue(field.bytes));
    if (field.number == 12) graph.outputs.push_back(ReadValue(field.bytes));
  }
  return graph;
}

}  // namespace retable::experiments
