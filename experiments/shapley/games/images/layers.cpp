#include "experiments/shapley/games/images/layers.hpp"

#include <algorithm>

#include "base/simd_target.hpp"

namespace retable::experiments {
namespace {

constexpr int kImages = 8;  // at a time: a vector of AVX2; 16 took twice the time
constexpr int kGroup = 8;   // output channels at a time

// All outputs of one group of channels, [channel of the group][row][column][image]; `first`: the
// first input channel.
RETABLE_CLONES void ConvolveGroup(const ConvolutionShape& shape, const PlaneSource& source,
                                  int first, const float* weights, const float* bias, int outputs,
                                  const ImageShape& out, float* to) {
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      float sum[kGroup][kImages];
      for (int o = 0; o < kGroup; ++o) {
        for (int k = 0; k < kImages; ++k) sum[o][k] = bias[o];
      }
      Convolve<kGroup, kImages>(shape, source, weights, first, first + shape.channels, y, x, 0,
                                sum);
      for (int o = 0; o < outputs; ++o) {
        const auto pixel = static_cast<std::size_t>((o * out.height + y) * out.width + x);
        std::copy_n(sum[o], kImages, to + pixel * kImages);
      }
    }
  }
}

class LayerNetwork final : public ImageNetwork {
 public:
  explicit LayerNetwork(LayerGraph graph) : graph_(std::move(graph)), slots_(AssignSlots(graph_)) {
    for (const Layer& layer : graph_.layers) {
      const bool packs = layer.kind == Layer::Kind::kConvolution;
      weights_.push_back(packs ? PackChannels(layer.weights, layer, kGroup) : layer.weights);
      biases_.push_back(packs ? PackChannels(layer.bias, layer, kGroup) : layer.bias);
    }
  }
  std::size_t classes() const override { return graph_.classes(); }
  double flop_count() const override { return graph_.flop_count(); }

  void logits(std::span<const float> images, std::span<float> logits) const override {
    const std::size_t size = graph_.image.size(), count = images.size() / size;
    Tensors tensors;
    tensors.image.assign(size * kImages, 0.0f);
    for (const std::size_t values : slots_.sizes) tensors.slots.emplace_back(values * kImages);
    for (std::size_t from = 0; from < count; from += kImages) {
      const std::size_t here = std::min<std::size_t>(kImages, count - from);
      for (std::size_t k = 0; k < here; ++k) {
        for (std::size_t i = 0; i < size; ++i) {
          tensors.image[i * kImages + k] = images[(from + k) * size + i];
        }
      }
      for (std::size_t l = 0; l < graph_.layers.size(); ++l) Run(l, tensors);
      const float* last = At(static_cast<int>(graph_.layers.size()), tensors);
      for (std::size_t k = 0; k < here; ++k) {
        for (std::size_t c = 0; c < classes(); ++c) {
          logits[(from + k) * classes() + c] = last[c * kImages + k];
        }
      }
    }
  }

 private:
  // Of kImages images.
  struct Tensors {
    std::vector<float> image;
    std::vector<std::vector<float>> slots;
  };

  const float* At(int tensor, const Tensors& tensors) const {
    if (tensor == 0) return tensors.image.data();
    const int slot = slots_.of[static_cast<std::size_t>(tensor) - 1];
    return tensors.slots[static_cast<std::size_t>(slot)].data();
  }

  void Run(std::size_t l, Tensors& tensors) const {
    const Layer& layer = graph_.layers[l];
    float* out = tensors.slots[static_cast<std::size_t>(slots_.of[l])].data();
    const float* addend = layer.addend < 0 ? nullptr : At(layer.addend, tensors);
    if (layer.kind == Layer::Kind::kConvolution) {
      Convolution(l, At(layer.input, tensors), out);
      for (std::size_t i = 0; i < layer.out.size() * kImages; ++i) {
        out[i] = Finish(out[i], addend == nullptr ? 0.0f : addend[i], layer.clip);
      }
      return;
    }
    const float* scale = layer.weights.empty() ? nullptr : layer.weights.data();
    const auto at = [&](int tensor) { return At(tensor, tensors); };
    const Others others{layer.factor < 0 ? nullptr : at(layer.factor), layer.factor_of_channel,
                        addend};
    const PoolCall call{{},     0,   nullptr, scale,          layer.bias.data(),
                        others, out, kImages, layer.function, layer.clip};
    for (const PoolCall& part : PoolCalls(layer, call, at)) {
      for (int value = 0; value < part.values; ++value) {
        for (std::size_t k = 0; k < kImages; ++k) PoolValue(part, value, k);
      }
    }
  }

  void Convolution(std::size_t l, const float* in, float* out) const {
    const Layer& layer = graph_.layers[l];
    const int outputs = layer.out.channels / layer.sections;
    const int groups = GroupsOfSection(layer, kGroup);
    const ConvolutionShape shape{layer.in.channels / layer.sections, layer.in.height,
                                 layer.in.width, layer.window};
    const std::size_t slab = weights_[l].size() / static_cast<std::size_t>(groups * layer.sections);
    const auto plane = static_cast<std::size_t>(layer.out.height * layer.out.width) * kImages;
    for (int group = 0; group < groups * layer.sections; ++group) {
      const int section = group / groups, done = group % groups * kGroup;
      const auto g = static_cast<std::size_t>(group);
      ConvolveGroup(shape, {in, kImages}, section * shape.channels, weights_[l].data() + g * slab,
                    biases_[l].data() + g * kGroup, std::min(kGroup, outputs - done), layer.out,
                    out + static_cast<std::size_t>(section * outputs + done) * plane);
    }
  }

  LayerGraph graph_;
  Slots slots_;
  std::vector<std::vector<float>> weights_, biases_;  // packed
};

}  // namespace

int GroupsOfSection(const Layer& layer, int group) {
  return (layer.out.channels / layer.sections + group - 1) / group;
}

std::vector<float> PackChannels(const std::vector<float>& values, const Layer& layer, int group) {
  const auto out = static_cast<std::size_t>(layer.out.channels);
  const auto outputs = out / static_cast<std::size_t>(layer.sections);  // of a section
  const auto width = static_cast<std::size_t>(group);
  const auto groups = static_cast<std::size_t>(GroupsOfSection(layer, group));
  const std::size_t terms = values.size() / out;
  std::vector<float> packed(groups * static_cast<std::size_t>(layer.sections) * terms * width);
  for (std::size_t o = 0; o < out; ++o) {
    const std::size_t within = o % outputs, pack = o / outputs * groups + within / width;
    for (std::size_t t = 0; t < terms; ++t) {
      packed[(pack * terms + t) * width + within % width] = values[o * terms + t];
    }
  }
  return packed;
}

Slots AssignSlots(const LayerGraph& graph) {
  const std::size_t count = graph.layers.size();
  std::vector<std::size_t> last(count + 1, 0);  // the layer that reads a tensor last
  for (std::size_t l = 0; l < count; ++l) {
    const Layer& layer = graph.layers[l];
    last[static_cast<std::size_t>(layer.input)] = l;
    for (const int tensor : {layer.addend, layer.factor}) {
      if (tensor >= 0) last[static_cast<std::size_t>(tensor)] = l;
    }
    for (const Layer::Part& part : layer.parts) last[static_cast<std::size_t>(part.tensor)] = l;
  }
  last[count] = count;
  Slots slots;
  std::vector<std::size_t> taken_by;  // the tensor in each slot
  for (std::size_t l = 0; l < count; ++l) {
    // A slot is free when its tensor has been read by an earlier layer for the last time.
    const auto free = std::find_if(taken_by.begin(), taken_by.end(),
                                   [&](std::size_t tensor) { return last[tensor] < l; });
    const auto slot = static_cast<std::size_t>(free - taken_by.begin());
    if (free == taken_by.end()) {
      taken_by.push_back(0);
      slots.sizes.push_back(0);
    }
    taken_by[slot] = l + 1;
    slots.of.push_back(static_cast<int>(slot));
    slots.sizes[slot] = std::max(slots.sizes[slot], graph.layers[l].out.size());
  }
  return slots;
}

std::unique_ptr<ImageNetwork> MakeLayerNetwork(LayerGraph graph) {
  return std::make_unique<LayerNetwork>(std::move(graph));
}

}  // namespace retable::experiments
