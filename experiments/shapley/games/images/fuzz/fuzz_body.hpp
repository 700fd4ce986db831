#pragma once
//! @file
//! What the fuzz targets do with bytes that claim to be a network or an image; a test does the same
//! with the corpora. They are refused with std::invalid_argument, or they are what they claim.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/fuzz/mutation.hpp"
#include "experiments/shapley/games/images/layers.hpp"
#include "experiments/shapley/games/images/ppm.hpp"

namespace retable::experiments {

//! A network for a small image: layers read only what came before, and fit each other; a cheap one
//! is run.
inline bool FuzzOnnx(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Image like{1, 4, 4, std::vector<float>(16, 0.5f)};
  LayerGraph graph;
  try {
    graph = ReadLayers(bytes, like);
  } catch (const std::invalid_argument&) {
    return false;
  }
  std::vector<ImageShape> shapes = {graph.image};
  std::size_t values = 0;
  for (const Layer& layer : graph.layers) {
    const auto before = static_cast<int>(shapes.size());
    if (layer.input < 0 || layer.input >= before || layer.addend >= before) std::abort();
    const auto values_of = [&](int tensor) {
      return shapes[static_cast<std::size_t>(tensor)].size();
    };
    if (values_of(layer.input) != layer.in.size()) std::abort();
    if (layer.addend >= 0 && values_of(layer.addend) != layer.out.size()) std::abort();
    int channels = layer.in.channels;
    for (const Layer::Part& part : layer.parts) {
      if (part.tensor < 0 || part.tensor >= before) std::abort();
      const auto pixels = static_cast<std::size_t>(layer.in.height * layer.in.width);
      if (values_of(part.tensor) != static_cast<std::size_t>(part.channels) * pixels) std::abort();
      channels += part.channels;
    }
    if (layer.kind != Layer::Kind::kConvolution && channels != layer.out.channels) std::abort();
    values += layer.out.size();
    shapes.push_back(layer.out);
  }
  if (!(graph.flop_count() >= 0)) std::abort();
  if (graph.flop_count() > 1e5 || values > 1e4) return true;  // larger ones cover no more code
  const auto network = MakeLayerNetwork(graph);
  std::vector<float> logits(network->classes());
  network->logits(like.values, logits);
  return true;
}

inline bool FuzzPpm(const std::uint8_t* data, std::size_t size) {
  try {
    const Image image =
        ReadPpm(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.ppm");
    if ((image.channels != 1 && image.channels != 3) || image.values.size() != image.size() ||
        image.size() == 0) {
      std::abort();
    }
    for (const float x : image.values) {
      if (!(x >= 0 && x <= 1)) std::abort();
    }
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

//! A field of a protocol buffer: where its key, its content and its end are.
struct ProtocolField {
  std::size_t begin, content, end;
  bool message;  //!< bytes, which may hold fields in turn
};

//! The fields of bytes[from, to), as far as they can be read; `into` gets those within them too.
inline void FieldsOf(std::string_view bytes, std::size_t from, std::size_t to, int depth,
                     std::vector<ProtocolField>& into) {
  const auto number = [&](std::size_t& at) {
    std::uint64_t value = 0;
    for (int shift = 0; at < to && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  for (std::size_t at = from; at < to;) {
    const std::size_t begin = at;
    const std::uint64_t kind = number(at) & 7;
    std::size_t content = at;
    std::uint64_t length = kind == 1 ? 8 : kind == 5 ? 4 : 0;
    if (kind == 0) number(at);
    if (kind == 2) {
      length = number(at);
      content = at;
    }
    if (kind == 3 || kind == 4 || kind > 5 || length > to - at) return;
    at += static_cast<std::size_t>(length);
    into.push_back({begin, content, at, kind == 2});
    if (kind == 2 && depth < 5) FieldsOf(bytes, content, at, depth + 1, into);
  }
}

//! A network with a field repeated, left out, moved or with other bytes; the lengths around it
//! follow.
inline std::string MutateOnnx(std::string_view bytes, fuzzing::Random& random) {
  std::vector<ProtocolField> fields;
  FieldsOf(bytes, 0, bytes.size(), 0, fields);
  if (fields.empty()) return std::string(bytes);
  const ProtocolField field = random.Of(fields), other = random.Of(fields);
  const std::size_t choice = random(4);
  std::string part(bytes.substr(field.begin, field.end - field.begin));
  if (choice == 0) part.clear();
  if (choice == 1) part += part;
  if (choice == 2) part = bytes.substr(other.begin, other.end - other.begin);
  if (choice == 3) part.back() = static_cast<char>(random(2) == 0 ? random(256) : random(4));
  std::string text = std::string(bytes.substr(0, field.begin)) + part;
  text += bytes.substr(field.end);
  // From the inside out: whatever holds the field has another length now.
  const auto grown = static_cast<std::ptrdiff_t>(part.size()) -
                     static_cast<std::ptrdiff_t>(field.end - field.begin);
  std::ptrdiff_t more = grown;
  for (auto around = fields.rbegin(); around != fields.rend(); ++around) {
    if (!around->message || around->content > field.begin || around->end < field.end) continue;
    const auto was = static_cast<std::ptrdiff_t>(around->end - around->content);
    if (around->begin == field.begin || was + more < 0) continue;
    std::string length;
    for (auto rest = static_cast<std::uint64_t>(was + more);; rest >>= 7) {
      length += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
      if (rest < 128) break;
    }
    std::size_t key = around->begin;
    while ((bytes[key] & 0x80) != 0) ++key;
    const std::size_t had = around->content - (key + 1);
    text.replace(key + 1, had, length);
    more += static_cast<std::ptrdiff_t>(length.size()) - static_cast<std::ptrdiff_t>(had);
  }
  return text;
}

}  // namespace retable::experiments
