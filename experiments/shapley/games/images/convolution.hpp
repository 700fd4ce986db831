#pragma once
//! @file
//! What both backends of the layers compute, for `kImages` images at a time: arrays of values lie
//! with the images innermost, [channel][row][column][image], so that neighbouring lanes read
//! neighbouring memory and all of them have the same weights and the same edges of the image.

#include <cmath>
#include <cstdint>

#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::experiments {

//! A convolution's numbers as both backends use them; weights lie as [input
//! channel][row][column][kOut], on multiples of 16 bytes, with kOut a multiple of 4.
struct ConvolutionShape {
  int channels, height, width;  //!< the input's
  int kernel_height, kernel_width, stride_y, stride_x, top, left;
};

//! Values of a tensor. `images`: the capacity. A cursor moves along a row of pixels.
struct PlaneSource {
  const float* values;
  std::size_t images;

  struct Cursor {
    const float* at;
    std::size_t images;

    template <int kImages>
    RETABLE_HD void Load(float (&to)[kImages]) const {
      RETABLE_UNROLL
      for (int k = 0; k < kImages; ++k) to[k] = at[k];
    }
    RETABLE_HD void Step() { at += images; }
  };
  RETABLE_HD Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    const auto pixel = static_cast<std::size_t>((c * s.height + y) * s.width + x);
    return {values + pixel * images + image, images};
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
      ++shown;
      ++player;
    }
  };
  RETABLE_HD Cursor At(const ConvolutionShape& s, int c, int y, int x, std::size_t image) const {
    const int pixel = y * s.width + x;
    return {shown + c * s.height * s.width + pixel, player + pixel, black[c], masks + image,
            images};
  }
};

//! sum[o][k] += the convolution's terms of input channels [from, to) at output pixel (y, x), in the
//! order of channels, rows and columns, each by a fused multiply-add. `weights` start at `from`.
template <int kOut, int kImages, class Source>
RETABLE_HD void Convolve(const ConvolutionShape& s, const Source& source, const float* weights,
                         int from, int to, int y, int x, std::size_t image,
                         float (&sum)[kOut][kImages]) {
  const int y0 = y * s.stride_y - s.top, x0 = x * s.stride_x - s.left;
  const int first_row = y0 < 0 ? -y0 : 0, first_column = x0 < 0 ? -x0 : 0;
  const int rows = s.height - y0 < s.kernel_height ? s.height - y0 : s.kernel_height;
  const int columns = s.width - x0 < s.kernel_width ? s.width - x0 : s.kernel_width;
  for (int c = from; c < to; ++c) {
    for (int row = first_row; row < rows; ++row) {
      auto cursor = source.At(s, c, y0 + row, x0 + first_column, image);
      const float* at =
          weights + (((c - from) * s.kernel_height + row) * s.kernel_width + first_column) * kOut;
      for (int column = first_column; column < columns; ++column, at += kOut) {
        float in[kImages];
        cursor.Load(in);
        cursor.Step();
        const auto* w = static_cast<const float*>(__builtin_assume_aligned(at, 16));
        RETABLE_UNROLL
        for (int o = 0; o < kOut; ++o) {
          const float weight = w[o];
          RETABLE_UNROLL
          for (int k = 0; k < kImages; ++k) sum[o][k] = std::fma(weight, in[k], sum[o][k]);
        }
      }
    }
  }
}

//! The end of every layer.
RETABLE_HD float Finish(float value, float addend, bool relu) {
  value += addend;
  return relu && value < 0 ? 0.0f : value;
}

//! The mean of `count` values that lie `stride` apart.
RETABLE_HD float AverageOf(const float* values, std::size_t count, std::size_t stride) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i * stride];
  return sum / static_cast<float>(count);
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
