#pragma once
//! @file
//! The few layers that the program's own image networks consist of, read from the same ONNX files,
//! for an evaluator that has a CPU and a CUDA backend with the same bits: convolutions (a dense
//! layer is one of the whole image), sums, ReLU, and the average over the image.

#include <memory>
#include <string_view>
#include <vector>

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

//! out = convolution(in) + bias, or in itself, or its average over the image; then + the addend's
//! tensor; then ReLU. Tensor 0 is the image, tensor k the output of layer k - 1.
struct Layer {
  enum class Kind { kConvolution, kCopy, kAverage };

  Kind kind = Kind::kCopy;
  int input = 0;
  int addend = -1;  //!< -1: none
  bool relu = false;
  ImageShape in, out;
  // Convolutions only.
  int kernel_height = 1, kernel_width = 1, stride_y = 1, stride_x = 1;
  int top = 0, left = 0;       //!< rows and columns of zeros before the image
  std::vector<float> weights;  //!< [output channel][input channel][row][column]
  std::vector<float> bias;     //!< one an output channel
};

//! Layers in an order in which each reads only what came before; the last gives the logits.
struct LayerGraph {
  ImageShape image;
  std::vector<Layer> layers;

  std::size_t classes() const { return layers.back().out.size(); }
  //! Multiplications and additions for one image.
  double flop_count() const;
};

//! The layers of an ONNX network for images of the shape of `like`. Knows Conv, Relu, Add,
//! GlobalAveragePool, Flatten, Gemm and Identity in float32; sums and ReLU are joined to the
//! convolution before them. @throws std::invalid_argument, which names the operator or the tensor,
//! for anything else, for bytes that are no ONNX, and for shapes that do not fit.
LayerGraph ReadLayers(std::string_view onnx, const Image& like);

//! A convolution's weights in groups of `group` output channels, the last filled up with zeros:
//! [group of outputs][input channel][row][column][group].
std::vector<float> PackWeights(const Layer& layer, int group);

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
