#include "datasets/generators/make_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "datasets/generators/normal_draw.hpp"

namespace retable::datasets {
namespace {

//! Every purpose has its own key, so that no two draws share bits.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t purpose)
      : bits_(Philox4x32::FromSeed(Philox4x32::FromSeed(seed).Block(purpose, ~0ull).half(0))) {}

  double Normal(std::uint64_t index) const { return NormalDraw(bits_, index, 0); }
  double Uniform(std::uint64_t index) const { return UniformDouble(bits_.Block(index).half(0)); }
  std::uint64_t Below(std::uint64_t index, std::uint64_t n) const {
    return UniformBelow(bits_.Block(index).half(0), n);
  }
  //! A permutation of 0..n-1 (Fisher & Yates).
  std::vector<std::size_t> Permutation(std::size_t n) const {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[Below(i, i)]);
    return order;
  }

 private:
  Philox4x32 bits_;
};

FrameBuilder TableBuilder(std::size_t features, ColumnInfo target) {
  std::vector<ColumnInfo> columns(features);
  for (std::size_t j = 0; j < features; ++j) columns[j].name = fmt::format("x{}", j);
  columns.push_back(std::move(target));
  std::vector<ColumnRole> roles = LastIsTarget(columns);
  return FrameBuilder(std::move(columns), std::move(roles));
}

std::size_t Count(const std::map<std::string, double>& values, const char* name) {
  return static_cast<std::size_t>(values.at(name));
}

//! Distinct vertices of a d-dimensional cube, as rows of 0 and 1.
std::vector<std::vector<double>> Vertices(const Draws& draws, std::size_t count, std::size_t d) {
  std::vector<std::vector<double>> vertices;
  std::set<std::vector<double>> seen;
  for (std::uint64_t index = 0; vertices.size() < count; index += d) {
    std::vector<double> vertex(d);
    for (std::size_t j = 0; j < d; ++j) vertex[j] = draws.Uniform(index + j) < 0.5 ? 0.0 : 1.0;
    if (seen.insert(vertex).second) vertices.push_back(vertex);
  }
  return vertices;
}

//! A rows x columns matrix of U(-1, 1).
std::vector<double> Mixing(const Draws& draws, std::size_t rows, std::size_t columns,
                           std::uint64_t offset) {
  std::vector<double> matrix(rows * columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = 2.0 * draws.Uniform(offset + i) - 1.0;
  return matrix;
}

//! out_j = sum_i in_i matrix_ij.
void Multiply(const std::vector<double>& in, const double* matrix, std::size_t columns,
              double* out) {
  std::fill(out, out + columns, 0.0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j] += in[i] * matrix[i * columns + j];
  }
}

}  // namespace

Frame MakeRegression(const std::map<std::string, double>& values, std::uint64_t seed) {
  const std::size_t n = Count(values, "n_samples");
  const std::size_t d = Count(values, "n_features");
  const std::size_t informative = std::min(d, Count(values, "n_informative"));
  const Draws features(seed, 0), coefficients(seed, 1), noise(seed, 2), places(seed, 3);
  std::vector<double> beta(d, 0.0);
  const auto order = places.Permutation(d);
  for (std::size_t j = 0; j < informative; ++j) {
    beta[order[j]] = 100.0 * (1.0 - coefficients.Uniform(j));
  }
  FrameBuilder builder = TableBuilder(d, {"y", ColumnKind::kNumeric, {}});
  for (std::size_t i = 0; i < n; ++i) {
    double* row = builder.Row();
    double y = values.at("bias");
    for (std::size_t j = 0; j < d; ++j) {
      row[j] = features.Normal(i * d + j);
      y += beta[j] * row[j];
    }
    row[d] = y + values.at("noise") * noise.Normal(i);
    builder.CommitRow();
  }
  return builder.Finish();
}

Frame MakeClassification(const std::map<std::string, double>& values, std::uint64_t seed) {
  const std::size_t n = Count(values, "n_samples");
  const std::size_t d = Count(values, "n_features");
  const std::size_t informative = Count(values, "n_informative");
  const std::size_t redundant = Count(values, "n_redundant");
  const std::size_t classes = Count(values, "n_classes");
  const std::size_t clusters = classes * Count(values, "n_clusters_per_class");
  const double separation = values.at("class_sep");
  const Draws vertex_bits(seed, 0), points(seed, 1), mixing(seed, 2), noise(seed, 3),
      labels(seed, 4), rows(seed, 5), columns(seed, 6);
  const auto vertices = Vertices(vertex_bits, clusters, informative);
  std::vector<std::vector<double>> covariances(clusters);
  for (std::size_t k = 0; k < clusters; ++k) {
    covariances[k] = Mixing(mixing, informative, informative, k * informative * informative);
  }
  const auto combine = Mixing(mixing, informative, redundant, clusters * informative * informative);
  const auto place = columns.Permutation(d);
  const auto row_order = rows.Permutation(n);

  ColumnInfo target{"class", ColumnKind::kNominal, {}};
  for (std::size_t k = 0; k < classes; ++k) target.levels.push_back(std::to_string(k));
  FrameBuilder builder = TableBuilder(d, std::move(target));
  std::vector<double> point(informative), mixed(informative), extra(redundant);
  for (std::size_t i = 0; i < n; ++i) {
    // Row r of the unshuffled table belongs to cluster r mod clusters.
    const std::size_t r = row_order[i];
    const std::size_t cluster = r % clusters;
    for (std::size_t j = 0; j < informative; ++j) point[j] = points.Normal(r * informative + j);
    Multiply(point, covariances[cluster].data(), informative, mixed.data());
    for (std::size_t j = 0; j < informative; ++j) {
      mixed[j] += separation * (2.0 * vertices[cluster][j] - 1.0);
    }
    Multiply(mixed, combine.data(), redundant, extra.data());
    double* row = builder.Row();
    for (std::size_t j = 0; j < d; ++j) {
      row[place[j]] = j < informative               ? mixed[j]
                      : j < informative + redundant ? extra[j - informative]
                                                    : noise.Normal(r * d + j);
    }
    const bool flip = labels.Uniform(2 * r) < values.at("flip_y");
    row[d] = static_cast<double>(flip ? labels.Below(2 * r + 1, classes) : cluster % classes);
    builder.CommitRow();
  }
  return builder.Finish();
}

}  // namespace retable::datasets
