#include "algorithms/extratrees/published/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace retable::extratrees::published {

Sampling ParseSampling(const std::string& name) {
  if (name == "uniform") return Sampling::kUniform;
  if (name == "binomial") return Sampling::kBinomial;
  if (name == "normal") return Sampling::kNormal;
  throw std::invalid_argument("sampling \"" + name + "\" is none of uniform, binomial, normal");
}

View CheckPublished(const FeatureMatrix& data, const Targets& targets, const ForestOptions& options,
                    Sampling sampling) {
  const std::uint32_t classes = CheckTraining(data, targets, options);
  if (targets.regression() || !targets.weights.empty()) {
    throw std::invalid_argument(
        "the published method grows on classes of equal weight: use \"frontier\"");
  }
  for (std::size_t i = 0; i < data.rows * data.columns; ++i) {
    if (std::isfinite(data.values[i])) continue;
    throw std::invalid_argument("value at row " + std::to_string(i / data.columns) + ", column " +
                                std::to_string(i % data.columns) +
                                " is missing or infinite: the published method takes neither; "
                                "impute it");
  }
  if (options.n_trees > 1024) {
    throw std::invalid_argument(
        "the published method grows at most 1024 trees, one a thread of a block");
  }
  if (options.max_depth != 0 || options.min_samples_split != 2 || options.min_samples_leaf != 1 ||
      options.min_impurity_decrease != 0 || options.max_leaf_nodes != 0 ||
      options.min_weight_fraction_leaf != 0 || options.bootstrap) {
    throw std::invalid_argument(
        "the published method grows full trees on all rows: no limits, no bootstrap");
  }
  View view{};
  view.shape = {static_cast<std::uint32_t>(data.rows), static_cast<std::uint32_t>(data.columns),
                classes, static_cast<std::uint32_t>(options.n_trees),
                ResolveMaxFeatures(options.max_features, data.columns)};
  view.seed = options.seed;
  view.sampling = sampling;
  view.capacity = std::min(2 * view.shape.rows - 1, 1024u);
  return view;
}

void AddTo(std::vector<PartTime>& parts, const std::string& name, double seconds) {
  auto part = std::ranges::find(parts, name, &PartTime::name);
  if (part == parts.end()) part = parts.insert(part, {name, 0, 0});
  ++part->calls;
  part->seconds += seconds;
}

std::map<std::string, std::uint64_t> CountMemory(std::uint64_t rows, std::uint64_t features,
                                                 std::uint64_t trees, std::uint64_t nodes) {
  const std::uint64_t cell = sizeof(std::int32_t);
  return {{"X", rows * features * cell},
          {"X transposed", rows * features * cell},
          {"batch_pos", rows * trees * cell},
          {"trees", trees * kFields * nodes * cell}};
}

namespace {

//! Class counts of all nodes: of leaves from the samples' final nodes, of others from children.
std::vector<std::uint32_t> NodeCounts(const View& v, std::uint32_t tree) {
  const auto length = static_cast<std::size_t>(v.progress.length[tree]);
  std::vector<std::uint32_t> counts(length * v.shape.classes, 0);
  for (std::uint32_t i = 0; i < v.shape.rows; ++i) {
    const auto at = static_cast<std::size_t>(Traverse(v, tree, i));
    ++counts[at * v.shape.classes + v.data.labels[i]];
  }
  for (std::size_t node = length; node-- > 0;) {
    const Cell* cell = v.Node(tree, static_cast<std::int32_t>(node));
    if (cell[kLeft].integer == static_cast<std::int32_t>(node)) continue;
    for (const Field side : {kLeft, kRight}) {
      const auto child = static_cast<std::size_t>(cell[side].integer);
      for (std::uint32_t c = 0; c < v.shape.classes; ++c) {
        counts[node * v.shape.classes + c] += counts[child * v.shape.classes + c];
      }
    }
  }
  return counts;
}

struct NodeVisit {
  std::int32_t node, parent;
  bool right;
};

Tree ExportTree(const View& v, std::uint32_t tree) {
  const std::vector<std::uint32_t> counts = NodeCounts(v, tree);
  Tree out;
  std::vector<NodeVisit> stack{{0, -1, false}};
  while (!stack.empty()) {
    const NodeVisit visit = stack.back();
    stack.pop_back();
    const auto at = static_cast<std::int32_t>(out.nodes.size());
    if (visit.parent >= 0) {
      TreeNode& parent = out.nodes[static_cast<std::size_t>(visit.parent)];
      (visit.right ? parent.right : parent.left) = at;
    }
    const std::uint32_t* mine =
        counts.data() + static_cast<std::size_t>(visit.node) * v.shape.classes;
    TreeNode node;
    std::uint64_t squares = 0;
    for (std::uint32_t c = 0; c < v.shape.classes; ++c) {
      node.samples += mine[c];
      squares += std::uint64_t{mine[c]} * mine[c];
    }
    node.impurity = GiniImpurity(squares, node.samples);
    node.weight = node.samples;
    const Cell* cell = v.Node(tree, visit.node);
    if (cell[kLeft].integer == visit.node) {
      // The most frequent class: the leaf's own where it was reached, and also where a stopped fit
      // left a node ungrown.
      node.value =
          static_cast<std::uint32_t>(std::max_element(mine, mine + v.shape.classes) - mine);
    } else {
      node.feature = cell[kFeature].integer;
      // x < cut, as x <= the float below.
      node.threshold = static_cast<double>(
          std::nextafter(cell[kCut].real, -std::numeric_limits<float>::infinity()));
      stack.push_back({cell[kRight].integer, at, true});
      stack.push_back({cell[kLeft].integer, at, false});
    }
    out.nodes.push_back(node);
  }
  // Missing values go to the child with more samples, scikit-learn's rule where none was seen.
  for (TreeNode& node : out.nodes) {
    if (node.feature < 0) continue;
    node.missing_left = out.nodes[static_cast<std::size_t>(node.left)].samples >
                        out.nodes[static_cast<std::size_t>(node.right)].samples;
  }
  return out;
}

}  // namespace

std::unique_ptr<FittedForest> Fitted(const View& view, std::vector<PartTime> parts) {
  Forest forest;
  forest.columns = view.shape.features;
  forest.classes = view.shape.classes;
  for (std::uint32_t t = 0; t < view.shape.trees; ++t) forest.trees.push_back(ExportTree(view, t));
  auto fitted = std::make_unique<HostForest>(std::move(forest));
  fitted->parts = std::move(parts);
  fitted->memory =
      CountMemory(view.shape.rows, view.shape.features, view.shape.trees, view.capacity);
  return fitted;
}

}  // namespace retable::extratrees::published
