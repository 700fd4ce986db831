//! @file
//! Points on the sphere and their nearest orders on a CUDA device.
//!
//! Sobol: a thread computes the cosine of one angle of one point; then a thread takes a point
//! through its angles to scores, which lie points innermost, so that a warp reads neighbours.
//! Orthogonal: all bases of a call go on together. Launch k of as many as a basis has dimensions
//! applies reflection k - 1 to all later columns, a warp to each, and the warp of column k makes it
//! a reflection; a column of the basis then takes all its reflections in one warp. A warp's lane
//! holds LaneDot's partial sum. Ranks: a thread counts the scores below one player's, O(d).

#include <algorithm>
#include <mutex>

#include "algorithms/shapley/kernels/codes.cuh"
#include "algorithms/shapley/samplers/reflections.hpp"
#include "algorithms/shapley/samplers/sobol.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"
#include "algorithms/shapley/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shapley {
namespace {

__device__ std::size_t ThreadOfAll() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

// A scrambled Sobol sequence and the series of its angles.
struct CubeView {
  const std::uint32_t *directions, *shift;
  const double* terms;
  const std::uint32_t* start;
  std::size_t angles;
};

// Cosines of the points from `first` on, and the last angle's turn: x[angle][point].
__global__ void CosinesOfPoints(CubeView cube, std::size_t first, std::size_t count, double* x) {
  const std::size_t at = ThreadOfAll();
  if (at >= cube.angles * count) return;
  const std::size_t j = at / count, i = first + at % count;
  const double u = CoordinateOf(cube.directions, cube.shift, cube.angles, i, j);
  if (j + 1 == cube.angles) {
    x[at] = u;
    return;
  }
  const std::uint32_t begin = cube.start[j], end = cube.start[j + 1];
  x[at] = begin == end ? 1 - 2 * u : CosineBySeries(cube.terms + begin, end - begin, u);
}

__global__ void ScoresOfPoints(std::size_t angles, std::size_t count, double* x) {
  const std::size_t i = ThreadOfAll();
  if (i >= count) return;
  OntoSphere(x + i, angles, count);
  ToHyperplane(x + i, x + i, angles + 2, count);
}

// The first columns of the matrices of a call's bases, one after the other.
struct Bases {
  std::size_t side, columns, stride, matrices, first;
  std::uint64_t seed;

  __host__ __device__ std::size_t all() const { return matrices * columns; }
};

__global__ void DrawNormals(Bases bases, double* columns) {
  const std::size_t values = bases.columns * bases.side, pairs = (values + 1) / 2;
  const std::size_t at = ThreadOfAll();
  if (at >= bases.matrices * pairs) return;
  const std::size_t matrix = at / pairs, i = at % pairs * 2;
  const NormalPair pair = NormalsOf(bases.seed, bases.first + matrix, at % pairs);
  double* to = columns + matrix * bases.columns * bases.stride;
  to[i / bases.side * bases.stride + i % bases.side] = pair.first;
  if (i + 1 < values) {
    to[(i + 1) / bases.side * bases.stride + (i + 1) % bases.side] = pair.second;
  }
}

// a . b from row k on, as LaneDot adds them; rows between are zero in one of the two. By a warp.
__device__ double WarpDot(const double* a, const double* b, std::size_t k, std::size_t side) {
  double lane = 0;
  for (std::size_t i = k / 32 * 32 + threadIdx.x % 32; i < side; i += 32) {
    lane = AddProduct(lane, a[i], b[i]);
  }
  return WarpSum(lane);
}

// Each lane reads and writes only its own rows.
__device__ void Reflect(const double* w, double* y, std::size_t k, std::size_t side) {
  const double by = WarpDot(w, y, k, side);
  for (std::size_t i = k / 32 * 32 + threadIdx.x % 32; i < side; i += 32) {
    y[i] = AddProduct(y[i], -by, w[i]);
  }
}

__global__ void ReflectColumns(Bases bases, std::size_t k, double* columns) {
  const std::size_t left = bases.columns - k, warp = ThreadOfAll() / 32;
  if (warp >= bases.matrices * left) return;
  double* matrix = columns + warp / left * bases.columns * bases.stride;
  const std::size_t j = k + warp % left;
  double* column = matrix + j * bases.stride;
  if (k > 0) Reflect(matrix + (k - 1) * bases.stride, column, k - 1, bases.side);
  if (j > k) return;
  const std::size_t lane = threadIdx.x % 32;
  for (std::size_t i = lane; i < k; i += 32) column[i] = 0;
  const double square = WarpDot(column, column, k, bases.side);
  const double head =
      __shfl_sync(0xFFFFFFFFu, lane == k % 32 ? column[k] : 0.0, static_cast<int>(k % 32));
  const Reflection reflection = Reflection::Of(head, square);
  for (std::size_t i = k / 32 * 32 + lane; i < bases.side; i += 32) {
    if (i >= k) column[i] = (i == k ? reflection.head : column[i]) * reflection.scale;
  }
}

__global__ void BasisColumns(Bases bases, const double* columns, double* basis) {
  const std::size_t warp = ThreadOfAll() / 32;
  if (warp >= bases.all()) return;
  const std::size_t j = warp % bases.columns, first = (warp - j) * bases.stride;
  double* column = basis + first + j * bases.stride;
  const double head = columns[first + j * bases.stride + j];
  if (threadIdx.x % 32 == j % 32) column[j] = BasisSign(head);
  for (std::size_t k = j + 1; k-- > 0;) {
    Reflect(columns + first + k * bases.stride, column, k, bases.side);
  }
}

__global__ void ScoresOfColumns(Bases bases, double* basis) {
  const std::size_t column = ThreadOfAll();
  if (column >= bases.all()) return;
  double* x = basis + column * bases.stride;
  ToHyperplane(x, x, bases.side + 1, 1);
}

// Where the scores of the orders lie. Opposites: order 2 k + 1 has the scores of 2 k with the other
// sign.
struct Scores {
  const double* at;
  std::size_t orders, players, order_stride, player_stride;
  bool opposites;
};

// Players in ascending order of their scores, equal scores by number: OrderOfScores.
__global__ void RankPlayers(Scores scores, std::int32_t* orders) {
  const std::size_t at = ThreadOfAll();
  if (at >= scores.orders * scores.players) return;
  // Neighbours of a warp are neighbours in memory.
  const bool by_order = scores.order_stride == 1;
  const std::size_t order = by_order ? at % scores.orders : at / scores.players;
  const std::size_t player = by_order ? at / scores.orders : at % scores.players;
  const std::size_t row = scores.opposites ? order / 2 : order;
  const double sign = scores.opposites && order % 2 == 1 ? -1 : 1;
  const double* all = scores.at + row * scores.order_stride;
  const double own = sign * all[player * scores.player_stride];
  std::size_t rank = 0;
  for (std::size_t j = 0; j < scores.players; ++j) {
    const double other = sign * all[j * scores.player_stride];
    if (other < own || (other == own && j < player)) ++rank;
  }
  orders[order * scores.players + rank] = static_cast<std::int32_t>(player);
}

class DevicePoints {
 public:
  // n >= 1 orders of d >= 3 players, as the sample has room for.
  void Sobol(PermutationSample& sample, std::uint64_t seed) {
    const auto n = sample.count(), d = static_cast<std::size_t>(sample.dimension), angles = d - 2;
    const ScrambledSobol sequence(seed, angles, n);
    const SphereFromCube sphere(angles, n);
    const CubeView cube{directions_.Upload(sequence.directions), shift_.Upload(sequence.shift),
                        terms_.Upload(sphere.terms()), start_.Upload(sphere.start()), angles};
    const std::size_t batch = std::max<std::size_t>(1, kMostDoubles / d);
    for (std::size_t first = 0; first < n; first += batch) {
      const std::size_t count = std::min(batch, n - first);
      double* x = values_.Reserve(count * d);
      if (sphere.complete()) {
        CosinesOfPoints<<<BlocksFor(angles * count), kThreads>>>(cube, first, count, x);
      } else {
        values_.Upload(HostCosines(sequence, sphere, first, count));
      }
      ScoresOfPoints<<<BlocksFor(count), kThreads>>>(angles, count, x);
      CheckCuda(cudaGetLastError(), "points of the sphere");
      Rank({x, count, d, 1, count, false}, sample.orders.data() + first * d);
    }
  }

  void Orthogonal(PermutationSample& sample, std::uint64_t seed) {
    const auto n = sample.count(), d = static_cast<std::size_t>(sample.dimension);
    const std::size_t side = d - 1, stride = ColumnStride(side), block = 2 * side;
    const std::size_t all = (n + block - 1) / block, columns = std::min(side, (n + 1) / 2);
    const std::size_t batch = std::max<std::size_t>(1, kMostDoubles / (columns * stride));
    for (std::size_t first = 0; first < all; first += batch) {
      const Bases bases{side, columns, stride, std::min(batch, all - first), first, seed};
      const double* basis = Basis(bases);
      const std::size_t done = first * block;
      Rank({basis, std::min(n - done, bases.matrices * block), d, stride, 1, true},
           sample.orders.data() + done * d);
    }
  }

 private:
  static std::vector<double> HostCosines(const ScrambledSobol& sequence,
                                         const SphereFromCube& sphere, std::size_t first,
                                         std::size_t count) {
    const std::size_t angles = sequence.coordinates;
    std::vector<double> x((angles + 2) * count);
    for (std::size_t j = 0; j < angles; ++j) {
      for (std::size_t i = 0; i < count; ++i) {
        const double u = CoordinateOf(sequence, first + i, j);
        x[j * count + i] = j + 1 == angles ? u : sphere.Cosine(j, u);
      }
    }
    return x;
  }

  // The bases' columns as scores.
  const double* Basis(const Bases& bases) {
    double* drawn = values_.Zeros(bases.all() * bases.stride);
    double* basis = basis_.Zeros(bases.all() * bases.stride);
    const std::size_t pairs = (bases.columns * bases.side + 1) / 2;
    DrawNormals<<<BlocksFor(bases.matrices * pairs), kThreads>>>(bases, drawn);
    for (std::size_t k = 0; k < bases.columns; ++k) {
      const std::size_t warps = bases.matrices * (bases.columns - k);
      ReflectColumns<<<BlocksFor(32 * warps), kThreads>>>(bases, k, drawn);
    }
    BasisColumns<<<BlocksFor(32 * bases.all()), kThreads>>>(bases, drawn, basis);
    ScoresOfColumns<<<BlocksFor(bases.all()), kThreads>>>(bases, basis);
    CheckCuda(cudaGetLastError(), "orthonormal bases");
    return basis;
  }

  void Rank(const Scores& scores, std::int32_t* to) {
    const std::size_t count = scores.orders * scores.players;
    RankPlayers<<<BlocksFor(count), kThreads>>>(scores, orders_.Reserve(count));
    CheckCuda(cudaGetLastError(), "ranks");
    orders_.Download({to, count});
  }

  DeviceArray<std::uint32_t> directions_, shift_, start_;
  DeviceArray<double> terms_, values_, basis_;
  DeviceArray<std::int32_t> orders_;
};

// Orthogonal's and Sobol's orders, the CPU's bit for bit. Where Sobol's n is too small for series
// to pay, the inverse incomplete beta functions run on the host. sample() throws
// std::invalid_argument as ScrambledSobol, std::runtime_error for too little device memory or a
// failed launch.
class PointSampler final : public PermutationSampler {
 public:
  PointSampler(bool sobol, const Parameters& parameters)
      : sobol_(sobol),
        relabel_(SwitchParameter(parameters, "relabel", false)),
        host_(Registry<PermutationSampler>::Instance().Make(sobol ? "Sobol" : "Orthogonal",
                                                            Device::kCpu, parameters)) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    if (n == 0 || d < 3) return host_->sample(n, d, seed);  // nothing to compute
    PermutationSample sample = EmptySample(n, d);
    const std::lock_guard lock(mutex_);
    sobol_ ? device_.Sobol(sample, seed) : device_.Orthogonal(sample, seed);
    if (relabel_) Relabel(sample, seed, kSobolLabelStream);
    return sample;
  }

 private:
  bool sobol_, relabel_;
  std::unique_ptr<PermutationSampler> host_;
  mutable DevicePoints device_;  // keeps its memory
  mutable std::mutex mutex_;
};

RETABLE_REGISTER(PermutationSampler, sobol,
                 {.name = "Sobol",
                  .device = Device::kCuda,
                  .summary = "scrambled Sobol points on the sphere, the CPU's permutations",
                  .citation = "Mitchell et al. 2022, algorithm 4",
                  .parameters = {{"relabel", false, "players renamed at random"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<PointSampler>(true, p);
                  }});
RETABLE_REGISTER(PermutationSampler, orthogonal,
                 {.name = "Orthogonal",
                  .device = Device::kCuda,
                  .summary = "orthogonal spherical codes, the CPU's permutations",
                  .citation = "Mitchell et al. 2022, algorithm 3",
                  .parameters = {},
                  .make = [](const Parameters& p) {
                    return std::make_unique<PointSampler>(false, p);
                  }});

}  // namespace
}  // namespace retable::shapley
