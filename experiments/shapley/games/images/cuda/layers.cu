// Convolutions by direct sums. A lane holds kImages images of one pixel for a group of output
// channels in registers; images lie innermost in memory, so that a warp reads 512 neighbouring
// bytes of one pixel, and all its lanes share the weights, which a block keeps in shared memory.
// Edges of the image are the same for a whole warp and cost nothing.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/cuda/memory.hpp"
#include "experiments/shapley/games/images/convolution.hpp"
#include "experiments/shapley/games/images/cuda/layers.hpp"
#include "experiments/shapley/games/images/cuda/tuning.cuh"

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

struct OutShape {
  int channels, width, pixels;
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
  bool relu;
};

template <int kOut, class Source>
__global__ void __launch_bounds__(32 * kWarps) ConvolveLayer(ConvolutionCall call, Source source) {
  extern __shared__ float4 slab[];
  const ConvolutionShape& s = call.shape;
  const int pixel = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x / 32);
  const int group = static_cast<int>(blockIdx.z);
  const std::size_t image = std::size_t{blockIdx.y} * kWarpImages + 4 * (threadIdx.x % 32);
  const int y = pixel / call.out_shape.width, x = pixel % call.out_shape.width;
  const int quads_of_channel = s.kernel_height * s.kernel_width * kOut / 4;
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
      Convolve<kOut, kImages>(s, source, reinterpret_cast<const float*>(slab), from, to, y, x,
                              image, sum);
    }
  }
  if (pixel >= call.out_shape.pixels) return;
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const int channel = group * kOut + o;
    if (channel >= call.out_shape.channels) return;
    const std::size_t at =
        (static_cast<std::size_t>(channel) * call.out_shape.pixels + pixel) * call.images + image;
    float4 add = {0, 0, 0, 0};
    if (call.addend != nullptr) add = *reinterpret_cast<const float4*>(call.addend + at);
    const float* value = sum[o];
    // Kept in the L2, where the next layer finds it; and in one piece, which a plain store is not.
    __stcg(reinterpret_cast<float4*>(call.out + at),
           make_float4(Finish(value[0], add.x, call.relu), Finish(value[1], add.y, call.relu),
                       Finish(value[2], add.z, call.relu), Finish(value[3], add.w, call.relu)));
  }
}

// One thread to a value: `pixels` of them are averaged (1: copied).
__global__ void AverageLayer(const float* in, const float* addend, float* out, std::size_t images,
                             std::size_t values, std::size_t pixels, bool relu) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= values * images) return;
  const std::size_t image = at % images, value = at / images;
  const float* from = in + value * pixels * images + image;
  const float mean = pixels == 1 ? *from : AverageOf(from, pixels, images);
  out[at] = Finish(mean, addend == nullptr ? 0.0f : addend[at], relu);
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

// Output channels of a lane: as few groups as can be, of equal size.
int GroupOf(int channels) {
  const int groups = (channels + kMostGroup - 1) / kMostGroup;
  return ((channels + groups - 1) / groups + 3) / 4 * 4;
}

template <int kOut, class Source>
void Launch(const ConvolutionCall& call, const Source& source) {
  const std::size_t bytes = static_cast<std::size_t>(call.slab_channels) *
                            call.shape.kernel_height * call.shape.kernel_width * kOut *
                            sizeof(float);
  if (bytes > 48 << 10) AllowSharedMemory(ConvolveLayer<kOut, Source>, bytes);
  const dim3 grid(static_cast<unsigned>((call.out_shape.pixels + kWarps - 1) / kWarps),
                  static_cast<unsigned>(call.images / kWarpImages),
                  static_cast<unsigned>((call.out_shape.channels + kOut - 1) / kOut));
  ConvolveLayer<kOut><<<grid, 32 * kWarps, bytes>>>(call, source);
  RETABLE_CUDA_CHECK(cudaGetLastError());
}

template <class Source>
void LaunchGroup(int group, const ConvolutionCall& call, const Source& source) {
  switch (group) {
    case 4:
      return Launch<4>(call, source);
    case 8:
      return Launch<8>(call, source);
    case 12:
      return Launch<12>(call, source);
    case 16:
      return Launch<16>(call, source);
    case 20:
      return Launch<20>(call, source);
    default:
      return Launch<24>(call, source);
  }
}

struct DeviceLayer {
  Layer layer;  // without its weights
  int group = 0;
  DeviceArray<float> weights, bias;
};

}  // namespace

class DeviceLayers::State {
 public:
  State(const LayerGraph& graph, const TiledImage& tiled)
      : classes_(graph.classes()),
        players_(tiled.players),
        slots_(AssignSlots(graph)),
        outputs_(slots_.sizes.size()) {
    for (const Layer& layer : graph.layers) layers_.push_back(Prepare(layer));
    shown_.Upload(tiled.image.values);
    black_.Upload(tiled.black);
    player_.Upload(tiled.player);
    std::size_t values = 0;
    for (const std::size_t size : slots_.sizes) values += size;
    const std::size_t fit = kMostBytes / (values * sizeof(float)) / kWarpImages * kWarpImages;
    most_images_ = std::clamp<std::size_t>(fit, kWarpImages, kMostImages);
  }

  // For the coalitions in batches: use(first, count), with the logits at Logits().
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
      for (std::size_t l = 0; l < layers_.size(); ++l) RunLayer(l);
      use(from, here);
    }
  }

  const float* Logits() const { return Output(layers_.size()); }
  std::size_t images() const { return images_; }
  std::size_t classes() const { return classes_; }
  DeviceArray<double>& odds() { return odds_; }

 private:
  static DeviceLayer Prepare(const Layer& layer) {
    DeviceLayer prepared;
    if (layer.kind == Layer::Kind::kConvolution) {
      prepared.group = GroupOf(layer.out.channels);
      prepared.weights.Upload(PackWeights(layer, prepared.group));
      std::vector<float> bias = layer.bias;
      bias.resize(bias.size() + static_cast<std::size_t>(prepared.group), 0.0f);
      prepared.bias.Upload(bias);
    } else if (layer.input == 0) {
      throw std::invalid_argument("on a GPU a network must begin with a convolution");
    }
    if (layer.addend == 0) {
      throw std::invalid_argument("on a GPU the image itself cannot be added to a layer");
    }
    prepared.layer = layer;
    prepared.layer.weights.clear();
    return prepared;
  }

  float* Output(std::size_t tensor) const {
    return outputs_[static_cast<std::size_t>(slots_.of[tensor - 1])].data();
  }

  void RunLayer(std::size_t l) {
    const DeviceLayer& prepared = layers_[l];
    const Layer& layer = prepared.layer;
    const auto slot = static_cast<std::size_t>(slots_.of[l]);
    float* out = outputs_[slot].Reserve(slots_.sizes[slot] * images_);
    const float* addend =
        layer.addend < 0 ? nullptr : Output(static_cast<std::size_t>(layer.addend));
    if (layer.kind != Layer::Kind::kConvolution) {
      const std::size_t values = layer.out.size(), pixels = layer.in.size() / values;
      AverageLayer<<<Blocks(values * images_), 256>>>(Output(static_cast<std::size_t>(layer.input)),
                                                      addend, out, images_, values, pixels,
                                                      layer.relu);
      RETABLE_CUDA_CHECK(cudaGetLastError());
      return;
    }
    const auto channel_bytes = static_cast<std::size_t>(layer.kernel_height) *
                               static_cast<std::size_t>(layer.kernel_width) *
                               static_cast<std::size_t>(prepared.group) * sizeof(float);
    const int fit = static_cast<int>(std::max<std::size_t>(1, kSlab / channel_bytes));
    const ConvolutionCall call{
        {layer.in.channels, layer.in.height, layer.in.width, layer.kernel_height,
         layer.kernel_width, layer.stride_y, layer.stride_x, layer.top, layer.left},
        prepared.weights.data(),
        prepared.bias.data(),
        addend,
        out,
        images_,
        {layer.out.channels, layer.out.width, layer.out.height * layer.out.width},
        std::min(layer.in.channels, fit),
        layer.relu};
    if (layer.input == 0) {
      LaunchGroup(
          prepared.group, call,
          DeviceTiles{{shown_.data(), black_.data(), player_.data(), masks_.data(), images_}});
    } else {
      LaunchGroup(prepared.group, call,
                  DevicePlanes{{Output(static_cast<std::size_t>(layer.input)), images_}});
    }
  }

  std::size_t classes_;
  int players_;
  Slots slots_;
  std::vector<DeviceLayer> layers_;
  std::vector<DeviceArray<float>> outputs_;  // of each slot, [value][image]
  DeviceArray<float> shown_, black_;
  DeviceArray<std::int32_t> player_;
  DeviceArray<std::uint64_t> coalitions_;
  DeviceArray<std::uint32_t> masks_;
  DeviceArray<double> odds_;
  std::size_t most_images_ = 0, images_ = 0;
};

DeviceLayers::DeviceLayers(const LayerGraph& graph, const TiledImage& tiled)
    : state_(std::make_unique<State>(graph, tiled)) {}
DeviceLayers::~DeviceLayers() = default;

void DeviceLayers::LogOdds(std::span<const std::uint64_t> coalitions, std::size_t answer,
                           std::span<double> values) {
  State& s = *state_;
  s.Run(coalitions, [&](std::size_t from, std::size_t count) {
    OddsOf<<<Blocks(count), 256>>>(s.Logits(), s.classes(), s.images(), answer, count,
                                   s.odds().Reserve(count));
    RETABLE_CUDA_CHECK(cudaGetLastError());
    s.odds().Download(values.subspan(from, count));
  });
}

std::vector<float> DeviceLayers::Logits(std::span<const std::uint64_t> coalitions) {
  State& s = *state_;
  std::vector<float> all;
  s.Run(coalitions, [&](std::size_t, std::size_t count) {
    std::vector<float> turned(s.classes() * s.images());
    RETABLE_CUDA_CHECK(cudaMemcpy(turned.data(), s.Logits(), turned.size() * sizeof(float),
                                  cudaMemcpyDeviceToHost));
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < s.classes(); ++c) all.push_back(turned[c * s.images() + k]);
    }
  });
  return all;
}

}  // namespace retable::experiments
