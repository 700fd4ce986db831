#pragma once
//! @file
//! The layers of convolutional classifiers, read from ONNX files, for an evaluator that has a CPU
//! and a CUDA backend with the same bits: convolutions (a dense layer is one of a single pixel),
//! averages and maxima over windows (a copy is one of a single pixel), sums, products and
//! activations.

#include <memory>
#include <string_view>
#include <vector>

#include "experiments/shapley/games/images/convolution.hpp"
#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {

struct ImageShape {
  int channels = 0, height = 0, width = 0;

  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const ImageShape&) const = default;
};

//! out = clip(function(f(in)) * the factor's tensor + the addend's tensor), where f is a
//! convolution with a bias, or the average or the maximum over a window, times a factor and plus a
//! number for each channel. A factor's tensor may have one value for each channel. Tensor 0 is the
//! image, tensor k the output of layer k - 1; a layer may read it as another shape of the same
//! size.
struct Layer {
  enum class Kind { kConvolution, kAverage, kMaximum };
  //! A tensor whose channels follow those of the input and of the parts before it.
  struct Part {
    int tensor, channels;
  };

  Kind kind = Kind::kAverage;
  int input = 0;
  int addend = -1;  //!< -1: none
  int factor = -1;  //!< -1: none; not of convolutions
  bool factor_of_channel = false;
  std::vector<Part> parts;  //!< not of convolutions
  Function function;        //!< not of convolutions
  Clip clip;
  ImageShape in, out;
  Window window;
  int counted_height = 0, counted_width = 0;  //!< as PoolShape has them
  //! ONNX's groups: section s of the output channels reads section s of the input channels.
  int sections = 1;
  //! [output channel][input channel of its section][row][column]; of other layers one factor a
  //! channel, or none.
  std::vector<float> weights;
  std::vector<float> bias;  //!< one an output channel; empty where there are no weights
};

//! Layers in an order in which each reads only what came before; the last gives the logits.
struct LayerGraph {
  ImageShape image;
  std::vector<Layer> layers;

  std::size_t classes() const { return layers.back().out.size(); }
  //! Multiplications and additions for one image.
  double flop_count() const;
};

//! The layers of an ONNX network for images of the shape of `like`. Weights are taken as float32.
//! What acts on each value or channel joins the layer before it where nobody else reads that one's
//! output. A Softmax or LogSoftmax at the end is passed over: the log-odds of its probabilities are
//! those of the logits before it. @throws std::invalid_argument, which names the operator or the
//! tensor, for anything else, for bytes that are no ONNX, and for shapes that do not fit.
LayerGraph ReadLayers(std::string_view onnx, const Image& like);

//! How many groups of at most `group` output channels each section has.
int GroupsOfSection(const Layer& layer, int group);
//! What a layer has for each output channel, its weights or its bias, in groups of `group` output
//! channels of one section, the last of each filled up with zeros: [group of
//! outputs][value][group].
std::vector<float> PackChannels(const std::vector<float>& values, const Layer& layer, int group);

//! The calls that compute a layer which is no convolution: one for the input and one for each part.
//! `call`: without shape, values and in, the other arrays beginning with the layer's first channel.
//! `tensor(k)`: where tensor k lies.
template <class Tensor>
std::vector<PoolCall> PoolCalls(const Layer& layer, PoolCall call, const Tensor& tensor) {
  const ImageShape& in = layer.in;
  call.shape = {in.height,           in.width,
                layer.out.height,    layer.out.width,
                layer.window,        layer.counted_height,
                layer.counted_width, layer.kind == Layer::Kind::kMaximum};
  std::vector<PoolCall> calls;
  const auto append = [&](Layer::Part part) {
    call.in = tensor(part.tensor);
    call.values = part.channels * layer.out.height * layer.out.width;
    calls.push_back(call);
    const std::size_t done = static_cast<std::size_t>(call.values) * call.images;
    call.out += done;
    Others& others = call.others;
    if (others.addend != nullptr) others.addend += done;
    if (others.factor != nullptr) {
      const auto channels = static_cast<std::size_t>(part.channels);
      others.factor += others.factor_of_channel ? channels * call.images : done;
    }
    if (call.scale == nullptr) return;
    call.scale += part.channels;
    call.shift += part.channels;
  };
  append({layer.input, in.channels});
  for (const Layer::Part& part : layer.parts) append(part);
  return calls;
}

//! Where layers keep their outputs, so that few are kept at a time: outputs of layers with the same
//! slot are never needed together.
struct Slots {
  std::vector<int> of;             //!< one a layer
  std::vector<std::size_t> sizes;  //!< the most values of one image in a slot
};
Slots AssignSlots(const LayerGraph& graph);

//! The CPU backend: every image on its own by direct sums, the same bits as on CUDA. One
//! thread. It is the reference of tests and of the device; OpenCV runs the experiments.
std::unique_ptr<ImageNetwork> MakeLayerNetwork(LayerGraph graph);

}  // namespace retable::experiments
