#pragma once
//! @file
//! What both backends of the layers compute, for `kImages` images at a time: arrays of values lie
//! with the images innermost, [channel][row][column][image], so that neighbouring lanes read
//! neighbouring memory and all of them have the same weights and the same edges of the image.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::experiments {

//! What an output pixel of a convolution or a pool reads: pixel (y, x) reads row
//! y * stride_y - top + i * dilation_y for i < height, and columns likewise.
struct Window {
  int height = 1, width = 1, stride_y = 1, stride_x = 1;
  int top = 0, left = 0;  //!< rows and columns of padding before the image
  int dilation_y = 1, dilation_x = 1;

  bool operator==(const Window&) const = default;
};

//! Along one axis the places from + i * dilation, first <= i < end, are within the image.
struct Taps {
  int from, first, end;
};

//! Steps of length `step` until `distance` is reached or passed.
RETABLE_HD int StepsTo(int distance, int step) {
  if (distance <= 0) return 0;
  return step == 1 ? distance : (distance + step - 1) / step;
}

RETABLE_HD Taps RowsOf(const Window& w, int y, int height) {
  const int from = y * w.stride_y - w.top, end = StepsTo(height - from, w.dilation_y);
  return {from, StepsTo(-from, w.dilation_y), end < w.height ? end : w.height};
}
RETABLE_HD Taps ColumnsOf(const Window& w, int x, int width) {
  const int from = x * w.stride_x - w.left, end = StepsTo(width - from, w.dilation_x);
  return {from, StepsTo(-from, w.dilation_x), end < w.width ? end : w.width};
}

//! A convolution's numbers as both backends use them; weights lie as [input
//! channel][row][column][kOut], on multiples of 16 bytes, with kOut a multiple of 4.
struct ConvolutionShape {
  int channels, height, width;  //!< the input's; channels of one section
  Window window;
};

//! Values of a tensor. `images`: the capacity. A cursor moves along a row of pixels.
struct PlaneSource {
  const float* values;
  std::size_t images;

  struct Cursor {
    const float* at;
    std::size_t step;

    template <int kImages>
    RETABLE_HD void Load(float (&to)[kImages]) const {
      RETABLE_UNROLL
      for (int k = 0; k < kImages; ++k) to[k] = at[k];
    }
    RETABLE_HD void Step() { at += step; }
  };
  RETABLE_HD Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    const auto pixel = static_cast<std::size_t>((c * s.height + y) * s.width + x);
    return {values + pixel * images + image,
            images * static_cast<std::size_t>(s.window.dilation_x)};
  }
};

//! One image under many coalitions: tiles outside of a coalition are black. Masks lie as
//! [player / 32][image], `images` to a row.
struct TileSource {
  const float* shown;          //!< the image, [channel][row][column]
  const float* black;          //!< one a channel
  const std::int32_t* player;  //!< the pixels' players, [row][column]
  const std::uint32_t* masks;
  std::size_t images;

  struct Cursor {
    const float* shown;
    const std::int32_t* player;
    float black;
    const std::uint32_t* masks;
    std::size_t images;
    int step;

    RETABLE_HD const std::uint32_t* Masks() const {
      return masks + static_cast<std::size_t>(*player / 32) * images;
    }
    RETABLE_HD float Pick(std::uint32_t mask) const {
      return ((mask >> (*player % 32)) & 1) != 0 ? *shown : black;
    }
    template <int kImages>
    RETABLE_HD void Load(float (&to)[kImages]) const {
      RETABLE_UNROLL
      for (int k = 0; k < kImages; ++k) to[k] = Pick(Masks()[k]);
    }
    RETABLE_HD void Step() {
      shown += step;
      player += step;
    }
  };
  RETABLE_HD Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    const int pixel = y * s.width + x;
    return {shown + c * s.height * s.width + pixel,
            player + pixel,
            black[c],
            masks + image,
            images,
            s.window.dilation_x};
  }
};

//! sum[o][k] += the convolution's terms of input channels [from, to) at output pixel (y, x), in the
//! order of channels, rows and columns, each by a fused multiply-add. `weights` start at `from`;
//! the channels of a section are counted from the first of all.
template <int kOut, int kImages, class Source>
RETABLE_HD void Convolve(const ConvolutionShape& s, const Source& source, const float* weights,
                         int from, int to, int y, int x, std::size_t image,
                         float (&sum)[kOut][kImages]) {
  const Window& w = s.window;
  const Taps rows = RowsOf(w, y, s.height), columns = ColumnsOf(w, x, s.width);
  for (int c = from; c < to; ++c) {
    for (int row = rows.first; row < rows.end; ++row) {
      auto cursor = source.At(s, c, rows.from + row * w.dilation_y,
                              columns.from + columns.first * w.dilation_x, image);
      const float* at = weights + (((c - from) * w.height + row) * w.width + columns.first) * kOut;
      for (int column = columns.first; column < columns.end; ++column, at += kOut) {
        float in[kImages];
        cursor.Load(in);
        cursor.Step();
        const auto* four = static_cast<const float*>(__builtin_assume_aligned(at, 16));
        RETABLE_UNROLL
        for (int o = 0; o < kOut; ++o) {
          const float weight = four[o];
          RETABLE_UNROLL
          for (int k = 0; k < kImages; ++k) sum[o][k] = std::fma(weight, in[k], sum[o][k]);
        }
      }
    }
  }
}

//! The end of every layer: values beyond a bound become the bound. ReLU has the lower bound 0.
struct Clip {
  float low = -HUGE_VALF, high = HUGE_VALF;

  bool operator==(const Clip&) const = default;
};

RETABLE_HD float Finish(float value, float addend, Clip clip) {
#if defined(__CUDA_ARCH__)
  value = __fadd_rn(value, addend);  // never one operation with a product before it
#else
  value += addend;
#endif
  value = value < clip.low ? clip.low : value;
  return value > clip.high ? clip.high : value;
}

//! exp(x) - 1 from -87 to 88, and the values at these bounds beyond them. The C library's differ
//! from device to device in the last bit.
RETABLE_HD float Expm1(float x) {
  if (x != x) return x;
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float n = std::rint(x * 1.44269504f);
  float r = std::fma(n, -0.693145752f, x);  // ln 2 in two parts, the first of few bits
  r = std::fma(n, -1.42860677e-6f, r);
  float sum = 1.0f / 5040;
  const float terms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f};
  RETABLE_UNROLL
  for (int k = 0; k < 6; ++k) sum = std::fma(sum, r, terms[k]);
  const float scale = std::ldexp(1.0f, static_cast<int>(n));
  return std::fma(scale, sum * r, scale - 1.0f);
}

//! An activation other than a clip, by ONNX's names; a and b are its numbers.
struct Function {
  enum class Kind { kNone, kLeaky, kElu, kSigmoid, kHardSigmoid, kHardSwish, kTanh, kSoftsign };
  Kind kind = Kind::kNone;
  float a = 0, b = 0;
};

RETABLE_HD float Apply(const Function& function, float x) {
  const float a = function.a;
  switch (function.kind) {
    case Function::Kind::kNone:
      return x;
    case Function::Kind::kLeaky:
      return x < 0 ? a * x : x;
    case Function::Kind::kElu:  // b: Selu's factor
      return function.b * (x < 0 ? a * Expm1(x) : x);
    case Function::Kind::kSigmoid:
      return 1 / (2 + Expm1(-x));
    case Function::Kind::kHardSigmoid:
      return Finish(std::fma(a, x, function.b), 0, {0, 1});
    case Function::Kind::kHardSwish:
      return x * Finish(std::fma(a, x, function.b), 0, {0, 1});
    case Function::Kind::kTanh:
      return Expm1(2 * x) / (2 + Expm1(2 * x));
    case Function::Kind::kSoftsign:
      return x / (1 + std::fabs(x));
  }
  return x;
}

//! Averages or maxima over windows of one plane.
struct PoolShape {
  int height, width, out_height, out_width;
  Window window;
  //! Rows and columns after the image's first up to which padding counts in an average; 0: it does
  //! not.
  int counted_height, counted_width;
  bool maximum;
};

//! `at`: the plane's first value of the image. A maximum is NaN where a value is.
RETABLE_HD float PoolOf(const PoolShape& s, const float* at, std::size_t images, int y, int x) {
  const Window& w = s.window;
  const Taps rows = RowsOf(w, y, s.height), columns = ColumnsOf(w, x, s.width);
  float sum = s.maximum ? -HUGE_VALF : 0.0f;
  for (int row = rows.first; row < rows.end; ++row) {
    for (int column = columns.first; column < columns.end; ++column) {
      const int pixel =
          (rows.from + row * w.dilation_y) * s.width + columns.from + column * w.dilation_x;
      const float value = at[static_cast<std::size_t>(pixel) * images];
      if (!s.maximum) {
        sum += value;
      } else if (value > sum || value != value) {
        sum = value;
      }
    }
  }
  if (s.maximum) return sum;
  const int down =
      s.counted_height > 0 ? RowsOf(w, y, s.counted_height).end : rows.end - rows.first;
  const int across =
      s.counted_height > 0 ? ColumnsOf(w, x, s.counted_width).end : columns.end - columns.first;
  return down > 0 && across > 0 ? sum / static_cast<float>(down * across) : 0.0f;
}

//! Other tensors that a layer's values are multiplied by and added to, or null.
struct Others {
  const float* factor = nullptr;
  bool factor_of_channel = false;  //!< one for all values of a channel
  const float* addend = nullptr;
};

//! A layer that is no convolution, or the part of it that reads one tensor. Arrays are
//! [value][image] with `images` of them; scale and shift are one a channel, or null.
struct PoolCall {
  PoolShape shape;
  int values;  //!< how many an image's output has
  const float *in, *scale, *shift;
  Others others;
  float* out;
  std::size_t images;
  Function function;
  Clip clip;
};

RETABLE_HD void PoolValue(const PoolCall& call, int value, std::size_t image) {
  const PoolShape& s = call.shape;
  const int pixels = s.out_height * s.out_width, channel = value / pixels, pixel = value % pixels;
  const std::size_t plane = static_cast<std::size_t>(channel) * s.height * s.width;
  float result = PoolOf(s, call.in + plane * call.images + image, call.images, pixel / s.out_width,
                        pixel % s.out_width);
  if (call.scale != nullptr) result = std::fma(result, call.scale[channel], call.shift[channel]);
  result = Apply(call.function, result);
  const std::size_t at = static_cast<std::size_t>(value) * call.images + image;
  const Others& others = call.others;
  if (others.factor != nullptr) {
    const auto one = static_cast<std::size_t>(channel) * call.images + image;
    result *= others.factor[others.factor_of_channel ? one : at];
  }
  call.out[at] = Finish(result, others.addend == nullptr ? 0.0f : others.addend[at], call.clip);
}

//! log(p / (1 - p)) of class `answer` under the softmax of logits that lie `stride` apart, without
//! overflow; NaN where a logit is.
RETABLE_HD double LogOddsOf(const float* logits, std::size_t classes, std::size_t stride,
                            std::size_t answer) {
  double most = -HUGE_VAL, sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    const double x = logits[c * stride];
    if (x != x) return x;
    if (c != answer && x > most) most = x;
  }
  for (std::size_t c = 0; c < classes; ++c) {
    if (c != answer) sum += exp(static_cast<double>(logits[c * stride]) - most);
  }
  return static_cast<double>(logits[answer * stride]) - most - log(sum);
}

}  // namespace retable::experiments
