#pragma once
//! @file
//! Networks that classify images, read from ONNX. OpenCV's DNN module runs them; where the program
//! was built without it there are none.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retable::experiments {

//! Values in planes: channels x height x width.
struct Image {
  std::size_t channels = 0, height = 0, width = 0;
  std::vector<float> values;

  std::size_t size() const { return channels * height * width; }
};

//! Images in, one logit per class out. Calls are const and may come from many threads.
class ImageNetwork {
 public:
  virtual ~ImageNetwork() = default;
  virtual std::size_t classes() const = 0;
  //! Images that it runs at a time.
  virtual std::size_t batch() const { return 1; }
  //! Additions and multiplications for one image; 0: not known.
  virtual double flop_count() const { return 0; }
  //! logits[k * classes() ...] of image k; images lie one after the other.
  virtual void logits(std::span<const float> images, std::span<float> logits) const = 0;
};

//! The reason why networks cannot be read here, or nothing.
std::optional<std::string> WhyNoNetworks();

//! A network from the bytes of an ONNX file, for images of the shape of `like` (its values are not
//! read). It runs `batch` images at a time, padded with zeros, so that one image has the same
//! answer in every batch. `threads` is the process's number for all networks; 0: every core.
//! @throws std::invalid_argument for bytes that are no ONNX network of that input, or a program
//! built without OpenCV or separated from its library.
std::unique_ptr<ImageNetwork> ReadOnnx(std::string_view bytes, const Image& like, std::size_t batch,
                                       int threads = 1);

//! The file of a network that the program carries: "digits" or "fashion" (networks/train.py).
std::string_view NetworkFile(const std::string& name);

}  // namespace retable::experiments
