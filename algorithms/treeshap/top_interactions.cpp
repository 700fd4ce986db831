#include "algorithms/treeshap/top_interactions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "algorithms/treeshap/parallel.hpp"
#include "algorithms/treeshap/quadrature_model.hpp"
#include "algorithms/treeshap/quadrature_packing.hpp"
#include "algorithms/treeshap/top_interactions_block.hpp"

namespace retable::treeshap {

namespace {

constexpr std::size_t kL = kTopLanes;
// Bounds and sums are rounded differently; a feature this close to the limit counts as over it.
constexpr double kRoundingSlack = 1.001;
// The next rows start with the features whose bound is at least this share of what was needed.
constexpr double kGuessSlack = 0.7;

TopFunction Choose() {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  if (avx512 && TopAvx512() != nullptr) return TopAvx512();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && TopAvx2() != nullptr) return TopAvx2();
#endif
  return TopBaseline();
}

bool Stronger(const InteractionPair& a, const InteractionPair& b) {
  const double x = std::abs(a.value);
  const double y = std::abs(b.value);
  if (x != y) return x > y;
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

void KeepStrongest(std::vector<InteractionPair>& pairs, std::size_t k) {
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(std::min(k, pairs.size()));
  std::partial_sort(pairs.begin(), middle, pairs.end(), Stronger);
  pairs.erase(middle, pairs.end());
}

using Features = std::vector<std::int32_t>;  // in rising order

}  // namespace

class TopInteractions::Search {
 public:
  Search(const TreeEnsemble& model, TopInteractionsOptions options)
      : options_(options), run_(Choose()) {
    if (options.k == 0) throw std::invalid_argument("the number of pairs must be at least 1");
    AnnotatedModel annotated = Annotate(model);
    shape_.features = model.features;
    shape_.groups = model.groups;
    sets_ = std::move(annotated.sets);
    views_ = ViewSets(sets_);
    groups_.resize(static_cast<std::size_t>(model.groups));
    std::map<int, QuadratureRule> rules;
    for (const AnnotatedTree& tree : annotated.trees) {
      const int points = ExactPoints(tree.path_features);
      if (!rules.contains(points)) rules[points] = GaussLegendre(points);
      auto packed = PackTree<float>(tree, rules[points], model.features);
      if (!packed.nodes.empty()) {
        groups_[static_cast<std::size_t>(packed.group)].push_back(std::move(packed));
      }
    }
  }

  std::vector<std::vector<InteractionPair>> Find(const RowBlock& rows) {
    ValidateRows(shape_, rows);
    const std::size_t blocks = (rows.rows + kL - 1) / kL;
    const auto threads =
        static_cast<std::size_t>(options_.threads > 0 ? options_.threads : HardwareThreads());
    const std::size_t per_task = std::clamp<std::size_t>(blocks / (4 * threads), 1, 64);
    std::vector<std::vector<InteractionPair>> found(rows.rows * groups_.size());
    total_ = {};
    guesses_.resize(groups_.size());
    ParallelFor((blocks + per_task - 1) / per_task, options_.threads, [&](std::size_t task) {
      State state(*this);
      const std::size_t end = std::min(blocks, (task + 1) * per_task);
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (std::size_t b = task * per_task; b < end; ++b) {
          state.Load(rows, b * kL);
          state.guess = Guess(g);
          Block(state, g, found);
          Learn(g, state.guess);
        }
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      total_.features += state.used.features;
      total_.passes += state.used.passes;
    });
    const double count = std::max<double>(1, static_cast<double>(blocks * groups_.size()));
    total_.features /= count;
    total_.passes /= count;
    return found;
  }

  TopInteractionsStats stats() const { return total_; }

 private:
  // Where to start: what the last block needed, whichever thread had it. No result depends on it.
  Features Guess(std::size_t group) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return guesses_[group];
  }
  void Learn(std::size_t group, const Features& needed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    guesses_[group] = needed;
  }

  // What one thread needs: the block's rows, and sums over one output's trees.
  struct State {
    explicit State(const Search& search)
        : features(static_cast<std::size_t>(search.shape_.features)),
          x(features * kL),
          bounds(features * kL),
          position(features, -1) {}

    // Feature-major; rows past the end repeat the last one.
    void Load(const RowBlock& rows, std::size_t first_row) {
      first = first_row;
      lanes = std::min(kL, rows.rows - first);
      for (std::size_t i = 0; i < kL; ++i) {
        const auto row = rows.row(first + std::min(i, lanes - 1));
        for (std::size_t f = 0; f < features; ++f) x[f * kL + i] = ClampInfinity(row[f]);
      }
    }

    std::size_t features, first = 0, lanes = 0;
    std::vector<float> x;
    std::vector<double> bounds;                      // features x lanes: R
    std::vector<double> pairs;                       // |S| (|S| - 1) / 2 x lanes
    std::vector<std::int32_t> position;              // of each feature in S, or -1
    Features wanted;                                 // S
    Features guess;                                  // where the next block starts
    std::vector<std::vector<InteractionPair>> best;  // of each lane: a heap, the weakest in front
    std::vector<float> tree_bounds, tree_pairs, scratch;
    std::vector<std::int32_t> slot, live, members;
    TopInteractionsStats used;
  };

  static std::size_t PairIndex(std::size_t i, std::size_t j, std::size_t n) {
    return i * n - i * (i + 1) / 2 + j - i - 1;  // i < j
  }

  // The certified search for one block of rows and one output.
  void Block(State& state, std::size_t group,
             std::vector<std::vector<InteractionPair>>& found) const {
    state.wanted = state.guess;
    std::vector<double> limit(kL, 0.0);
    const bool whole = shape_.features <= options_.narrow;
    if (whole) {
      state.wanted.resize(state.features);
      std::iota(state.wanted.begin(), state.wanted.end(), 0);
    }
    for (bool first = true;; first = false) {
      Pass(state, group, first && !whole);
      Select(state);
      state.used.passes += 1;
      if (whole) break;
      for (std::size_t lane = 0; lane < state.lanes; ++lane) limit[lane] = Limit(state, lane);
      Features needed = Over(state, limit, 1);
      if (std::includes(state.wanted.begin(), state.wanted.end(), needed.begin(), needed.end())) {
        break;
      }
      // Without k pairs to compare with, the features of the largest bounds come first.
      const bool blind = std::find(limit.begin(), limit.begin() + Lanes(state), 0.0) !=
                         limit.begin() + Lanes(state);
      if (blind) {
        needed = Largest(state, needed, 2 * state.wanted.size() + FewFor(2 * options_.k));
      }
      state.wanted = std::move(needed);
    }
    state.used.features += static_cast<double>(state.wanted.size());
    if (!whole) state.guess = Over(state, limit, kGuessSlack);
    for (std::size_t lane = 0; lane < state.lanes; ++lane) {
      found[(state.first + lane) * groups_.size() + group] = Strongest(state, lane);
    }
  }

  static std::ptrdiff_t Lanes(const State& state) {
    return static_cast<std::ptrdiff_t>(state.lanes);
  }

  // The smallest number of features that has `pairs` pairs.
  static std::size_t FewFor(std::size_t pairs) {
    return static_cast<std::size_t>(std::sqrt(2.0 * static_cast<double>(pairs))) + 2;
  }

  // Features whose bound exceeds `share` of some row's limit.
  static Features Over(const State& state, const std::vector<double>& limit, double share) {
    Features over;
    for (std::size_t f = 0; f < state.features; ++f) {
      bool any = false;
      for (std::size_t lane = 0; lane < state.lanes; ++lane) {
        any = any || state.bounds[f * kL + lane] * kRoundingSlack > share * limit[lane];
      }
      if (any) over.push_back(static_cast<std::int32_t>(f));
    }
    return over;
  }

  // Of these features, the `count` of the largest bounds, each row's bounds over their largest.
  static Features Largest(const State& state, const Features& of, std::size_t count) {
    std::vector<double> top(kL, 1e-300);
    for (const std::int32_t f : of) {
      for (std::size_t lane = 0; lane < state.lanes; ++lane) {
        top[lane] = std::max(top[lane], state.bounds[static_cast<std::size_t>(f) * kL + lane]);
      }
    }
    std::vector<std::pair<double, std::int32_t>> order;
    for (const std::int32_t f : of) {
      double share = 0;
      for (std::size_t lane = 0; lane < state.lanes; ++lane) {
        share = std::max(share, state.bounds[static_cast<std::size_t>(f) * kL + lane] / top[lane]);
      }
      order.emplace_back(-share, f);
    }
    std::sort(order.begin(), order.end());
    Features largest;
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
      largest.push_back(order[i].second);
    }
    std::sort(largest.begin(), largest.end());
    return largest;
  }

  // The k strongest pairs within S of each row, in one scan of the sums: a heap for each lane,
  // whose weakest is the bar for the next. O(pairs) where few pass it.
  void Select(State& state) const {
    state.best.assign(kL, {});
    std::array<double, kL> bar{};
    const std::size_t n = state.wanted.size();
    const double* at = state.pairs.data();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j, at += kL) {
        for (std::size_t lane = 0; lane < kL; ++lane) {
          if (std::abs(at[lane]) > bar[lane]) Offer(state, lane, i, j, at[lane] / 2, bar[lane]);
        }
      }
    }
  }

  void Offer(State& state, std::size_t lane, std::size_t i, std::size_t j, double value,
             double& bar) const {
    auto& heap = state.best[lane];
    heap.push_back({state.wanted[i], state.wanted[j], value});
    std::push_heap(heap.begin(), heap.end(), Stronger);
    if (heap.size() > options_.k) {
      std::pop_heap(heap.begin(), heap.end(), Stronger);
      heap.pop_back();
    }
    if (heap.size() == options_.k) bar = 2 * std::abs(heap.front().value);
  }

  // |P| of the k-th strongest pair within S; 0 where there are fewer.
  double Limit(const State& state, std::size_t lane) const {
    const auto& heap = state.best[lane];
    return heap.size() < options_.k ? 0 : 2 * std::abs(heap.front().value);
  }

  static std::vector<InteractionPair> Strongest(State& state, std::size_t lane) {
    auto pairs = std::move(state.best[lane]);
    std::sort(pairs.begin(), pairs.end(), Stronger);
    return pairs;
  }

  // All trees of an output: the pairs within S, and the bounds where they are asked for.
  void Pass(State& state, std::size_t group, bool bounds) const {
    const std::size_t n = state.wanted.size();
    for (std::size_t i = 0; i < n; ++i) {
      state.position[static_cast<std::size_t>(state.wanted[i])] = static_cast<std::int32_t>(i);
    }
    state.pairs.assign(n < 2 ? 0 : n * (n - 1) / 2 * kL, 0.0);
    if (bounds) std::fill(state.bounds.begin(), state.bounds.end(), 0.0);
    for (const PackedTree<float>& tree : groups_[group]) RunTree(state, tree, bounds);
    for (const std::int32_t f : state.wanted) state.position[static_cast<std::size_t>(f)] = -1;
  }

  void RunTree(State& state, const PackedTree<float>& tree, bool bounds) const {
    const std::size_t locals = tree.features.size();
    state.slot.assign(locals, -1);
    state.members.clear();
    for (std::size_t l = 0; l < locals; ++l) {
      const std::int32_t at = state.position[static_cast<std::size_t>(tree.features[l])];
      if (at < 0) continue;
      state.slot[l] = static_cast<std::int32_t>(state.members.size());
      state.members.push_back(at);
    }
    const std::size_t wanted = state.members.size();
    if (!bounds && wanted < 2) return;
    const auto points = static_cast<std::int32_t>(tree.t.size());
    state.tree_pairs.assign(wanted * wanted * kL, 0.0f);
    state.tree_bounds.assign(locals * kL, 0.0f);
    state.live.assign(2 * locals, 0);
    const auto need =
        static_cast<std::size_t>(TopScratch(tree.depth, points, static_cast<std::int32_t>(locals)));
    if (state.scratch.size() < need) state.scratch.resize(need);
    const TopTree view{tree.nodes.data(),
                       tree.tables.data(),
                       tree.t.data(),
                       views_.data(),
                       points,
                       static_cast<std::int32_t>(locals),
                       tree.depth};
    const TopRun run{state.x.data(),
                     state.slot.data(),
                     static_cast<std::int32_t>(wanted),
                     state.tree_pairs.data(),
                     bounds ? state.tree_bounds.data() : nullptr,
                     state.scratch.data(),
                     state.live.data()};
    run_(view, run);
    Fold(state, tree, bounds);
  }

  static void Fold(State& state, const PackedTree<float>& tree, bool bounds) {
    for (std::size_t l = 0; l < tree.features.size() && bounds; ++l) {
      double* to = state.bounds.data() + static_cast<std::size_t>(tree.features[l]) * kL;
      for (std::size_t lane = 0; lane < kL; ++lane) {
        to[lane] += static_cast<double>(state.tree_bounds[l * kL + lane]);
      }
    }
    const std::size_t wanted = state.members.size();
    for (std::size_t a = 0; a < wanted; ++a) {
      for (std::size_t b = a + 1; b < wanted; ++b) {
        const auto i = static_cast<std::size_t>(std::min(state.members[a], state.members[b]));
        const auto j = static_cast<std::size_t>(std::max(state.members[a], state.members[b]));
        double* to = state.pairs.data() + PairIndex(i, j, state.wanted.size()) * kL;
        const float* from = state.tree_pairs.data() + (a * wanted + b) * kL;
        for (std::size_t lane = 0; lane < kL; ++lane) to[lane] += static_cast<double>(from[lane]);
      }
    }
  }

  TopInteractionsOptions options_;
  TopFunction run_;
  TreeEnsemble shape_;  // features and groups alone
  std::vector<CategorySet> sets_;
  std::vector<SimdCategorySet> views_;
  std::vector<std::vector<PackedTree<float>>> groups_;  // trees of each output
  std::mutex mutex_;
  TopInteractionsStats total_;
  std::vector<Features> guesses_;
};

TopInteractions::TopInteractions(const TreeEnsemble& model, TopInteractionsOptions options)
    : search_(std::make_unique<Search>(model, options)) {}
TopInteractions::~TopInteractions() = default;

std::vector<std::vector<InteractionPair>> TopInteractions::find(const RowBlock& rows) {
  return search_->Find(rows);
}

TopInteractionsStats TopInteractions::stats() const {
  return search_->stats();
}

std::vector<InteractionPair> TopOfMatrix(std::span<const double> matrix, std::size_t features,
                                         std::size_t k) {
  std::vector<InteractionPair> pairs;
  for (std::size_t i = 0; i < features; ++i) {
    for (std::size_t j = i + 1; j < features; ++j) {
      const double value = matrix[i * (features + 1) + j];
      if (value != 0) {
        pairs.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
      }
    }
  }
  KeepStrongest(pairs, k);
  return pairs;
}

}  // namespace retable::treeshap
