#include "experiments/shapley/games/images/layers.hpp"

#include <algorithm>

#include "base/simd_target.hpp"
#include "experiments/shapley/games/images/convolution.hpp"

namespace retable::experiments {
namespace {

constexpr int kImages = 16;  // at a time: a vector of AVX-512
constexpr int kGroup = 8;    // output channels at a time

ConvolutionShape ShapeOf(const Layer& layer) {
  return {layer.in.channels,   layer.in.height,    layer.in.width,
          layer.kernel_height, layer.kernel_width, layer.stride_y,
          layer.stride_x,      layer.top,          layer.left};
}

// All outputs of one group of channels, [channel of the group][row][column][image].
RETABLE_CLONES void ConvolveGroup(const ConvolutionShape& shape, const PlaneSource& source,
                                  const float* weights, const float* bias, int outputs,
                                  const ImageShape& out, float* to) {
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      float sum[kGroup][kImages];
      for (int o = 0; o < kGroup; ++o) {
        for (int k = 0; k < kImages; ++k) sum[o][k] = o < outputs ? bias[o] : 0.0f;
      }
      Convolve<kGroup, kImages>(shape, source, weights, 0, shape.channels, y, x, 0, sum);
      for (int o = 0; o < outputs; ++o) {
        std::copy_n(sum[o], kImages, to + ((o * out.height + y) * out.width + x) * kImages);
      }
    }
  }
}

class LayerNetwork final : public ImageNetwork {
 public:
  explicit LayerNetwork(LayerGraph graph) : graph_(std::move(graph)) {
    for (const Layer& layer : graph_.layers) packed_.push_back(PackWeights(layer, kGroup));
  }
  std::size_t classes() const override { return graph_.classes(); }
  double flop_count() const override { return graph_.flop_count(); }

  void logits(std::span<const float> images, std::span<float> logits) const override {
    const std::size_t size = graph_.image.size(), count = images.size() / size;
    for (std::size_t from = 0; from < count; from += kImages) {
      const std::size_t here = std::min<std::size_t>(kImages, count - from);
      std::vector<std::vector<float>> tensors(1);
      tensors[0].assign(size * kImages, 0.0f);
      for (std::size_t k = 0; k < here; ++k) {
        for (std::size_t i = 0; i < size; ++i) {
          tensors[0][i * kImages + k] = images[(from + k) * size + i];
        }
      }
      for (std::size_t l = 0; l < graph_.layers.size(); ++l) Run(l, tensors);
      for (std::size_t k = 0; k < here; ++k) {
        for (std::size_t c = 0; c < classes(); ++c) {
          logits[(from + k) * classes() + c] = tensors.back()[c * kImages + k];
        }
      }
    }
  }

 private:
  void Run(std::size_t l, std::vector<std::vector<float>>& tensors) const {
    const Layer& layer = graph_.layers[l];
    const std::vector<float>& in = tensors[static_cast<std::size_t>(layer.input)];
    std::vector<float> out;
    if (layer.kind == Layer::Kind::kConvolution) {
      out = Convolution(layer, packed_[l], in);
    } else if (layer.kind == Layer::Kind::kAverage) {
      out = Average(layer, in);
    } else {
      out = in;
    }
    const float* addend =
        layer.addend < 0 ? nullptr : tensors[static_cast<std::size_t>(layer.addend)].data();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = Finish(out[i], addend == nullptr ? 0.0f : addend[i], layer.relu);
    }
    tensors.push_back(std::move(out));
  }

  static std::vector<float> Convolution(const Layer& layer, const std::vector<float>& weights,
                                        const std::vector<float>& in) {
    const int groups = (layer.out.channels + kGroup - 1) / kGroup;
    const std::size_t slab = weights.size() / static_cast<std::size_t>(groups);
    const auto plane = static_cast<std::size_t>(layer.out.height * layer.out.width * kImages);
    std::vector<float> out(layer.out.size() * kImages);
    for (int group = 0; group < groups; ++group) {
      const auto g = static_cast<std::size_t>(group), first = g * kGroup;
      ConvolveGroup(ShapeOf(layer), {in.data(), kImages}, weights.data() + g * slab,
                    layer.bias.data() + first,
                    std::min(kGroup, layer.out.channels - group * kGroup), layer.out,
                    out.data() + first * plane);
    }
    return out;
  }

  static std::vector<float> Average(const Layer& layer, const std::vector<float>& in) {
    const auto pixels = static_cast<std::size_t>(layer.in.height * layer.in.width);
    std::vector<float> out(layer.out.size() * kImages);
    for (std::size_t c = 0; c < layer.out.size(); ++c) {
      for (std::size_t k = 0; k < kImages; ++k) {
        out[c * kImages + k] = AverageOf(in.data() + c * pixels * kImages + k, pixels, kImages);
      }
    }
    return out;
  }

  LayerGraph graph_;
  std::vector<std::vector<float>> packed_;
};

}  // namespace

std::vector<float> PackWeights(const Layer& layer, int group) {
  const auto out = static_cast<std::size_t>(layer.out.channels);
  const auto width = static_cast<std::size_t>(group);
  const std::size_t groups = (out + width - 1) / width, terms = layer.weights.size() / out;
  std::vector<float> packed(groups * terms * width, 0.0f);
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t t = 0; t < terms; ++t) {
      packed[(o / width * terms + t) * width + o % width] = layer.weights[o * terms + t];
    }
  }
  return packed;
}

Slots AssignSlots(const LayerGraph& graph) {
  const std::size_t count = graph.layers.size();
  std::vector<std::size_t> last(count + 1, 0);  // the layer that reads a tensor last
  for (std::size_t l = 0; l < count; ++l) {
    last[static_cast<std::size_t>(graph.layers[l].input)] = l;
    if (graph.layers[l].addend >= 0) last[static_cast<std::size_t>(graph.layers[l].addend)] = l;
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
