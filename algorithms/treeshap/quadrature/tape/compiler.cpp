#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/tape/accumulators.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

using tape::RecordSize;

// Index of a shape in the order L, P, A, B (height <= 2), or -1.
int SmallShape(const AnnotatedTree& tree, std::int32_t n) {
  const AnnotatedNode& node = tree.at(n);
  if (node.height > 2) return -1;
  if (node.height < 2) return node.height;
  const int left = tree.at(node.left).height;
  const int right = tree.at(node.right).height;
  return left == right ? 3 : 2;
}

tape::Op ShapeOp(const AnnotatedTree& tree, std::int32_t n, std::int32_t first,
                 std::int32_t second) {
  const int height = tree.at(n).height;
  if (height == 1) return tape::kP;
  if (height == 2) return SmallShape(tree, n) == 3 ? tape::kB : tape::kA;
  constexpr tape::Op kOps[4][4] = {{tape::kEnd, tape::kEnd, tape::kEnd, tape::kEnd},
                                   {tape::kEnd, tape::kEnd, tape::kEnd, tape::kEnd},
                                   {tape::kAL, tape::kAP, tape::kAA, tape::kEnd},
                                   {tape::kBL, tape::kBP, tape::kBA, tape::kBB}};
  return kOps[SmallShape(tree, first)][SmallShape(tree, second)];
}

// What a pass of a tree needs.
struct PassContext {
  const AnnotatedTree& tree;
  const QuadratureRule& rule;
  std::size_t begin;  // first quadrature point
  int points;
  const std::vector<std::uint32_t>& set_offsets;
};

// The tapes of a pass's subtrees, one behind the other.
struct SubtreeTapes {
  struct Span {
    std::uint32_t subtree;  // merged
    std::size_t first, words;
    std::size_t to = 0;  // place in the tape
  };
  Instructions written;  // words of all, the rest of the last one
  std::vector<Span> spans;
  int stack_slots = 0;
};

// One pass of one tree.
struct Pass {
  std::int32_t group;
  std::size_t tree;
  int rule_points;    // of all its passes
  std::size_t begin;  // first quadrature point
  std::vector<MergedSubtree> merged = {};
  std::uint32_t batch = 0;
  Instructions written = {};
  SubtreeTapes subtree_tapes = {};
  int stack_slots = 0;
  std::size_t fresh = 0;         // subtrees that it is the first to use
  tape::Op before = tape::kEnd;  // what stands before it; kEnd: it begins a segment
};

// Writes instructions of one pass of one tree; knows nothing of chunks.
class TreeWriter {
 public:
  TreeWriter(const PassContext& context, Instructions& out)
      : pass_(context), tree_(context.tree), points_(context.points), written_(out) {}

  //! Subtrees of the tape, of which these are planned, are written as such.
  TreeWriter(const PassContext& context, const Tape& tape,
             const std::vector<PlannedSubtree>& planned, Pass& out)
      : TreeWriter(context, out.written) {
    if (planned.empty()) return;
    tape_ = &tape;
    planned_ = &planned;
    merged_ = &out.merged;
    subtree_tapes_ = &out.subtree_tapes;
    subtree_at_.assign(tree_.nodes.size(), -1);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      subtree_at_[static_cast<std::size_t>(planned[i].root)] = static_cast<std::int32_t>(i);
    }
    subtree_writer_ = std::make_unique<TreeWriter>(context, subtree_tapes_->written);
  }

  //! Appends the instructions of the subtree at n. Returns the number of stack slots.
  int Run(std::int32_t n) {
    const int slots = Tops(n) + 1;
    Visit(n);
    return slots;
  }

  void Begin(tape::Op op, int slot) {
    written_.starts.push_back(written_.words.size());
    written_.words.push_back({Word(op), Word(static_cast<std::uint32_t>(slot)), 0, 0});
  }

  //! A feature of the path: the factors of G.
  void PathFactor(const PathFeature& f) {
    float* record = Append(RecordSize(points_));
    record[0] = f.lower;
    record[1] = f.upper;
    record[3] = Word(Name(f.feature) | (f.missing_inside ? tape::kMissingInside : 0u));
    for (int i = 0; i < PointsInRule(); ++i) {
      const double t = pass_.rule.node[pass_.begin + static_cast<std::size_t>(i)];
      const double cold = f.cover * (1 - t);
      record[8 + i] = static_cast<float>(t + cold);
      record[8 + points_ + i] = static_cast<float>(cold);
    }
  }

 private:
  // Index of the shared subtree at a node, -1: none.
  std::int32_t SubtreeAt(std::int32_t n) const {
    return subtree_at_.empty() ? -1 : subtree_at_[static_cast<std::size_t>(n)];
  }

  // Leaves, treelets and shared subtrees need no slot.
  bool Slotless(std::int32_t n) const { return tree_.at(n).height <= 3 || SubtreeAt(n) >= 0; }

  // The children, first the one that needs more stack, so that the larger shape comes first.
  std::pair<std::int32_t, std::int32_t> Children(std::int32_t n) {
    const auto [left, right] = std::pair(tree_.at(n).left, tree_.at(n).right);
    const auto rank = [&](std::int32_t child) {
      return std::pair(Order(child), SmallShape(tree_, child));
    };
    return rank(left) >= rank(right) ? std::pair(left, right) : std::pair(right, left);
  }

  int Order(std::int32_t n) {
    if (SubtreeAt(n) >= 0) return 4;
    return tree_.at(n).height <= 3 ? tree_.at(n).height : 5 + Tops(n);
  }

  // The highest slot of each subtree, -1 where none: K of the first child lies above the second
  // child's slots, G of the node above that and above the first child's.
  int Tops(std::int32_t n) {
    if (tops_.empty()) tops_.assign(tree_.nodes.size(), kUnknown);
    int& top = tops_[static_cast<std::size_t>(n)];
    if (top != kUnknown) return top;
    if (Slotless(n)) return top = -1;
    const auto [first, second] = Children(n);
    const int first_top = Tops(first);
    const int second_top = Tops(second);
    const int k_slot = Slotless(second) ? -1 : second_top + 1;
    return top = std::max(first_top, k_slot) + 1;
  }

  void Visit(std::int32_t n) {
    const AnnotatedNode& at = tree_.at(n);
    if (const std::int32_t subtree = SubtreeAt(n); subtree >= 0) {
      if (IsUsed((*merged_)[static_cast<std::size_t>(subtree)])) Begin(tape::kShared, 0);
      Shared(subtree);
      return;
    }
    const auto [first, second] = Children(n);
    if (at.height <= 3) {
      Begin(ShapeOp(tree_, n, first, second), 0);
      Treelet(n);
      return;
    }
    const int slot = tops_[static_cast<std::size_t>(n)];
    const std::int32_t first_subtree = SubtreeAt(first);
    const std::int32_t second_subtree = SubtreeAt(second);
    // The larger child is first: beside a shared subtree stands a shared subtree, a treelet or a
    // leaf.
    if (first_subtree >= 0) {
      const bool leaf = tree_.at(second).height == 0;
      Begin(second_subtree >= 0 ? tape::kFork : (leaf ? tape::kForkLeaf : tape::kForkTreelet),
            slot);
      if (second_subtree >= 0 || leaf) {
        Sum(n, second);
      } else {
        Record(n, second);
      }
      Shared(first_subtree);
      if (second_subtree >= 0) {
        Shared(second_subtree);
      } else if (!leaf) {
        Visit(second);
        Begin(tape::kUpTreelet, slot);
        Sum(n, second);
      }
      return;
    }
    Begin(tape::kDown, slot);
    Record(n, second);
    Visit(first);
    if (second_subtree >= 0) {
      Begin(tape::kUpShared, slot);
      Sum(n, second);
      Shared(second_subtree);
      return;
    }
    if (tree_.at(second).height == 0) {
      Begin(tape::kUpLeaf, slot);
    } else if (Slotless(second)) {
      Begin(tape::kMidTreelet, slot);
      Record(n, second);
      Visit(second);
      Begin(tape::kUpTreelet, slot);
    } else {
      const int k_slot = tops_[static_cast<std::size_t>(second)] + 1;
      Begin(tape::kMid, slot | k_slot << 16);
      Record(n, second);
      Visit(second);
      Begin(tape::kUp, slot | k_slot << 16);
    }
    Sum(n, second);
  }

  // A merged tree adds nothing here.
  static bool IsUsed(const MergedSubtree& merged) { return merged.first || merged.k != tape::kNoK; }

  // The subtree's own tape, and what an instruction needs to take its results.
  void Shared(std::int32_t number) {
    const MergedSubtree& merged = (*merged_)[static_cast<std::size_t>(number)];
    const SharedSubtree& subtree = tape_->subtrees[merged.subtree];
    SubtreeTape((*planned_)[static_cast<std::size_t>(number)], merged, subtree);
    if (!IsUsed(merged)) return;
    const std::uint32_t own = merged.first ? subtree.own : 0;
    written_.words.push_back(
        {Word(merged.subtree), Word(own), Word(subtree.width), Word(merged.k)});
    for (std::uint32_t i = 0; i < own; ++i) {
      written_.sums.push_back(4 * written_.words.size() + i);
    }
    Words(std::span(tape_->subtree_features).subspan(subtree.first_feature, own), written_.words);
  }

  void SubtreeTape(const PlannedSubtree& planned, const MergedSubtree& merged,
                   const SharedSubtree& subtree) {
    SubtreeTapes& tapes = *subtree_tapes_;
    auto& [words, starts, sums] = tapes.written;
    const std::size_t first = words.size();
    starts.clear();
    sums.clear();
    words.push_back({0, Word(static_cast<std::uint32_t>(planned.path.size())), Word(merged.k), 0});
    TreeWriter& writer = *subtree_writer_;
    writer.locals_ =
        std::span(tape_->subtree_features).subspan(subtree.first_feature, subtree.features);
    for (const PathFeature& f : planned.path) writer.PathFactor(f);
    tapes.stack_slots = std::max(tapes.stack_slots, writer.Run(planned.root));
    writer.Begin(tape::kEnd, 0);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      words[starts[i]].z = words[starts[i + 1]].x;
      words[starts[i]].w = words[starts[i + 1]].y;
    }
    tapes.spans.push_back({merged.subtree, first, words.size() - first});
  }

  // The records of a treelet in preorder, first children first.
  void Treelet(std::int32_t n) {
    if (tree_.at(n).height == 0) return;
    const auto [first, second] = Children(n);
    Sum(n, second);
    Treelet(first);
    Treelet(second);
  }

  std::uint32_t Name(std::int32_t feature) const {
    const auto model = static_cast<std::uint32_t>(feature);
    if (locals_.empty()) return model;
    return static_cast<std::uint32_t>(std::find(locals_.begin(), locals_.end(), model) -
                                      locals_.begin());
  }

  // A record whose feature's sum the instruction adds to.
  void Sum(std::int32_t n, std::int32_t second) {
    written_.sums.push_back(4 * written_.words.size() + 3);
    Record(n, second);
  }

  void Record(std::int32_t n, std::int32_t second) {
    const AnnotatedNode& at = tree_.at(n);
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double above = right_second ? 1 - w : -w;
    const double below = right_second ? -w : 1 - w;
    const std::int32_t first = right_second ? at.left : at.right;
    const bool leaf_parent = at.height == 1;
    const double difference = leaf_parent ? tree_.at(second).value - tree_.at(first).value : 1.0;
    const Float4 split = SplitWords(at, pass_.set_offsets, Name(at.feature));
    float* words = Append(RecordSize(points_));
    std::memcpy(words, &split, sizeof(split));
    words[4] = static_cast<float>(above);
    words[5] = static_cast<float>(below);
    words[6] = static_cast<float>(leaf_parent ? at.value : w);
    words[7] = static_cast<float>(tree_.at(second).value);
    Tables(at.cover_above, difference, words + 8);
  }

  // Appends so many groups of four zeros.
  float* Append(std::size_t groups) {
    const std::size_t first = written_.words.size();
    written_.words.resize(first + groups);
    return reinterpret_cast<float*>(written_.words.data() + first);
  }

  // Points past the rule's end weigh nothing.
  int PointsInRule() const {
    return std::min(points_, static_cast<int>(pass_.rule.size() - pass_.begin));
  }

  // g and e of this pass's points.
  void Tables(double c, double difference, float* words) const {
    for (int i = 0; i < PointsInRule(); ++i) {
      const std::size_t q = pass_.begin + static_cast<std::size_t>(i);
      const double t = pass_.rule.node[q];
      const double d = t + c * (1 - t);
      words[i] = static_cast<float>(t / d * difference);
      words[points_ + i] = static_cast<float>(pass_.rule.weight[q] * c / (d * d) * difference);
    }
  }

  static constexpr int kUnknown = -2;

  PassContext pass_;
  const AnnotatedTree& tree_;
  int points_;
  Instructions& written_;
  std::vector<int> tops_;
  std::span<const std::uint32_t> locals_;  // features that records number; none: the model's
  // Where there are shared subtrees:
  const Tape* tape_ = nullptr;
  const std::vector<PlannedSubtree>* planned_ = nullptr;
  const std::vector<MergedSubtree>* merged_ = nullptr;
  SubtreeTapes* subtree_tapes_ = nullptr;
  std::vector<std::int32_t> subtree_at_;  // by root node
  std::unique_ptr<TreeWriter> subtree_writer_;
};

Float4 Mark(tape::Op op) {
  return {Word(op), 0, 0, 0};
}

Instructions OnlyMark(tape::Op op) {
  return {{Mark(op)}, {0}, {}};
}

// Sums of up to kPerFeatureLimit features, one bit each.
using FeatureBits = std::uint64_t;
static_assert(kPerFeatureLimit <= 64);

std::vector<std::int32_t> Ascending(FeatureBits bits) {
  std::vector<std::int32_t> features;
  for (; bits != 0; bits &= bits - 1) features.push_back(std::countr_zero(bits));
  return features;
}

// Lays the passes of a segment into chunks.
class Assembler {
 public:
  Assembler(AccumulatorLayout layout, std::uint32_t max_slots)
      : layout_(layout), max_slots_(max_slots) {}

  //! The next pass, with the features it adds to.
  void Add(const Pass& pass, FeatureBits added) {
    if (layout_ == AccumulatorLayout::kSlots) {
      if (pass.before != tape::kEnd) run_.Append(OnlyMark(pass.before));
      run_.Append(pass.written);
      return;
    }
    if (pass.before == tape::kFold) Fold();
    if (pass.before == tape::kNextTree) Lay(OnlyMark(tape::kNextTree));
    features_ |= added;
    unfolded_ |= added;
    Lay(pass.written);
  }

  void Close() {
    if (layout_ == AccumulatorLayout::kPerFeature) {
      Fold();
      features = Ascending(features_);
    } else {
      LaySlotted();
    }
    Append(Mark(tape::kEnd));
    Pad();
  }

  std::vector<Float4> words;           //!< whole chunks
  std::vector<std::int32_t> features;  //!< as TapeSegment's
  std::uint32_t accumulator_slots = 0;

 private:
  void Fold() {
    Instructions fold = OnlyMark(tape::kFold);
    const std::vector<std::int32_t> names = Ascending(std::exchange(unfolded_, 0));
    fold.words[0].y = Word(static_cast<std::uint32_t>(names.size()));
    if (!names.empty()) {
      accumulator_slots = std::max(accumulator_slots, static_cast<std::uint32_t>(names.back()) + 1);
    }
    Words(names, fold.words);
    Lay(fold);
  }

  // The segment's instructions, once their sums have slots.
  void LaySlotted() {
    run_.Append(OnlyMark(tape::kNextTree));  // G is 1 where another segment follows
    SlottedInstructions allocated = AllocateSlots(run_, max_slots_);
    run_ = {};
    Lay(allocated.instructions);
    features = std::move(allocated.columns);
    accumulator_slots = allocated.slot_count;
  }

  void Lay(const Instructions& instructions) {
    const std::vector<Float4>& from = instructions.words;
    const std::vector<std::size_t>& starts = instructions.starts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : from.size();
      const std::size_t size = end - starts[i];
      // Room for the instruction and for the mark that ends the chunk.
      if (words.size() % tape::kChunk + size + 1 > tape::kChunk) {
        Append(Mark(tape::kNextChunk));
        Pad();
      }
      Announce(from[starts[i]]);
      words.insert(words.end(), from.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                   from.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }

  void Append(const Float4& head) {
    Announce(head);
    words.push_back(head);
  }

  // Tells the instruction before what comes next.
  void Announce(const Float4& head) {
    if (words.size() % tape::kChunk != 0) {
      words[last_].z = head.x;
      words[last_].w = head.y;
    }
    last_ = words.size();
  }

  void Pad() {
    constexpr std::size_t chunk = tape::kChunk;
    words.resize((words.size() + chunk - 1) / chunk * chunk, Float4{0, 0, 0, 0});
  }

  AccumulatorLayout layout_;
  std::uint32_t max_slots_;
  Instructions run_;                         // kSlots: the segment's instructions
  FeatureBits features_ = 0, unfolded_ = 0;  // kPerFeature
  std::size_t last_ = 0;                     // the last instruction's first word
};

// Writes a tape from its passes and their planned subtrees.
class TapeWriter {
 public:
  TapeWriter(const AnnotatedModel& model, const TapeOptions& options, AccumulatorLayout layout,
             const std::vector<std::vector<PlannedSubtree>>& planned, std::vector<Pass>& list,
             Tape& tape)
      : model_(model),
        options_(options),
        layout_(layout),
        planned_(planned),
        list_(list),
        tape_(tape) {}

  void Run(const std::map<int, QuadratureRule>& rules, const std::vector<std::uint32_t>& offsets,
           std::size_t most_width) {
    MergeSubtrees(most_width);
    ParallelFor(list_.size(), [&](std::size_t i) {
      Pass& pass = list_[i];
      TreeWriter writer(
          {model_.trees[pass.tree], rules.at(pass.rule_points), pass.begin, tape_.points, offsets},
          tape_, planned_[pass.tree], pass);
      pass.stack_slots = writer.Run(0);
      pass.fresh =
          static_cast<std::size_t>(std::ranges::count(pass.merged, true, &MergedSubtree::first));
    });
    CutSegments();
    LaySegments();
    LaySubtreeTapes();
  }

 private:
  void MergeSubtrees(std::size_t most_width) {
    SubtreeDeduplication subtrees(tape_.points, most_width);
    for (Pass& pass : list_) {
      pass.merged = subtrees.Add(planned_[pass.tree]);
      pass.batch = subtrees.batch();
    }
    tape_.subtrees = subtrees.Write(tape_.subtree_keys, tape_.subtree_features);
    for (Pass& pass : list_) subtrees.AssignK(pass.merged);
    for (const SharedSubtree& subtree : tape_.subtrees) {
      tape_.max_subtree_features = std::max(tape_.max_subtree_features, subtree.features);
      tape_.max_key_words = std::max(tape_.max_key_words, subtree.key_words);
    }
  }

  // A segment ends where it is full and before another output or batch.
  void CutSegments() {
    std::size_t used = 0, unfolded = 0, subtrees = 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      Pass& pass = list_[i];
      if (i == 0 || pass.group != list_[i - 1].group || pass.batch != list_[i - 1].batch ||
          used >= options_.segment_words) {
        tape_.segments.push_back({pass.group, 0, 0, subtrees, 0, pass.batch, {}});
        first_passes_.push_back(i);
        used = unfolded = 0;
      } else if (layout_ == AccumulatorLayout::kPerFeature && unfolded >= kFoldWords) {
        pass.before = tape::kFold;
        unfolded = 0;
      } else {
        pass.before = tape::kNextTree;
        ++used;
        ++unfolded;
      }
      used += pass.written.words.size();
      unfolded += pass.written.words.size();
      subtrees += pass.fresh;
      tape_.segments.back().subtrees += pass.fresh;
      tape_.stack_slots = std::max(tape_.stack_slots, pass.stack_slots);
    }
    first_passes_.push_back(list_.size());
  }

  void LaySegments() {
    const bool deep = options_.subtree_leaves == 0 && tape_.points >= kDeepTreePoints;
    const std::uint32_t chosen = deep ? kDeepTreeSlots : kAccumulatorSlots;
    std::vector<Assembler> laid(
        tape_.segments.size(),
        {layout_, options_.accumulator_slots > 0 ? options_.accumulator_slots : chosen});
    ParallelFor(laid.size(), [&](std::size_t s) {
      for (std::size_t i = first_passes_[s]; i < first_passes_[s + 1]; ++i) {
        laid[s].Add(list_[i], AddedFeatures(list_[i]));
        list_[i].written = {};
      }
      laid[s].Close();
    });
    std::size_t chunks = 0;
    for (std::size_t s = 0; s < laid.size(); ++s) {
      TapeSegment& segment = tape_.segments[s];
      segment.first_chunk = chunks;
      segment.chunks = laid[s].words.size() / tape::kChunk;
      segment.features = std::move(laid[s].features);
      chunks += segment.chunks;
      tape_.accumulator_slots = std::max(tape_.accumulator_slots, laid[s].accumulator_slots);
    }
    tape_.words.resize(chunks * tape::kChunk);
    ParallelFor(laid.size(), [&](std::size_t s) {
      std::ranges::copy(laid[s].words,
                        tape_.words.data() + tape_.segments[s].first_chunk * tape::kChunk);
      laid[s].words = {};
    });
  }

  // Those that the tree splits, and those of subtrees whose contributions are added here.
  FeatureBits AddedFeatures(const Pass& pass) const {
    FeatureBits bits = 0;
    if (layout_ == AccumulatorLayout::kSlots) return bits;
    for (const AnnotatedNode& node : model_.trees[pass.tree].nodes) {
      if (node.feature >= 0) bits |= FeatureBits{1} << node.feature;
    }
    for (const MergedSubtree& merged : pass.merged) {
      if (!merged.first) continue;
      const SharedSubtree& subtree = tape_.subtrees[merged.subtree];
      for (std::uint32_t i = 0; i < subtree.own; ++i) {
        bits |= FeatureBits{1} << tape_.subtree_features[subtree.first_feature + i];
      }
    }
    return bits;
  }

  // Lays the tapes of merged subtrees one behind the other, each with the length of the next at its
  // head.
  void LaySubtreeTapes() {
    std::vector<std::size_t> next(tape_.subtrees.size(), 0);  // words, then where the next one goes
    const auto for_each_span = [&](const auto& body) {
      for (Pass& pass : list_) {
        for (SubtreeTapes::Span& span : pass.subtree_tapes.spans) body(pass.subtree_tapes, span);
      }
    };
    for_each_span([&](SubtreeTapes& tapes, const SubtreeTapes::Span& span) {
      next[span.subtree] += span.words;
      tape_.max_subtree_words =
          std::max(tape_.max_subtree_words, static_cast<std::uint32_t>(span.words));
      tape_.subtree_stack_slots = std::max(tape_.subtree_stack_slots, tapes.stack_slots);
    });
    std::size_t total = 0;
    for (std::size_t u = 0; u < next.size(); ++u) {
      tape_.subtrees[u].first_word = static_cast<std::uint32_t>(total);
      total += std::exchange(next[u], total);
    }
    std::vector<Float4*> heads(next.size(), nullptr);
    for_each_span([&](SubtreeTapes& tapes, SubtreeTapes::Span& span) {
      const auto words = static_cast<std::uint32_t>(span.words);
      Float4*& head = heads[span.subtree];
      if (head == nullptr) tape_.subtrees[span.subtree].words = words;
      if (head != nullptr) head->x = Word(words);
      head = &tapes.written.words[span.first];
      span.to = next[span.subtree];
      next[span.subtree] += span.words;
    });
    tape_.subtree_words.resize(total);
    ParallelFor(list_.size(), [&](std::size_t i) {
      SubtreeTapes& tapes = list_[i].subtree_tapes;
      for (const SubtreeTapes::Span& span : tapes.spans) {
        std::copy_n(tapes.written.words.data() + span.first, span.words,
                    tape_.subtree_words.data() + span.to);
      }
      tapes = {};
    });
  }

  const AnnotatedModel& model_;
  const TapeOptions& options_;
  AccumulatorLayout layout_;
  const std::vector<std::vector<PlannedSubtree>>& planned_;  // by tree
  std::vector<Pass>& list_;
  Tape& tape_;
  std::vector<std::size_t> first_passes_;  // of each segment
};

}  // namespace

std::vector<int> Passes(int points, const std::vector<int>& sizes) {
  std::vector<int> passes;
  for (; points > 0; points -= passes.back()) {
    const auto enough = std::ranges::lower_bound(sizes, points);
    passes.push_back(enough == sizes.end() ? sizes.back() : *enough);
  }
  return passes;
}

Float4 SplitWords(const AnnotatedNode& at, const std::vector<std::uint32_t>& sets,
                  std::uint32_t feature) {
  const std::uint32_t flags = (at.missing_inside ? tape::kMissingInside : 0u) |
                              (at.missing_left ? 0u : tape::kMissingAbove);
  if (at.left_set < 0) return {at.lower, at.upper, at.threshold, Word(feature | flags)};
  const auto offset = [&](std::int32_t set) {
    return Word(set < 0 ? ~0u : sets[static_cast<std::size_t>(set)]);
  };
  return {offset(at.inside_set), offset(at.left_set), at.threshold,
          Word(feature | flags | tape::kCategorical)};
}

TapeSet CompileTapes(const AnnotatedModel& model, const TapeOptions& options) {
  Require(model.features <= static_cast<std::int32_t>(tape::kSlottedFeatureMask),
          "the tape takes at most 2^17 features");
  TapeSet out;
  out.features = model.features;
  out.groups = model.groups;
  out.layout = ChooseAccumulatorLayout(model.features);
  const std::vector<std::uint32_t> offsets = AppendSets(model.sets, out.sets);
  if (options.subtree_leaves > 0) out.ranks = RankTable(model);
  std::vector<int> points(model.trees.size(), 0);
  std::vector<std::vector<PlannedSubtree>> planned(model.trees.size());
  ParallelFor(model.trees.size(), [&](std::size_t t) {
    const AnnotatedTree& tree = model.trees[t];
    if (tree.nodes[0].feature < 0) return;  // a single leaf moves the expected value alone
    points[t] = FloatPoints(tree);
    planned[t] = PlanSubtrees(tree, out.ranks, options.subtree_leaves);
  });
  std::map<int, std::vector<Pass>> passes;
  std::map<int, QuadratureRule> rules;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    std::size_t begin = 0;
    if (points[t] > 0 && !rules.contains(points[t])) rules[points[t]] = GaussLegendre(points[t]);
    for (const int size : Passes(points[t], options.points)) {
      passes[size].push_back({model.trees[t].group, t, points[t], begin});
      begin += static_cast<std::size_t>(size);
    }
  }
  for (auto& [size, list] : passes) {
    std::ranges::stable_sort(list, {}, &Pass::group);
    Tape tape;
    tape.points = size;
    TapeWriter(model, options, out.layout, planned, list, tape)
        .Run(rules, offsets, options.batch_width / passes.size());
    out.tapes.push_back(std::move(tape));
  }
  ParallelFor(planned.size(), [&](std::size_t t) { planned[t] = {}; });  // they are many
  return out;
}

}  // namespace retable::treeshap
