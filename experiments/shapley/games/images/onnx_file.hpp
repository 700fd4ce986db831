#pragma once
//! @file
//! The graph in an ONNX file, as far as layers need it. The file is a protocol buffer
//! (https://protobuf.dev/programming-guides/encoding) of the messages of onnx.proto.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retable::experiments {

//! @throws std::invalid_argument with the reason
[[noreturn]] void RefuseOnnx(const std::string& why);

//! Values of type float, double or half float, all as float, or of 64-bit integers or booleans;
//! other types have none.
struct OnnxTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::vector<float> values;
  std::vector<std::int64_t> integers;
};

struct OnnxAttribute {
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  OnnxTensor tensor;
};

struct OnnxNode {
  std::vector<std::string> inputs, outputs;
  std::string operation;
  std::map<std::string, OnnxAttribute> attributes;

  std::int64_t Integer(const std::string& name, std::int64_t fallback) const {
    return Part(name, &OnnxAttribute::integer, fallback);
  }
  float Number(const std::string& name, float fallback) const {
    return Part(name, &OnnxAttribute::number, fallback);
  }
  std::string Text(const std::string& name, const std::string& fallback) const {
    return Part(name, &OnnxAttribute::text, fallback);
  }
  //! As many as the fallback has, none negative or above 2^20.
  std::vector<std::int64_t> Sizes(const std::string& name,
                                  std::vector<std::int64_t> fallback) const;

 private:
  template <class T>
  T Part(const std::string& name, T OnnxAttribute::*part, const T& fallback) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? fallback : found->second.*part;
  }
};

//! What goes into a graph or comes out of it.
struct OnnxValue {
  std::string name;
  std::vector<std::int64_t> dims;  //!< 0: not known; empty: nothing is known
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;  //!< each after those whose outputs it reads
  std::map<std::string, OnnxTensor> constants;
  std::vector<OnnxValue> inputs, outputs;
};

//! @throws std::invalid_argument for bytes that are no ONNX, or damaged
OnnxGraph ReadOnnxGraph(std::string_view bytes);

}  // namespace retable::experiments
