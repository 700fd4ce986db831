#include "algorithms/treeshap/quadrature/cpu/engine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/cpu/packing.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"
#include "base/parallel.hpp"
#include "base/simd_target.hpp"

namespace retable::treeshap {

namespace {

// The kernels of one instruction set.
template <class T>
using Kernels = SimdKernels<T> (*)(int points);

// The passes that are compiled for an instruction set, ascending; none where the set is missing.
template <class T>
std::vector<int> PointsOf(Kernels<T> kernels) {
  std::vector<int> points;
  for (int q = 1; q <= 8; ++q) {
    if (kernels(q).values != nullptr) points.push_back(q);
  }
  return points;
}

// The named instruction set's, or the widest ones' that this processor and this build have.
template <class T>
Kernels<T> Choose(const std::string& isa) {
  bool avx2 = false, avx512 = false;
#if defined(RETABLE_X86)
  avx2 = HasAvx2();
  avx512 = HasAvx512();
#endif
  const std::tuple<const char*, bool, Kernels<T>> sets[] = {{"avx512", avx512, SimdAvx512<T>},
                                                            {"avx2", avx2, SimdAvx2<T>},
                                                            {"baseline", true, SimdBaseline<T>}};
  bool known = false;
  for (const auto& [name, here, kernels] : sets) {
    if (isa != "auto" && isa != name) continue;
    if (here && !PointsOf(kernels).empty()) return kernels;
    known = true;
  }
  Require(known, "isa is auto, baseline, avx2 or avx512, not \"", isa, "\"");
  throw std::invalid_argument("this processor or build has no " + isa);
}

// Points [begin, begin + count) of a rule; beyond its end points that weigh nothing.
QuadratureRule Slice(const QuadratureRule& rule, std::size_t begin, std::size_t count) {
  QuadratureRule part{std::vector<double>(count, 0.5), std::vector<double>(count, 0.0)};
  for (std::size_t q = 0; q < std::min(count, rule.size() - begin); ++q) {
    part.node[q] = rule.node[begin + q];
    part.weight[q] = rule.weight[begin + q];
  }
  return part;
}

// A segment is closed when it has this many nodes.
constexpr std::size_t kSegmentNodes = 8192;
// Blocks of a task: as many as have their rows and sums in a second-level cache, and no more.
constexpr std::size_t kTaskBytes = 512 * 1024;
constexpr std::size_t kMostTaskBlocks = 64;
// A split of a bundle takes a row at most as long as this many splits of trees take a vector of
// rows. Measured with 8 lanes: 1.3 for full trees, 1.7 for leaf-wise ones.
constexpr double kBundledSplit = 1.8;
// Bundles copy the tree: none for models of more nodes.
constexpr std::size_t kBundledNodes = std::size_t{1} << 17;
constexpr std::size_t kPlaces = std::size_t{1} << 16;  // that a bundle can name
// Sums of segments that wait for each other.
constexpr std::size_t kSplitBytes = std::size_t{256} << 20;

template <class T>
class Engine final : public QuadratureEngine<T> {
 public:
  using typename QuadratureEngine<T>::Sums;
  using typename QuadratureEngine<T>::Sink;
  using QuadratureEngine<T>::shape;
  using QuadratureEngine<T>::expected;
  using QuadratureEngine<T>::outputs;

  explicit Engine(const EngineOptions& options)
      : threads_(options.threads), banzhaf_(options.banzhaf), kernels_(Choose<T>(options.isa)) {}

  void Prepare(const TreeEnsemble& model) override {
    AnnotatedModel annotated;
    WithThreads(threads_, [&] { annotated = Annotate(model); });
    shape = {.features = model.features, .groups = model.groups};
    expected = annotated.expected;
    PackTrees(annotated);
    sets_ = std::move(annotated.sets);
    views_.clear();
    for (const CategorySet& set : sets_) {
      views_.push_back(
          {set.left.data(), static_cast<std::int32_t>(set.left.size()), set.others_left});
    }
    NumberColumns();
    CutSegments();
    Bundle();
  }

  void Run(const RowBlock& rows, bool pairs, const Sink& sink) override {
    ValidateRows(shape, rows);
    if (pairs) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!has_pairs_) NumberPairs();
      has_pairs_ = true;
    }
    Explain({rows, pairs, sink});
  }

 private:
  static constexpr std::size_t kL = kLanes<T>;

  struct Range {
    std::size_t begin = 0, end = 0;
  };

  // Trees of one output, one after the other.
  struct Segment {
    std::size_t group, first, end;
    std::size_t sums = 1;                 // of its bundled trees, after one that is nobody's
    std::size_t splits = 0, bundled = 0;  // of the bundled trees, and of the bundles
    std::vector<TreeBundle<T>> bundles = {};
  };

  struct Request {
    const RowBlock& rows;
    bool pairs;
    const Sink& sink;
  };

  // Rows of some blocks, one block after the other: a row for each feature in use.
  struct Transposed {
    std::vector<Lanes<T>> x;
    std::vector<char> missing;  // of each block
  };

  struct Scratch {
    std::vector<Lanes<T>> phi, stack;
    std::vector<T> bundled;
  };

  void PackTrees(const AnnotatedModel& model) {
    struct Pass {
      std::size_t tree, begin, count;
    };
    const std::vector<int> sizes = PointsOf<T>(kernels_);
    // Every subset weighs the same where each feature is present with probability one half.
    std::map<int, QuadratureRule> rules = {{0, {{0.5}, {1.0}}}};
    std::vector<int> rule_of(model.trees.size());
    ParallelFor(banzhaf_ ? 0 : rule_of.size(), threads_, [&](std::size_t t) {
      const AnnotatedTree& tree = model.trees[t];
      rule_of[t] = std::is_same_v<T, float> ? FloatPoints(tree) : ExactPoints(tree.path_features);
    });
    std::vector<Pass> passes;
    for (std::size_t t = 0; t < model.trees.size(); ++t) {
      const int key = rule_of[t];
      if (!rules.contains(key)) rules[key] = GaussLegendre(key);
      std::size_t begin = 0;
      for (const int count : Passes(static_cast<int>(rules[key].size()), sizes)) {
        passes.push_back({t, begin, static_cast<std::size_t>(count)});
        begin += static_cast<std::size_t>(count);
      }
    }
    std::ranges::stable_sort(passes, {}, [&](const Pass& p) { return model.trees[p.tree].group; });
    trees_.resize(passes.size());
    ParallelFor(passes.size(), threads_, [&](std::size_t i) {
      const Pass& pass = passes[i];
      const QuadratureRule rule = Slice(rules.at(rule_of[pass.tree]), pass.begin, pass.count);
      trees_[i] = PackTree<T>(model.trees[pass.tree], rule, model.features);
    });
    std::erase_if(trees_, [](const PackedTree<T>& tree) { return tree.nodes.empty(); });
  }

  // Numbers the features in use, over all outputs for the rows and in each output for the sums.
  void NumberColumns() {
    const auto features = static_cast<std::size_t>(shape.features);
    std::vector<std::int32_t> x_of(features, -1);
    std::vector<std::int32_t> column_of(features, -1);
    x_features_.clear();
    outputs.assign(static_cast<std::size_t>(shape.groups), {});
    ranges_.assign(outputs.size(), {});
    columns_.assign(trees_.size(), {});
    has_pairs_ = false;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      PackedTree<T>& tree = trees_[i];
      if (i > 0 && tree.group != trees_[i - 1].group)
        std::fill(column_of.begin(), column_of.end(), -1);
      OutputColumns& output = outputs[static_cast<std::size_t>(tree.group)];
      for (const std::int32_t feature : tree.features) {
        Number(feature, x_of, x_features_);
        columns_[i].push_back(Number(feature, column_of, output.features));
      }
      for (SimdNode<T>& node : tree.nodes) {
        node.feature = x_of[static_cast<std::size_t>(node.feature)];
      }
    }
  }

  static std::int32_t Number(std::int32_t feature, std::vector<std::int32_t>& number_of,
                             std::vector<std::int32_t>& numbered) {
    std::int32_t& number = number_of[static_cast<std::size_t>(feature)];
    if (number < 0) {
      number = static_cast<std::int32_t>(numbered.size());
      numbered.push_back(feature);
    }
    return number;
  }

  void CutSegments() {
    segments_.clear();
    std::size_t nodes = kSegmentNodes;
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      const auto group = static_cast<std::size_t>(trees_[i].group);
      if (nodes >= kSegmentNodes || group != segments_.back().group) {
        segments_.push_back({.group = group, .first = i, .end = i});
        nodes = 0;
      }
      segments_.back().end = i + 1;
      nodes += trees_[i].nodes.size();
    }
    for (std::size_t s = segments_.size(); s-- > 0;) {
      Range& range = ranges_[segments_[s].group];
      range.begin = s;
      range.end = std::max(range.end, s + 1);
    }
  }

  // Bundles for calls of few rows, of trees of like size, where the union has at most half of their
  // splits.
  void Bundle() {
    begins_.assign(trees_.size(), 0);
    std::size_t nodes = 0;
    for (const PackedTree<T>& tree : trees_) nodes += tree.nodes.size();
    if (nodes > kBundledNodes || x_features_.size() > kPlaces) return;
    ParallelFor(segments_.size(), threads_, [&](std::size_t s) {
      std::vector<const PackedTree<T>*> order;
      for (std::size_t i = segments_[s].first; i < segments_[s].end; ++i) {
        const auto by_set = [](const SimdNode<T>& node) { return node.left_set >= 0; };
        if (std::ranges::none_of(trees_[i].nodes, by_set)) order.push_back(&trees_[i]);
      }
      std::ranges::stable_sort(order, {}, [](const PackedTree<T>* tree) {
        return std::tuple(tree->t.size(), tree->depth, tree->nodes.size());
      });
      for (auto rest = std::span<const PackedTree<T>* const>(order); !rest.empty();) {
        rest = rest.subspan(BundleFirst(rest, segments_[s]));
      }
    });
  }

  // Bundles the first of these trees, or leaves them alone. Returns their number.
  std::size_t BundleFirst(std::span<const PackedTree<T>* const> trees, Segment& segment) {
    const int lanes = kernels_(static_cast<int>(trees[0]->t.size())).lanes;
    std::vector<std::size_t> begins;
    std::size_t sums = segment.sums, splits = 0;
    for (const PackedTree<T>* tree : trees.first(std::min<std::size_t>(lanes, trees.size()))) {
      if (tree->t.size() != trees[0]->t.size()) break;
      begins.push_back(sums);
      sums += tree->features.size();
      splits += tree->nodes.size();
    }
    TreeBundle<T> bundle = BundleTrees<T>(trees.first(begins.size()), begins, lanes);
    if (2 * bundle.splits.size() <= splits && sums <= kPlaces) {
      for (std::size_t i = 0; i < begins.size(); ++i) {
        begins_[static_cast<std::size_t>(trees[i] - trees_.data())] = begins[i];
      }
      segment.sums = sums;
      segment.splits += splits;
      segment.bundled += bundle.splits.size();
      segment.bundles.push_back(std::move(bundle));
    }
    return begins.size();
  }

  // Pairs of features that meet on some path get columns after the features'.
  void NumberPairs() {
    ParallelFor(trees_.size(), threads_, [&](std::size_t i) { AddPartners(trees_[i]); });
    ParallelFor(outputs.size(), threads_, [&](std::size_t g) {
      OutputColumns& output = outputs[g];
      const Range range = ranges_[g];
      if (range.end == 0) return;
      std::unordered_map<std::uint64_t, std::int32_t> column_of;
      const std::size_t end = segments_[range.end - 1].end;
      for (std::size_t i = segments_[range.begin].first; i < end; ++i) {
        for (const auto& [p, q] : trees_[i].pairs) {
          auto a = trees_[i].features[static_cast<std::size_t>(p)];
          auto b = trees_[i].features[static_cast<std::size_t>(q)];
          if (a > b) std::swap(a, b);
          const auto next = static_cast<std::int32_t>(output.width(true));
          const std::uint64_t key =
              static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b);
          const auto [it, added] = column_of.try_emplace(key, next);
          if (added) output.pairs.emplace_back(a, b);
          columns_[i].push_back(it->second);
        }
      }
    });
  }

  void Explain(const Request& request) const {
    const std::size_t blocks = (request.rows.rows + kL - 1) / kL;
    const auto threads = static_cast<std::size_t>(threads_ > 0 ? threads_ : AvailableThreads());
    if (blocks < 4 * threads && threads > 1 && segments_.size() > 1) {
      std::size_t width = 0;  // of a block's sums over all segments
      for (const Segment& s : segments_) width += outputs[s.group].width(request.pairs);
      const std::size_t wave = kSplitBytes / (width * sizeof(Sums));
      for (std::size_t b = 0; b < blocks && wave > 0; b += wave) {
        ShareSegments(request, b, std::min(blocks, b + wave), threads);
      }
      if (wave > 0) return;
    }
    const std::size_t wanted = threads == 1 ? blocks : blocks / (4 * threads);
    const std::size_t per_task = std::clamp<std::size_t>(wanted, 1, MostBlocks(request));
    ParallelBlocks(blocks, per_task, threads_,
                   [&](std::size_t begin, std::size_t end) { AllSegments(request, begin, end); });
  }

  std::size_t MostBlocks(const Request& request) const {
    std::size_t width = 1;
    for (const OutputColumns& output : outputs)
      width = std::max(width, output.width(request.pairs));
    const std::size_t bytes = x_features_.size() * sizeof(Lanes<T>) + width * sizeof(Sums);
    return std::clamp<std::size_t>(kTaskBytes / bytes, 1, kMostTaskBlocks);
  }

  // A task of its own rows: each output's segments one after the other.
  void AllSegments(const Request& request, std::size_t begin, std::size_t end) const {
    Transposed rows = Allocate(end - begin);
    for (std::size_t b = begin; b < end; ++b) Transpose(request.rows, b, b - begin, rows);
    Scratch scratch;
    std::vector<Sums> total, part;
    for (std::size_t g = 0; g < outputs.size(); ++g) {
      const std::size_t width = outputs[g].width(request.pairs);
      total.assign(width * (end - begin), Sums{});
      const Range range = ranges_[g];
      for (std::size_t s = range.begin; s < range.end; ++s) {
        const bool first = s == range.begin;
        if (!first) part.assign(total.size(), Sums{});
        std::vector<Sums>& sums = first ? total : part;
        RunSegment(request, segments_[s], rows, begin, {0, end - begin}, scratch, sums.data());
        if (!first) Add(part.data(), total.size(), total.data());
      }
      for (std::size_t b = begin; b < end; ++b) {
        request.sink(g, b * kL, RowsOf(request.rows, b), total.data() + (b - begin) * width);
      }
    }
  }

  // Few rows: a task for each segment (and part of the blocks), then one for each output and block.
  void ShareSegments(const Request& request, std::size_t begin, std::size_t end,
                     std::size_t threads) const {
    const std::size_t blocks = end - begin;
    Transposed rows = Allocate(blocks);
    ParallelFor(blocks, threads_,
                [&](std::size_t b) { Transpose(request.rows, begin + b, b, rows); });
    std::vector<std::vector<Sums>> sums(segments_.size());
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      sums[s].resize(outputs[segments_[s].group].width(request.pairs) * blocks);
    }
    const std::size_t wanted = (4 * threads + segments_.size() - 1) / segments_.size();
    const std::size_t parts = std::clamp<std::size_t>(wanted, 1, blocks);
    ParallelFor(segments_.size() * parts, threads_, [&](std::size_t task) {
      const std::size_t s = task / parts;
      const std::size_t part = task % parts;
      Scratch scratch;
      RunSegment(request, segments_[s], rows, begin,
                 {part * blocks / parts, (part + 1) * blocks / parts}, scratch, sums[s].data());
    });
    ParallelFor(outputs.size() * blocks, threads_, [&](std::size_t task) {
      const std::size_t g = task / blocks;
      const std::size_t b = task % blocks;
      const std::size_t width = outputs[g].width(request.pairs);
      std::vector<Sums> total(width, Sums{});
      for (std::size_t s = ranges_[g].begin; s < ranges_[g].end; ++s) {
        const Sums* part = sums[s].data() + b * width;
        if (s == ranges_[g].begin)
          std::copy_n(part, width, total.data());
        else
          Add(part, width, total.data());
      }
      request.sink(g, (begin + b) * kL, RowsOf(request.rows, begin + b), total.data());
    });
  }

  static void Add(const Sums* from, std::size_t count, Sums* to) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t lane = 0; lane < kL; ++lane) to[i].lane[lane] += from[i].lane[lane];
    }
  }

  // The segment's trees for some of the blocks; a tree's tables serve them all from cache.
  void RunSegment(const Request& request, const Segment& segment, const Transposed& rows,
                  std::size_t first_block, Range blocks, Scratch& scratch, Sums* sums) const {
    const std::size_t width = outputs[segment.group].width(request.pairs);
    const bool few =
        !request.pairs && kBundledSplit * static_cast<double>(request.rows.rows * segment.bundled) <
                              static_cast<double>(segment.splits);
    if (few) RunBundles(request.rows.rows, segment, rows, scratch);
    for (std::size_t i = segment.first; i < segment.end; ++i) {
      const PackedTree<T>& tree = trees_[i];
      if (few && begins_[i] > 0) {
        for (std::size_t row = 0; row < request.rows.rows; ++row) {
          const T* from = scratch.bundled.data() + row * segment.sums + begins_[i];
          for (std::size_t c = 0; c < tree.features.size(); ++c) {
            sums[columns_[i][c]].lane[row] += static_cast<double>(from[c]);
          }
        }
        continue;
      }
      Resize(tree, request.pairs, scratch);
      const SimdTree<T> view = tree.View(views_.data());
      const SimdKernels<T> kernels = kernels_(view.points);
      const SimdFunction<T> run = request.pairs ? kernels.pairs : kernels.values;
      for (std::size_t b = blocks.begin; b < blocks.end; ++b) {
        run(view, {.x = rows.x.data() + b * x_features_.size(),
                   .rows = static_cast<int>(RowsOf(request.rows, first_block + b)),
                   .missing = rows.missing[b] != 0,
                   .phi = scratch.phi.data(),
                   .stack = scratch.stack.data(),
                   .columns = columns_[i].data(),
                   .sums = sums + b * width});
      }
    }
  }

  // Each row through each bundle; the sums of a row's trees lie one after the other.
  void RunBundles(std::size_t count, const Segment& segment, const Transposed& rows,
                  Scratch& scratch) const {
    const std::size_t width = x_features_.size();
    scratch.bundled.assign(count * segment.sums, T(0));
    std::vector<T> x;
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t c = 0; c < width; ++c) x.push_back(rows.x[c].lane[row]);
    }
    for (const TreeBundle<T>& bundle : segment.bundles) {
      const SimdKernels<T> kernels = kernels_(static_cast<int>(bundle.points));
      const std::size_t vectors = bundle.splits.size() * (bundle.points + 1);
      const std::size_t stack = vectors * static_cast<std::size_t>(kernels.lanes) / kL + 1;
      if (scratch.stack.size() < stack) scratch.stack.resize(stack);
      for (std::size_t row = 0; row < count; ++row) {
        kernels.bundle(bundle.View(), {.x = x.data() + row * width,
                                       .missing = rows.missing[0] != 0,
                                       .phi = scratch.bundled.data() + row * segment.sums,
                                       .stack = scratch.stack.data()});
      }
    }
  }

  static std::size_t RowsOf(const RowBlock& rows, std::size_t block) {
    return std::min(kL, rows.rows - block * kL);
  }

  static void Resize(const PackedTree<T>& tree, bool pairs, Scratch& scratch) {
    const std::size_t sums = tree.features.size() + (pairs ? tree.pairs.size() : 0);
    const auto stack =
        static_cast<std::size_t>(SimdScratch(tree.depth, static_cast<int>(tree.t.size()),
                                             static_cast<int>(tree.features.size()), pairs));
    if (scratch.phi.size() < sums) scratch.phi.resize(sums);
    if (scratch.stack.size() < stack) scratch.stack.resize(stack);
  }

  Transposed Allocate(std::size_t blocks) const {
    return {std::vector<Lanes<T>>(blocks * x_features_.size()), std::vector<char>(blocks, 0)};
  }

  // Lanes past the last row are zeros.
  void Transpose(const RowBlock& rows, std::size_t block, std::size_t at, Transposed& to) const {
    Lanes<T>* x = to.x.data() + at * x_features_.size();
    const std::size_t count = RowsOf(rows, block);
    bool missing = false;
    for (std::size_t lane = 0; lane < count; ++lane) {
      const float* row = rows.values.data() + (block * kL + lane) * rows.columns;
      for (std::size_t c = 0; c < x_features_.size(); ++c) {
        const float value = ClampInfinity(row[x_features_[c]]);
        missing = missing || std::isnan(value);
        x[c].lane[lane] = static_cast<T>(value);
      }
    }
    to.missing[at] = missing ? 1 : 0;
  }

  int threads_;
  bool banzhaf_;
  Kernels<T> kernels_;
  std::vector<CategorySet> sets_;
  std::vector<SimdCategorySet> views_;              // point into sets_
  std::vector<PackedTree<T>> trees_;                // by output
  std::vector<std::vector<std::int32_t>> columns_;  // of each tree: of its features, its pairs
  std::vector<std::size_t> begins_;  // of each tree's sums among its segment's; 0: in no bundle
  std::vector<std::int32_t> x_features_;  // those that any tree splits
  std::vector<Segment> segments_;
  std::vector<Range> ranges_;  // of each output's segments
  std::mutex mutex_;
  bool has_pairs_ = false;  // pairs have been asked for
};

}  // namespace

template <class T>
std::unique_ptr<QuadratureEngine<T>> QuadratureEngine<T>::Make(const EngineOptions& options) {
  return std::make_unique<Engine<T>>(options);
}

template class QuadratureEngine<float>;
template class QuadratureEngine<double>;

}  // namespace retable::treeshap
