// The part of the program that needs OpenCV: a library of its own, which games/images/network.cpp
// opens at run time, so that the program starts where OpenCV is absent.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {
namespace {

class OnnxNetwork final : public ImageNetwork {
 public:
  OnnxNetwork(std::string_view bytes, const Image& like, std::size_t batch, int threads)
      : image_(like.size()),
        batch_(batch),
        input_({static_cast<int>(batch), static_cast<int>(like.channels),
                static_cast<int>(like.height), static_cast<int>(like.width)},
               CV_32F) {
    if (batch == 0 || image_ == 0) throw std::invalid_argument("an empty batch or image");
    cv::setNumThreads(threads > 0 ? threads : -1);
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    try {
      network_ = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
      network_.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
      input_.setTo(0.0f);
      last_ = LayerOfLogits();
      classes_ = static_cast<std::size_t>(Forward().size[1]);
      const cv::dnn::MatShape shape(input_.size.p, input_.size.p + input_.dims);
      operations_ = static_cast<double>(network_.getFLOPS(shape)) / static_cast<double>(batch);
    } catch (const cv::Exception& problem) {
      throw std::invalid_argument("no ONNX network for images of " + std::to_string(like.channels) +
                                  " x " + std::to_string(like.height) + " x " +
                                  std::to_string(like.width) + ": " + problem.err);
    }
  }

  std::size_t classes() const override { return classes_; }
  std::size_t batch() const override { return batch_; }
  double flop_count() const override { return operations_; }

  void logits(std::span<const float> images, std::span<float> logits) const override {
    const std::size_t count = images.size() / image_;
    const std::lock_guard lock(mutex_);
    for (std::size_t from = 0; from < count; from += batch_) {
      const std::size_t here = std::min(batch_, count - from);
      float* input = input_.ptr<float>();
      std::copy_n(images.data() + from * image_, here * image_, input);
      std::fill(input + here * image_, input + batch_ * image_, 0.0f);
      const cv::Mat output = Forward();
      std::copy_n(output.ptr<float>(), here * classes_, logits.data() + from * classes_);
    }
  }

 private:
  // The last layer that is neither a Softmax nor a copy.
  std::string LayerOfLogits() {
    const std::vector<std::string> outputs = network_.getUnconnectedOutLayersNames();
    if (outputs.size() != 1) throw std::invalid_argument("the network has not one output");
    std::string last = outputs[0];
    for (int id = network_.getLayerId(last);; id = network_.getLayerId(last)) {
      const std::string& type = network_.getLayer(id)->type;
      if (type != "Softmax" && type != "Identity") return last;
      last = network_.getLayerInputs(id).at(0)->name;
    }
  }

  cv::Mat Forward() const {
    network_.setInput(input_);
    cv::Mat output = network_.forward(last_);
    if (output.dims != 2 || output.size[0] != static_cast<int>(batch_) || !output.isContinuous()) {
      throw std::invalid_argument("the network's output is not one row of logits for each image");
    }
    return output;
  }

  std::size_t image_, batch_, classes_ = 0;
  double operations_ = 0;
  std::string last_;  // the layer that gives logits
  mutable std::mutex mutex_;
  mutable cv::Mat input_;
  mutable cv::dnn::Net network_;
};

}  // namespace

// Null and the reason in `error` (zero-terminated, at most `room` bytes) where the bytes are no
// such network.
extern "C" __attribute__((visibility("default"))) ImageNetwork* RetableReadOnnx(
    const char* bytes, std::size_t size, const Image* like, std::size_t batch, int threads,
    char* error, std::size_t room) {
  try {
    return new OnnxNetwork({bytes, size}, *like, batch, threads);
  } catch (const std::exception& problem) {
    std::strncpy(error, problem.what(), room - 1);
    error[room - 1] = 0;
    return nullptr;
  }
}

}  // namespace retable::experiments
