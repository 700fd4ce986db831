#include "baselines/shapley/binary_boosting.hpp"

#include <stdexcept>

namespace retable::shapley {

BinaryBoostingOptions BoostingOf(const Parameters& parameters, int depth) {
  BinaryBoostingOptions options;
  options.rounds = IntParameter(parameters, "rounds", options.rounds, 1);
  options.depth = IntParameter(parameters, "depth", depth, 1);
  return options;
}

BoostedGame::BoostedGame(const Coalitions& coalitions, std::span<const std::size_t> rows,
                         std::span<const double> values, const BinaryBoostingOptions& options)
    : players_(static_cast<std::size_t>(coalitions.dimension())) {
  if (rows.empty()) throw std::invalid_argument("boosting over no coalitions");
  if (players_ > 65535) throw std::invalid_argument("boosting over more than 65535 players");
  std::vector<float> inside(rows.size() * players_);
  std::vector<double> residual(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    residual[r] = values[rows[r]];
    base_ += residual[r] / static_cast<double>(rows.size());
    for (std::size_t i = 0; i < players_; ++i) {
      inside[r * players_ + i] = coalitions.has(rows[r], i) ? 1.0f : 0.0f;
    }
  }
  for (double& r : residual) r -= base_;
  for (int round = 0; round < options.rounds; ++round) Grow(inside, residual, options);
}

namespace {

struct Split {
  std::int32_t player = -1;
  double gain = 0;
};

// Sums over the rows of a node: all of them, and for each player those with the player in.
struct Sums {
  double residual = 0, count = 0;
  std::vector<float> residual_in, count_in;
};

double Score(double residual, double count, double ridge) {
  return residual * residual / (count + ridge);
}

Split BestSplit(const Sums& sums, double ridge) {
  Split best;
  best.gain = 1e-12 * (1 + sums.count);
  const double whole = Score(sums.residual, sums.count, ridge);
  for (std::size_t i = 0; i < sums.count_in.size(); ++i) {
    const double in = sums.count_in[i], out = sums.count - in;
    if (in < 1 || out < 1) continue;
    const double gain = Score(sums.residual_in[i], in, ridge) +
                        Score(sums.residual - sums.residual_in[i], out, ridge) - whole;
    if (gain > best.gain) best = {static_cast<std::int32_t>(i), gain};
  }
  return best;
}

}  // namespace

void BoostedGame::Grow(const std::vector<float>& inside, std::vector<double>& residual,
                       const BinaryBoostingOptions& options) {
  roots_.push_back(static_cast<std::int32_t>(nodes_.size()));
  nodes_.emplace_back();
  std::vector<std::int32_t> at(residual.size(), roots_.back());
  auto level = roots_.back();
  for (int depth = 0;; ++depth) {
    const auto end = static_cast<std::int32_t>(nodes_.size());
    std::vector<Sums> sums(static_cast<std::size_t>(end - level));
    const bool split = depth < options.depth;
    for (auto& s : sums) {
      s.residual_in.assign(split ? players_ : 0, 0);
      s.count_in.assign(split ? players_ : 0, 0);
    }
    for (std::size_t r = 0; r < residual.size(); ++r) {
      if (at[r] < level) continue;  // in a leaf
      Sums& s = sums[static_cast<std::size_t>(at[r] - level)];
      s.residual += residual[r];
      s.count += 1;
      if (!split) continue;
      const auto g = static_cast<float>(residual[r]);
      const float* row = inside.data() + r * players_;
      float* g_in = s.residual_in.data();
      float* n_in = s.count_in.data();
      for (std::size_t i = 0; i < players_; ++i) {
        g_in[i] += g * row[i];
        n_in[i] += row[i];
      }
    }
    for (std::int32_t n = level; n < end; ++n) {
      const Sums& s = sums[static_cast<std::size_t>(n - level)];
      const Split best = split ? BestSplit(s, options.ridge) : Split{};
      Node& node = nodes_[static_cast<std::size_t>(n)];
      node.player = best.player;
      if (best.player < 0) {
        node.value = options.learning_rate * s.residual / (s.count + options.ridge);
        continue;
      }
      node.out = static_cast<std::int32_t>(nodes_.size());
      node.in = node.out + 1;
      nodes_.resize(nodes_.size() + 2);
    }
    for (std::size_t r = 0; r < residual.size(); ++r) {
      if (at[r] < level) continue;
      const Node& node = nodes_[static_cast<std::size_t>(at[r])];
      if (node.player < 0) {
        residual[r] -= node.value;
      } else {
        const bool in = inside[r * players_ + static_cast<std::size_t>(node.player)] > 0;
        at[r] = in ? node.in : node.out;
      }
    }
    if (static_cast<std::int32_t>(nodes_.size()) == end) return;
    level = end;
  }
}

double BoostedGame::value(std::span<const std::uint64_t> mask) const {
  double sum = base_;
  for (std::int32_t n : roots_) {
    const Node* node = &nodes_[static_cast<std::size_t>(n)];
    while (node->player >= 0) {
      const bool in = Has(mask, static_cast<std::size_t>(node->player));
      node = &nodes_[static_cast<std::size_t>(in ? node->in : node->out)];
    }
    sum += node->value;
  }
  return sum;
}

void BoostedGame::Walk(std::int32_t at, std::vector<Literal>& path,
                       const std::function<void(std::span<const Literal>, double)>& call) const {
  const Node& node = nodes_[static_cast<std::size_t>(at)];
  if (node.player < 0) return call(path, node.value);
  for (const bool in : {false, true}) {
    path.push_back({static_cast<std::uint16_t>(node.player), in});
    Walk(in ? node.in : node.out, path, call);
    path.pop_back();
  }
}

void BoostedGame::ForEachLeaf(
    const std::function<void(std::span<const Literal>, double)>& call) const {
  std::vector<Literal> path;
  for (const std::int32_t root : roots_) Walk(root, path, call);
}

std::vector<double> BoostedGame::ShapleyValues() const {
  std::vector<double> phi(players_, 0.0);
  ForEachLeaf([&](std::span<const Literal> path, double value) {
    int in = 0;
    for (const Literal& l : path) in += l.in ? 1 : 0;
    const int all = static_cast<int>(path.size()), out = all - in;
    // v (in - 1)! out! / all! for each in, less v in! (out - 1)! / all! for each out.
    const double ways = CoalitionsOfSize(all, in);
    for (const Literal& l : path)
      phi[l.player] += l.in ? value / (ways * in) : -value / (ways * out);
  });
  return phi;
}

}  // namespace retable::shapley
