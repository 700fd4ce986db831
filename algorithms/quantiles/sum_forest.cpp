#include "algorithms/quantiles/sum_forest.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/quantiles/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/moment_accumulator.hpp"

namespace retable::quantiles {
namespace {

void PackSums(const ChebyshevSums& sums, std::vector<double>& out) {
  out.insert(out.end(), sums.sum, sums.sum + kMaxOrder + 1);
  out.insert(out.end(),
             {sums.map.centre, sums.map.half, sums.min, sums.max, sums.at_min, sums.at_max});
}

ChebyshevSums UnpackSums(const double* in) {
  ChebyshevSums sums;
  std::copy(in, in + kMaxOrder + 1, sums.sum);
  in += kMaxOrder + 1;
  sums.map = {in[0], in[1]};
  sums.min = in[2];
  sums.max = in[3];
  sums.at_min = in[4];
  sums.at_max = in[5];
  return sums;
}

template <class Real>
SumForest SumChunksOf(std::span<const Real> values, std::uint64_t first, int order) {
  SumForest forest(order);
  for (std::uint64_t chunk = first; !values.empty(); ++chunk) {
    ChebyshevAccumulator sums(order);
    const std::size_t n = std::min(kChunk, values.size());
    sums.Update(values.first(n));
    forest.Add(chunk, {sums.sums(), {}, sums.digits()});
    values = values.subspan(n);
  }
  return forest;
}

}  // namespace

ColumnSums JoinSums(const ColumnSums& left, const ColumnSums& right, int order) {
  ColumnSums joint = left;
  ColumnSums other = right;
  joint.sums.Merge(other.sums, order);
  // Logarithms count only where every value has one.
  if (joint.log_sums.sum[0] + other.log_sums.sum[0] == joint.sums.sum[0]) {
    joint.log_sums.Merge(other.log_sums, order);
  } else {
    joint.log_sums = {};
  }
  joint.digits = std::max(left.digits, right.digits);
  return joint;
}

SumForest::SumForest(int order) : order_(CheckOrder(order)) {}

void SumForest::Push(Node node) {
  if (!nodes_.empty() && nodes_.back().end() != node.begin()) {
    throw std::invalid_argument("chunk " + std::to_string(node.begin()) +
                                " does not follow chunk " +
                                std::to_string(nodes_.back().end() - 1));
  }
  while (!nodes_.empty() && nodes_.back().level == node.level && node.index % 2 == 1) {
    node.sums = JoinSums(nodes_.back().sums, node.sums, order_);
    node.level += 1;
    node.index /= 2;
    nodes_.pop_back();
  }
  nodes_.push_back(node);
}

void SumForest::Add(std::uint64_t chunk, const ColumnSums& sums) {
  Push({0, chunk, sums});
}

void SumForest::Append(const SumForest& later) {
  if (later.order_ != order_) throw std::invalid_argument("forests of different orders");
  for (const Node& node : later.nodes_) Push(node);
}

ColumnSums SumForest::Total() const {
  if (nodes_.empty()) return {};
  ColumnSums total = nodes_.front().sums;
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    total = JoinSums(total, nodes_[i].sums, order_);
  }
  return total;
}

std::vector<double> SumForest::Pack() const {
  if (nodes_.size() > kMostNodes) throw std::length_error("a forest of too many nodes");
  std::vector<double> wire{static_cast<double>(order_), static_cast<double>(nodes_.size())};
  wire.reserve(kWireDoubles);
  for (const Node& node : nodes_) {
    wire.push_back(node.level);
    wire.push_back(static_cast<double>(node.index));
    wire.push_back(node.sums.digits);
    PackSums(node.sums.sums, wire);
    PackSums(node.sums.log_sums, wire);
  }
  wire.resize(kWireDoubles);
  return wire;
}

SumForest SumForest::Unpack(std::span<const double> wire) {
  if (wire.size() != kWireDoubles || !(wire[1] >= 0 && wire[1] <= kMostNodes)) {
    throw std::invalid_argument("not a packed forest");
  }
  SumForest forest(static_cast<int>(wire[0]));
  const double* in = wire.data() + 2;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire[1]); ++i, in += kNodeDoubles) {
    forest.Push(
        {static_cast<int>(in[0]),
         static_cast<std::uint64_t>(in[1]),
         {UnpackSums(in + 3), UnpackSums(in + 3 + kMaxOrder + 7), static_cast<int>(in[2])}});
  }
  return forest;
}

SumForest SumChunks(std::span<const float> values, std::uint64_t first, int order) {
  return SumChunksOf(values, first, order);
}
SumForest SumChunks(std::span<const double> values, std::uint64_t first, int order) {
  return SumChunksOf(values, first, order);
}

ChunkRange ChunksOfRank(std::uint64_t values, int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks) throw std::invalid_argument("no such rank");
  const std::uint64_t chunks = (values + kChunk - 1) / kChunk;
  const auto all = static_cast<std::uint64_t>(ranks);
  const auto at = [&](std::uint64_t r) { return chunks / all * r + std::min(r, chunks % all); };
  return {at(static_cast<std::uint64_t>(rank)), at(static_cast<std::uint64_t>(rank) + 1)};
}

}  // namespace retable::quantiles
