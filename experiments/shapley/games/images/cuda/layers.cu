//! @file
//! The image game on a CUDA device: only masks of coalitions are uploaded, and log-odds downloaded.
//!
//! Convolutions by direct sums. A lane holds kImages images of one pixel for a group of output
//! channels in registers; images lie innermost in memory, so that a warp reads 512 neighbouring
//! bytes of one pixel, and all its lanes share the weights, which a block keeps in shared memory.
//! Edges of the image are the same for a whole warp and cost nothing.

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>

#include "base/cuda/memory.hpp"
#include "experiments/shapley/games/images/convolution.hpp"
#include "experiments/shapley/games/images/cuda/tuning.cuh"
#include "experiments/shapley/games/images/game.hpp"

namespace retable::experiments {
namespace {

// Four neighbouring images of a lane by one load.
struct DevicePlanes : PlaneSource {
  struct Cursor : PlaneSource::Cursor {
    __device__ void Load(float (&to)[kImages]) const {
      const float4 four = __ldg(reinterpret_cast<const float4*>(at));
      to[0] = four.x;
      to[1] = four.y;
      to[2] = four.z;
      to[3] = four.w;
    }
  };
  __device__ Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    return {PlaneSource::At(s, c, y, x, image)};
  }
};

struct DeviceTiles : TileSource {
  struct Cursor : TileSource::Cursor {
    __device__ void Load(float (&to)[kImages]) const {
      const uint4 four = __ldg(reinterpret_cast<const uint4*>(Masks()));
      to[0] = Pick(four.x);
      to[1] = Pick(four.y);
      to[2] = Pick(four.z);
      to[3] = Pick(four.w);
    }
  };
  __device__ Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    return {TileSource::At(s, c, y, x, image)};
  }
};

// Of one section: output channels, and the groups that they are in.
struct OutShape {
  int channels, groups, width, pixels;
};

struct ConvolutionCall {
  ConvolutionShape shape;
  const float* weights;  // packed in groups
  const float* bias;     // filled up to whole groups
  const float* addend;   // or null
  float* out;
  std::size_t images;  // capacity of every array
  OutShape out_shape;
  int slab_channels;  // input channels whose weights are kept at a time
  Clip clip;
};

template <int kOut, class Source>
__global__ void __launch_bounds__(32 * kWarps) ConvolveLayer(ConvolutionCall call, Source source) {
  extern __shared__ float4 slab[];
  const ConvolutionShape& s = call.shape;
  const int pixel = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x / 32);
  const int group = static_cast<int>(blockIdx.z);
  const std::size_t image = std::size_t{blockIdx.y} * kWarpImages + 4 * (threadIdx.x % 32);
  const int y = pixel / call.out_shape.width, x = pixel % call.out_shape.width;
  const int section = group / call.out_shape.groups;
  // Output channels of the section before this group, and the section's first input channel.
  const int done = group % call.out_shape.groups * kOut, first = section * s.channels;
  const int quads_of_channel = s.window.height * s.window.width * kOut / 4;
  const auto* weights = reinterpret_cast<const float4*>(call.weights) +
                        static_cast<std::size_t>(group) * s.channels * quads_of_channel;
  float sum[kOut][kImages];
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const float bias = call.bias[group * kOut + o];
#pragma unroll
    for (int k = 0; k < kImages; ++k) sum[o][k] = bias;
  }
  for (int from = 0; from < s.channels; from += call.slab_channels) {
    const int to = min(s.channels, from + call.slab_channels);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < (to - from) * quads_of_channel;
         i += 32 * kWarps) {
      slab[i] = weights[from * quads_of_channel + i];
    }
    __syncthreads();
    if (pixel < call.out_shape.pixels) {
      Convolve<kOut, kImages>(s, source, reinterpret_cast<const float*>(slab), first + from,
                              first + to, y, x, image, sum);
    }
  }
  if (pixel >= call.out_shape.pixels) return;
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    if (done + o >= call.out_shape.channels) return;
    const int channel = section * call.out_shape.channels + done + o;
    const std::size_t at =
        (static_cast<std::size_t>(channel) * call.out_shape.pixels + pixel) * call.images + image;
    float4 add = {0, 0, 0, 0};
    if (call.addend != nullptr) add = *reinterpret_cast<const float4*>(call.addend + at);
    const float* value = sum[o];
    // Kept in the L2, where the next layer finds it; and in one piece, which a plain store is not.
    __stcg(reinterpret_cast<float4*>(call.out + at),
           make_float4(Finish(value[0], add.x, call.clip), Finish(value[1], add.y, call.clip),
                       Finish(value[2], add.z, call.clip), Finish(value[3], add.w, call.clip)));
  }
}

// One thread to an image, one block to a value of kWarpImages images.
__global__ void __launch_bounds__(kWarpImages) PoolLayer(PoolCall call) {
  PoolValue(call, static_cast<int>(blockIdx.x),
            std::size_t{blockIdx.y} * kWarpImages + threadIdx.x);
}

// The image as its coalitions show it, for layers other than convolutions.
__global__ void __launch_bounds__(kWarpImages)
    DrawImages(TileSource source, ConvolutionShape shape, float* to) {
  const int pixels = shape.height * shape.width, value = static_cast<int>(blockIdx.x);
  const std::size_t image = std::size_t{blockIdx.y} * kWarpImages + threadIdx.x;
  const int pixel = value % pixels;
  float shown[1];
  source.At(shape, value / pixels, pixel / shape.width, pixel % shape.width, image).Load(shown);
  to[value * source.images + image] = shown[0];
}

// Masks by words of 32 players, images innermost; images beyond `count` see nothing.
__global__ void TurnMasks(const std::uint64_t* coalitions, std::size_t words, std::size_t count,
                          std::uint32_t* masks, std::size_t images) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= images * words) return;
  const std::size_t image = at % images, word = at / images;
  const std::uint64_t mask = image < count ? coalitions[image * words + word] : 0;
  masks[2 * word * images + image] = static_cast<std::uint32_t>(mask);
  masks[(2 * word + 1) * images + image] = static_cast<std::uint32_t>(mask >> 32);
}

__global__ void OddsOf(const float* logits, std::size_t classes, std::size_t images,
                       std::size_t answer, std::size_t count, double* odds) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image < count) odds[image] = LogOddsOf(logits + image, classes, images, answer);
}

unsigned Blocks(std::size_t threads) {
  return static_cast<unsigned>((threads + 255) / 256);
}

std::size_t ChannelBytes(const Window& window, int group) {
  return static_cast<std::size_t>(window.height) * static_cast<std::size_t>(window.width) *
         static_cast<std::size_t>(group) * sizeof(float);
}

// Output channels of a lane: as few groups as can be, of equal size, fewer where the kernel of one
// input channel does not fit into shared memory.
int GroupOf(const Layer& layer) {
  const int channels = layer.out.channels / layer.sections;
  const int groups = (channels + kMostGroup - 1) / kMostGroup;
  int group = ((channels + groups - 1) / groups + 3) / 4 * 4;
  while (group > 4 && ChannelBytes(layer.window, group) > SharedMemoryLimit()) group -= 4;
  if (ChannelBytes(layer.window, group) > SharedMemoryLimit()) {
    throw std::invalid_argument("a kernel of " + std::to_string(layer.window.height) + " x " +
                                std::to_string(layer.window.width) +
                                " does not fit into this GPU's shared memory");
  }
  constexpr int kMostBlocks = 65535;  // along the third axis of a grid
  if (GroupsOfSection(layer, group) > kMostBlocks / layer.sections) {
    throw std::invalid_argument(std::to_string(layer.out.channels) +
                                " channels of a convolution are too many for a GPU's grid");
  }
  return group;
}

template <int kOut, class Source>
void Launch(const ConvolutionCall& call, const Source& source, int groups) {
  const std::size_t bytes =
      static_cast<std::size_t>(call.slab_channels) * ChannelBytes(call.shape.window, kOut);
  if (bytes > 48 << 10) AllowSharedMemory(ConvolveLayer<kOut, Source>, bytes);
  const dim3 grid(static_cast<unsigned>((call.out_shape.pixels + kWarps - 1) / kWarps),
                  static_cast<unsigned>(call.images / kWarpImages), static_cast<unsigned>(groups));
  ConvolveLayer<kOut><<<grid, 32 * kWarps, bytes>>>(call, source);
  RETABLE_CUDA_CHECK(cudaGetLastError());
}

template <class Source>
void LaunchGroup(int group, const ConvolutionCall& call, const Source& source, int groups) {
  switch (group) {
    case 4:
      return Launch<4>(call, source, groups);
    case 8:
      return Launch<8>(call, source, groups);
    case 12:
      return Launch<12>(call, source, groups);
    case 16:
      return Launch<16>(call, source, groups);
    case 20:
      return Launch<20>(call, source, groups);
    default:
      return Launch<24>(call, source, groups);
  }
}

struct DeviceLayer {
  Layer layer;  // without its weights
  int group = 0;
  DeviceArray<float> weights, bias;  // of convolutions in groups
};

// The layers for one image under many coalitions of its tiles. Keeps its memory between calls.
class DeviceLayers {
 public:
  DeviceLayers(const LayerGraph& graph, const TiledImage& tiled)
      : classes_(graph.classes()),
        players_(tiled.players),
        image_shape_(graph.image),
        slots_(AssignSlots(graph)),
        outputs_(slots_.sizes.size()) {
    for (const Layer& layer : graph.layers) layers_.push_back(Prepare(layer));
    shown_.Upload(tiled.image.values);
    black_.Upload(tiled.black);
    player_.Upload(tiled.player);
    for (const Layer& layer : graph.layers) draws_ = draws_ || ReadsDrawnImage(layer);
    std::size_t values = draws_ ? graph.image.size() : 0;
    for (const std::size_t size : slots_.sizes) values += size;
    const std::size_t fit = kMostBytes / (values * sizeof(float)) / kWarpImages * kWarpImages;
    most_images_ = std::clamp<std::size_t>(fit, kWarpImages, kMostImages);
  }

  int players() const { return players_; }

  // values[k] = log-odds of class `answer` under coalition k.
  void LogOdds(std::span<const std::uint64_t> coalitions, std::size_t answer,
               std::span<double> values) {
    Run(coalitions, [&](std::size_t from, std::size_t count, const float* logits) {
      OddsOf<<<Blocks(count), 256>>>(logits, classes_, images_, answer, count,
                                     odds_.Reserve(count));
      RETABLE_CUDA_CHECK(cudaGetLastError());
      odds_.Download(values.subspan(from, count));
    });
  }

  // [coalition][class]
  std::vector<float> Logits(std::span<const std::uint64_t> coalitions) {
    std::vector<float> all;
    Run(coalitions, [&](std::size_t, std::size_t count, const float* logits) {
      std::vector<float> turned(classes_ * images_);
      RETABLE_CUDA_CHECK(
          cudaMemcpy(turned.data(), logits, turned.size() * sizeof(float), cudaMemcpyDeviceToHost));
      for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t c = 0; c < classes_; ++c) all.push_back(turned[c * images_ + k]);
      }
    });
    return all;
  }

 private:
  // For the coalitions in batches: use(first, count, the logits, images innermost).
  template <class Use>
  void Run(std::span<const std::uint64_t> coalitions, const Use& use) {
    const std::size_t words = (static_cast<std::size_t>(players_) + 63) / 64;
    const std::size_t count = coalitions.size() / words;
    if (count == 0) return;
    const std::size_t batches = (count + most_images_ - 1) / most_images_;
    const std::size_t batch = (count + batches - 1) / batches;
    for (std::size_t from = 0; from < count; from += batch) {
      const std::size_t here = std::min(batch, count - from);
      images_ = (here + kWarpImages - 1) / kWarpImages * kWarpImages;
      const std::uint64_t* uploaded =
          coalitions_.Upload(coalitions.subspan(from * words, here * words));
      TurnMasks<<<Blocks(images_ * words), 256>>>(uploaded, words, here,
                                                  masks_.Reserve(2 * words * images_), images_);
      RETABLE_CUDA_CHECK(cudaGetLastError());
      if (draws_) {
        const dim3 grid(static_cast<unsigned>(image_shape_.size()),
                        static_cast<unsigned>(images_ / kWarpImages));
        DrawImages<<<grid, kWarpImages>>>(
            Tiles(), {image_shape_.channels, image_shape_.height, image_shape_.width, {}},
            drawn_.Reserve(image_shape_.size() * images_));
        RETABLE_CUDA_CHECK(cudaGetLastError());
      }
      for (std::size_t l = 0; l < layers_.size(); ++l) RunLayer(l);
      use(from, here, Output(static_cast<int>(layers_.size())));
    }
  }

  static DeviceLayer Prepare(const Layer& layer) {
    DeviceLayer prepared;
    const bool packs = layer.kind == Layer::Kind::kConvolution;
    prepared.group = packs ? GroupOf(layer) : 1;
    const auto upload = [&](const std::vector<float>& values, DeviceArray<float>& to) {
      to.Upload(packs ? PackChannels(values, layer, prepared.group) : values);
    };
    upload(layer.weights, prepared.weights);
    upload(layer.bias, prepared.bias);
    prepared.layer = layer;
    prepared.layer.weights.clear();
    return prepared;
  }

  // A convolution looks at the masks itself, as long as it sees the image in its own shape.
  bool LooksAtMasks(const Layer& layer) const {
    return layer.kind == Layer::Kind::kConvolution && layer.input == 0 && layer.in == image_shape_;
  }
  bool ReadsDrawnImage(const Layer& layer) const {
    const bool part = std::any_of(layer.parts.begin(), layer.parts.end(),
                                  [](const Layer::Part& one) { return one.tensor == 0; });
    return part || layer.addend == 0 || layer.factor == 0 ||
           (layer.input == 0 && !LooksAtMasks(layer));
  }

  TileSource Tiles() const {
    return {shown_.data(), black_.data(), player_.data(), masks_.data(), images_};
  }
  float* Output(int tensor) const {
    if (tensor == 0) return drawn_.data();
    return outputs_[static_cast<std::size_t>(slots_.of[static_cast<std::size_t>(tensor) - 1])]
        .data();
  }

  void RunLayer(std::size_t l) {
    const DeviceLayer& prepared = layers_[l];
    const Layer& layer = prepared.layer;
    const auto slot = static_cast<std::size_t>(slots_.of[l]);
    float* out = outputs_[slot].Reserve(slots_.sizes[slot] * images_);
    const float* addend = layer.addend < 0 ? nullptr : Output(layer.addend);
    if (layer.kind == Layer::Kind::kConvolution) return Convolve(prepared, addend, out);
    const Others others{layer.factor < 0 ? nullptr : Output(layer.factor), layer.factor_of_channel,
                        addend};
    const PoolCall call{{},     0,   nullptr, prepared.weights.data(), prepared.bias.data(),
                        others, out, images_, layer.function,          layer.clip};
    for (const PoolCall& part : PoolCalls(layer, call, [&](int k) { return Output(k); })) {
      const dim3 grid(static_cast<unsigned>(part.values),
                      static_cast<unsigned>(images_ / kWarpImages));
      PoolLayer<<<grid, kWarpImages>>>(part);
      RETABLE_CUDA_CHECK(cudaGetLastError());
    }
  }

  void Convolve(const DeviceLayer& prepared, const float* addend, float* out) const {
    const Layer& layer = prepared.layer;
    const ConvolutionShape shape{layer.in.channels / layer.sections, layer.in.height,
                                 layer.in.width, layer.window};
    const int groups = GroupsOfSection(layer, prepared.group);
    const auto fit = std::max<std::size_t>(1, kSlab / ChannelBytes(layer.window, prepared.group));
    const ConvolutionCall call{shape,
                               prepared.weights.data(),
                               prepared.bias.data(),
                               addend,
                               out,
                               images_,
                               {layer.out.channels / layer.sections, groups, layer.out.width,
                                layer.out.height * layer.out.width},
                               std::min(shape.channels, static_cast<int>(fit)),
                               layer.clip};
    if (LooksAtMasks(layer)) {
      LaunchGroup(prepared.group, call, DeviceTiles{Tiles()}, groups * layer.sections);
    } else {
      LaunchGroup(prepared.group, call, DevicePlanes{{Output(layer.input), images_}},
                  groups * layer.sections);
    }
  }

  std::size_t classes_;
  int players_;
  ImageShape image_shape_;
  bool draws_ = false;
  Slots slots_;
  std::vector<DeviceLayer> layers_;
  std::vector<DeviceArray<float>> outputs_;  // of each slot, [value][image]
  DeviceArray<float> shown_, black_;
  DeviceArray<float> drawn_;  // where `draws_`
  DeviceArray<std::int32_t> player_;
  DeviceArray<std::uint64_t> coalitions_;
  DeviceArray<std::uint32_t> masks_;
  DeviceArray<double> odds_;
  std::size_t most_images_ = 0, images_ = 0;
};

class DeviceImageGame final : public shapley::Game {
 public:
  DeviceImageGame(const LayerGraph& graph, const TiledImage& image, std::size_t answer)
      : answer_(answer), layers_(graph, image) {}

  int dimension() const override { return layers_.players(); }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    const std::lock_guard lock(mutex_);
    layers_.LogOdds(coalitions, answer_, values);
  }
  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override {
    evaluate(shapley::Prefixes(orders, dimension()), values);
  }

 private:
  std::size_t answer_;
  mutable std::mutex mutex_;
  mutable DeviceLayers layers_;
};

}  // namespace

std::unique_ptr<shapley::Game> MakeDeviceImageGame(const LayerGraph& graph, const TiledImage& image,
                                                   std::size_t answer) {
  if (graph.classes() < 2) throw std::invalid_argument("a network of one class has no odds");
  return std::make_unique<DeviceImageGame>(graph, image, answer);
}

std::vector<float> DeviceLogits(const LayerGraph& graph, const TiledImage& image,
                                std::span<const std::uint64_t> coalitions) {
  return DeviceLayers(graph, image).Logits(coalitions);
}

}  // namespace retable::experiments
