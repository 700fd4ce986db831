#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <utility>

#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/tape/accumulators.hpp"
#include "algorithms/treeshap/sorted_set.hpp"

namespace retable::treeshap {

namespace {

using tape::RecordSize;

// Index of a shape in the order L, P, A, B (height <= 2), or -1.
int SmallShape(const AnnotatedTree& tree, std::int32_t n) {
  const AnnotatedNode& node = tree.nodes[static_cast<std::size_t>(n)];
  if (node.height > 2) return -1;
  if (node.height < 2) return node.height;
  const int left = tree.nodes[static_cast<std::size_t>(node.left)].height;
  const int right = tree.nodes[static_cast<std::size_t>(node.right)].height;
  return left == right ? 3 : 2;
}

tape::Op ShapeOp(const AnnotatedTree& tree, std::int32_t n, std::int32_t first,
                 std::int32_t second) {
  const int height = tree.nodes[static_cast<std::size_t>(n)].height;
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

// A subtree of a tree, and what becomes of it.
struct SubtreeOfTree {
  const PlannedSubtree* planned;
  MergedSubtree merged;
};

// The subtrees' own tapes in the order in which they are written, and which are each subtree's.
struct SubtreeTapes {
  struct Span {
    std::size_t first, words;
  };
  std::vector<Float4> words;
  std::vector<std::vector<Span>> spans;
  Instructions open;  // the one that is being written
};

// Writes instructions of one pass of one tree; knows nothing of chunks.
class TreeWriter {
 public:
  //! `subtrees`: by root node, or null; `locals`: the list of the features that records shall
  //! number, or none for the model's own numbers.
  TreeWriter(const PassContext& pass, Tape& out,
             const std::map<std::int32_t, SubtreeOfTree>* subtrees, SubtreeTapes* subtree_tapes,
             std::span<const std::uint32_t> locals)
      : pass_(pass),
        tree_(pass.tree),
        points_(pass.points),
        out_(out),
        subtrees_(subtrees),
        subtree_tapes_(subtree_tapes),
        locals_(locals) {}

  //! Appends the instructions of the subtree at n. Returns the number of stack slots.
  int Run(std::int32_t n, Instructions& out) {
    written_ = &out;
    const int slots = Tops(n) + 1;
    Visit(n);
    return slots;
  }

  void Begin(tape::Op op, int slot) {
    written_->starts.push_back(written_->words.size());
    written_->words.push_back({std::bit_cast<float>(static_cast<std::int32_t>(op)),
                               std::bit_cast<float>(static_cast<std::int32_t>(slot)), 0, 0});
  }

  //! A feature of the path: the factors of G.
  void PathFactor(const PathFeature& f, std::vector<Float4>& words) const {
    std::vector<float> record(static_cast<std::size_t>(4 * RecordSize(points_)), 0.0f);
    record[0] = f.lower;
    record[1] = f.upper;
    record[3] =
        std::bit_cast<float>(Name(f.feature) | (f.missing_inside ? tape::kMissingInside : 0u));
    for (int i = 0; i < points_; ++i) {
      const std::size_t q = pass_.begin + static_cast<std::size_t>(i);
      if (q >= pass_.rule.size()) continue;
      const double cold = f.cover * (1 - pass_.rule.node[q]);
      record[static_cast<std::size_t>(8 + i)] = static_cast<float>(pass_.rule.node[q] + cold);
      record[static_cast<std::size_t>(8 + points_ + i)] = static_cast<float>(cold);
    }
    Append(record, words);
  }

 private:
  const AnnotatedNode& node(std::int32_t n) const {
    return tree_.nodes[static_cast<std::size_t>(n)];
  }

  const SubtreeOfTree* SubtreeAt(std::int32_t n) const {
    if (subtrees_ == nullptr) return nullptr;
    const auto it = subtrees_->find(n);
    return it == subtrees_->end() ? nullptr : &it->second;
  }

  // Leaves, treelets and shared subtrees need no slot.
  bool Slotless(std::int32_t n) const { return node(n).height <= 3 || SubtreeAt(n) != nullptr; }

  // The child to visit first: the one that needs more stack, so the larger shape comes first.
  bool LeftFirst(std::int32_t n) {
    const AnnotatedNode& at = node(n);
    const int left = Order(at.left);
    const int right = Order(at.right);
    if (left != right) return left > right;
    return SmallShape(tree_, at.left) >= SmallShape(tree_, at.right);
  }

  int Order(std::int32_t n) {
    if (SubtreeAt(n) != nullptr) return 4;
    return node(n).height <= 3 ? node(n).height : 5 + Tops(n);
  }

  // The highest slot of each subtree, -1 where none: K of the first child lies above the second
  // child's slots, G of the node above that and above the first child's.
  int Tops(std::int32_t n) {
    if (tops_.empty()) tops_.assign(tree_.nodes.size(), kUnknown);
    int& top = tops_[static_cast<std::size_t>(n)];
    if (top != kUnknown) return top;
    if (Slotless(n)) return top = -1;
    const AnnotatedNode& at = node(n);
    const bool left_first = LeftFirst(n);
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    const int first_top = Tops(first);
    const int second_top = Tops(second);
    const int k_slot = Slotless(second) ? -1 : second_top + 1;
    return top = std::max(first_top, k_slot) + 1;
  }

  void Visit(std::int32_t n) {
    const AnnotatedNode& at = node(n);
    if (const SubtreeOfTree* subtree = SubtreeAt(n)) {
      // A merged tree adds nothing here.
      if (subtree->merged.first || subtree->merged.k != tape::kNoK) Begin(tape::kShared, 0);
      Shared(*subtree);
      return;
    }
    const bool left_first = LeftFirst(n);
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
    if (at.height <= 3) {
      Begin(ShapeOp(tree_, n, first, second), 0);
      Treelet(n);
      return;
    }
    const int slot = tops_[static_cast<std::size_t>(n)];
    const SubtreeOfTree* first_subtree = SubtreeAt(first);
    const SubtreeOfTree* second_subtree = SubtreeAt(second);
    // The larger child is first: beside a shared subtree stands a shared subtree, a treelet or a
    // leaf.
    if (first_subtree != nullptr) {
      const bool leaf = node(second).height == 0;
      Begin(second_subtree != nullptr ? tape::kFork : (leaf ? tape::kForkLeaf : tape::kForkTreelet),
            slot);
      if (second_subtree != nullptr || leaf) {
        Sum(n, second);
      } else {
        Record(n, second);
      }
      Shared(*first_subtree);
      if (second_subtree != nullptr) {
        Shared(*second_subtree);
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
    if (second_subtree != nullptr) {
      Begin(tape::kUpShared, slot);
      Sum(n, second);
      Shared(*second_subtree);
      return;
    }
    if (node(second).height == 0) {
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

  // The subtree's own tape, and what an instruction needs to take its results.
  void Shared(const SubtreeOfTree& one) {
    SubtreeTape(one, *subtree_tapes_);
    if (!one.merged.first && one.merged.k == tape::kNoK) return;
    const SharedSubtree& subtree = out_.subtrees[one.merged.subtree];
    const std::uint32_t own = one.merged.first ? subtree.own : 0;
    written_->words.push_back({std::bit_cast<float>(one.merged.subtree), std::bit_cast<float>(own),
                               std::bit_cast<float>(subtree.width),
                               std::bit_cast<float>(one.merged.k)});
    std::vector<float> names((own + 3) / 4 * 4, 0.0f);
    for (std::uint32_t i = 0; i < own; ++i) {
      written_->sums.push_back(4 * written_->words.size() + i);
      names[i] = std::bit_cast<float>(out_.subtree_features[subtree.first_feature + i]);
    }
    Append(names, written_->words);
  }

  void SubtreeTape(const SubtreeOfTree& one, SubtreeTapes& tapes) {
    Instructions& own = tapes.open;
    own.words.clear();
    own.starts.clear();
    own.sums.clear();
    const auto factors = static_cast<std::uint32_t>(one.planned->path.size());
    own.words.push_back({0, std::bit_cast<float>(factors), std::bit_cast<float>(one.merged.k), 0});
    const SharedSubtree& subtree = out_.subtrees[one.merged.subtree];
    TreeWriter writer(
        pass_, out_, nullptr, nullptr,
        std::span(out_.subtree_features).subspan(subtree.first_feature, subtree.features));
    for (const PathFeature& f : one.planned->path) writer.PathFactor(f, own.words);
    out_.subtree_stack_slots =
        std::max(out_.subtree_stack_slots, writer.Run(one.planned->root, own));
    writer.Begin(tape::kEnd, 0);
    for (std::size_t i = 0; i + 1 < own.starts.size(); ++i) {
      own.words[own.starts[i]].z = own.words[own.starts[i + 1]].x;
      own.words[own.starts[i]].w = own.words[own.starts[i + 1]].y;
    }
    tapes.spans[one.merged.subtree].push_back({tapes.words.size(), own.words.size()});
    tapes.words.insert(tapes.words.end(), own.words.begin(), own.words.end());
  }

  // The records of a treelet in preorder, first children first.
  void Treelet(std::int32_t n) {
    const AnnotatedNode& at = node(n);
    if (at.height == 0) return;
    const bool left_first = LeftFirst(n);
    const std::int32_t first = left_first ? at.left : at.right;
    const std::int32_t second = left_first ? at.right : at.left;
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
    written_->sums.push_back(4 * written_->words.size() + 3);
    Record(n, second);
  }

  void Record(std::int32_t n, std::int32_t second) {
    const AnnotatedNode& at = node(n);
    const bool right_second = second == at.right;
    const double w = right_second ? 1 - at.left_weight : at.left_weight;
    const double above = right_second ? 1 - w : -w;
    const double below = right_second ? -w : 1 - w;
    const std::int32_t first = right_second ? at.left : at.right;
    const bool leaf_parent = at.height == 1;
    const double difference = leaf_parent ? node(second).value - node(first).value : 1.0;
    const Float4 split = SplitWords(at, pass_.set_offsets, Name(at.feature));
    std::vector<float> words = {split.x, split.y, split.z, split.w};
    words.resize(static_cast<std::size_t>(4 * RecordSize(points_)), 0.0f);
    words[4] = static_cast<float>(above);
    words[5] = static_cast<float>(below);
    words[6] = static_cast<float>(leaf_parent ? at.value : w);
    words[7] = static_cast<float>(node(second).value);
    Tables(at.cover_above, difference, words);
    Append(words, written_->words);
  }

  static void Append(const std::vector<float>& record, std::vector<Float4>& words) {
    for (std::size_t i = 0; i < record.size(); i += 4) {
      words.push_back({record[i], record[i + 1], record[i + 2], record[i + 3]});
    }
  }

  // g and e of this pass's points; points past the rule's end weigh nothing.
  void Tables(double c, double difference, std::vector<float>& words) const {
    for (int i = 0; i < points_; ++i) {
      const std::size_t q = pass_.begin + static_cast<std::size_t>(i);
      if (q >= pass_.rule.size()) continue;
      const double t = pass_.rule.node[q];
      const double d = t + c * (1 - t);
      words[static_cast<std::size_t>(8 + i)] = static_cast<float>(t / d * difference);
      words[static_cast<std::size_t>(8 + points_ + i)] =
          static_cast<float>(pass_.rule.weight[q] * c / (d * d) * difference);
    }
  }

  static constexpr int kUnknown = -2;

  PassContext pass_;
  const AnnotatedTree& tree_;
  int points_;
  Tape& out_;
  const std::map<std::int32_t, SubtreeOfTree>* subtrees_;
  SubtreeTapes* subtree_tapes_;
  std::span<const std::uint32_t> locals_;
  std::vector<int> tops_;
  Instructions* written_ = nullptr;
};

// Ascending.
std::vector<std::int32_t> SplitFeatures(const AnnotatedTree& tree) {
  std::vector<std::int32_t> features;
  for (const AnnotatedNode& node : tree.nodes) {
    if (node.feature >= 0) features.push_back(node.feature);
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

// The features that a subtree splits, ascending.
std::vector<std::int32_t> OwnFeatures(const Tape& tape, std::uint32_t number) {
  const SharedSubtree& subtree = tape.subtrees[number];
  const auto first = tape.subtree_features.begin() + subtree.first_feature;
  std::vector<std::int32_t> features(first, first + subtree.own);
  std::sort(features.begin(), features.end());
  return features;
}

Float4 Mark(tape::Op op) {
  return {std::bit_cast<float>(static_cast<std::int32_t>(op)), 0, 0, 0};
}

Instructions OnlyMark(tape::Op op) {
  return {{Mark(op)}, {0}, {}};
}

// Lays instructions into chunks and segments.
class Assembler {
 public:
  Assembler(Tape& tape, AccumulatorLayout layout, const TapeOptions& options)
      : tape_(tape),
        layout_(layout),
        segment_words_(options.segment_words),
        max_slots_(Slots(tape.points, options)) {}

  //! Begins a tree, with the features it adds to: closes the segment where it is full or of another
  //! group or batch.
  void NextTree(std::int32_t group, std::uint32_t batch,
                const std::vector<std::int32_t>& features) {
    if (!open_ || tape_.segments.back().group != group || tape_.segments.back().batch != batch ||
        used_ >= segment_words_) {
      Open(group, batch);
    } else if (layout_ == AccumulatorLayout::kPerFeature && unfolded_ >= kFoldWords) {
      Fold();
    } else {
      Add(OnlyMark(tape::kNextTree));
    }
    if (layout_ == AccumulatorLayout::kPerFeature) SumsOf(features);
  }

  //! `subtrees`: that it is the first to use.
  void Add(const Instructions& instructions, std::size_t subtrees = 0) {
    subtrees_ += subtrees;
    used_ += instructions.words.size();
    if (layout_ == AccumulatorLayout::kPerFeature) {
      Lay(instructions);
      unfolded_ += instructions.words.size();
    } else {
      run_.Append(instructions);
    }
  }

  void Close() {
    if (!open_) return;
    if (layout_ == AccumulatorLayout::kPerFeature) {
      Fold();
    } else {
      LaySlotted();
    }
    Append(Mark(tape::kEnd));
    Pad();
    TapeSegment& segment = tape_.segments.back();
    segment.chunks = tape_.words.size() / tape::kChunk - segment.first_chunk;
    segment.subtrees = subtrees_ - segment.first_subtree;
    open_ = false;
  }

 private:
  static std::uint32_t Slots(int points, const TapeOptions& options) {
    if (options.accumulator_slots > 0) return options.accumulator_slots;
    const bool deep = options.subtree_leaves == 0 && points >= kDeepTreePoints;
    return deep ? kDeepTreeSlots : kAccumulatorSlots;
  }

  void Open(std::int32_t group, std::uint32_t batch) {
    Close();
    tape_.segments.push_back(
        {group, tape_.words.size() / tape::kChunk, 0, subtrees_, 0, batch, {}});
    open_ = true;
    used_ = 0;
  }

  // kPerFeature: the sums of a tree.
  void SumsOf(const std::vector<std::int32_t>& split) {
    MergeSorted(tape_.segments.back().features, split);
    MergeSorted(unfolded_features_, split);
  }

  void Fold() {
    Instructions fold = OnlyMark(tape::kFold);
    std::vector<std::int32_t>& names = unfolded_features_;
    fold.words[0].y = std::bit_cast<float>(static_cast<std::uint32_t>(names.size()));
    if (!names.empty()) {
      tape_.accumulator_slots =
          std::max(tape_.accumulator_slots, static_cast<std::uint32_t>(names.back()) + 1);
    }
    names.resize((names.size() + 3) / 4 * 4, 0);
    for (std::size_t i = 0; i < names.size(); i += 4) {
      fold.words.push_back({std::bit_cast<float>(names[i]), std::bit_cast<float>(names[i + 1]),
                            std::bit_cast<float>(names[i + 2]),
                            std::bit_cast<float>(names[i + 3])});
    }
    names.clear();
    Lay(fold);
    unfolded_ = 0;
  }

  // The segment's instructions, once their sums have slots.
  void LaySlotted() {
    run_.Append(OnlyMark(tape::kNextTree));  // G is 1 where another segment follows
    SlottedInstructions allocated = AllocateSlots(run_, max_slots_);
    run_ = {};
    Lay(allocated.instructions);
    tape_.segments.back().features = std::move(allocated.columns);
    tape_.accumulator_slots = std::max(tape_.accumulator_slots, allocated.slot_count);
  }

  void Lay(const Instructions& instructions) {
    const std::vector<Float4>& words = instructions.words;
    const std::vector<std::size_t>& starts = instructions.starts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : words.size();
      const std::size_t size = end - starts[i];
      // Room for the instruction and for the mark that ends the chunk.
      if (tape_.words.size() % tape::kChunk + size + 1 > tape::kChunk) {
        Append(Mark(tape::kNextChunk));
        Pad();
      }
      Announce(words[starts[i]]);
      tape_.words.insert(tape_.words.end(), words.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                         words.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }

  void Append(const Float4& head) {
    Announce(head);
    tape_.words.push_back(head);
  }

  // Tells the instruction before what comes next.
  void Announce(const Float4& head) {
    if (last_ < tape_.words.size() && tape_.words.size() % tape::kChunk != 0) {
      tape_.words[last_].z = head.x;
      tape_.words[last_].w = head.y;
    }
    last_ = tape_.words.size();
  }

  void Pad() {
    constexpr std::size_t chunk = tape::kChunk;
    tape_.words.resize((tape_.words.size() + chunk - 1) / chunk * chunk, Float4{0, 0, 0, 0});
  }

  Tape& tape_;
  AccumulatorLayout layout_;
  std::size_t segment_words_;
  std::uint32_t max_slots_;
  Instructions run_;                             // kSlots: instructions of the open segment
  std::vector<std::int32_t> unfolded_features_;  // kPerFeature: ascending
  std::size_t used_ = 0, unfolded_ = 0;
  std::size_t subtrees_ = 0;                         // that the segments so far use
  std::size_t last_ = static_cast<std::size_t>(-1);  // the last instruction's first word
  bool open_ = false;
};

// One pass of one tree.
struct Pass {
  std::int32_t group;
  std::size_t tree;
  int rule_points;    // of all its passes
  std::size_t begin;  // first quadrature point
  std::vector<PlannedSubtree> planned = {};
  std::vector<MergedSubtree> merged = {};
  std::uint32_t batch = 0;
};

// Plans the subtrees of all passes of a tape; their tapes are written later.
void PlanPasses(const AnnotatedModel& model, const RankTable& ranks, std::int32_t leaves,
                std::size_t most_width, std::vector<Pass>& list, Tape& tape) {
  SubtreeDeduplication subtrees(tape.points, most_width);
  for (Pass& pass : list) {
    pass.planned = PlanSubtrees(model.trees[pass.tree], ranks, leaves);
    pass.merged = subtrees.Add(model.trees[pass.tree], pass.planned);
    pass.batch = subtrees.batch();
  }
  tape.subtrees = subtrees.Write(tape.subtree_keys, tape.subtree_features);
  for (Pass& pass : list) subtrees.AssignK(pass.merged);
  for (const SharedSubtree& subtree : tape.subtrees) {
    tape.max_subtree_features = std::max(tape.max_subtree_features, subtree.features);
    tape.max_key_words = std::max(tape.max_key_words, subtree.key_words);
  }
}

// Lays the tapes of merged subtrees one behind the other, each with the length of the next at its
// head.
void LaySubtreeTapes(SubtreeTapes& tapes, Tape& tape) {
  tape.subtree_words.reserve(tapes.words.size());
  for (std::size_t u = 0; u < tapes.spans.size(); ++u) {
    const std::vector<SubtreeTapes::Span>& spans = tapes.spans[u];
    tape.subtrees[u].first_word = static_cast<std::uint32_t>(tape.subtree_words.size());
    tape.subtrees[u].words = static_cast<std::uint32_t>(spans[0].words);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const std::size_t next = i + 1 < spans.size() ? spans[i + 1].words : 0;
      const auto first = tapes.words.begin() + static_cast<std::ptrdiff_t>(spans[i].first);
      first->x = std::bit_cast<float>(static_cast<std::uint32_t>(next));
      tape.subtree_words.insert(tape.subtree_words.end(), first,
                                first + static_cast<std::ptrdiff_t>(spans[i].words));
      tape.max_subtree_words =
          std::max(tape.max_subtree_words, static_cast<std::uint32_t>(spans[i].words));
    }
  }
}

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
  if (at.left_set < 0)
    return {at.lower, at.upper, at.threshold, std::bit_cast<float>(feature | flags)};
  const auto offset = [&](std::int32_t set) {
    return std::bit_cast<float>(set < 0 ? ~0u : sets[static_cast<std::size_t>(set)]);
  };
  return {offset(at.inside_set), offset(at.left_set), at.threshold,
          std::bit_cast<float>(feature | flags | tape::kCategorical)};
}

TapeSet CompileTapes(const AnnotatedModel& model, const TapeOptions& options) {
  if (model.features > static_cast<std::int32_t>(tape::kSlottedFeatureMask)) {
    throw std::invalid_argument("the tape takes at most 2^17 features");
  }
  TapeSet out;
  out.features = model.features;
  out.groups = model.groups;
  out.categorical = !model.sets.empty();
  out.layout = ChooseAccumulatorLayout(model.features);
  const std::vector<std::uint32_t> offsets = AppendSets(model.sets, out.sets);
  if (options.subtree_leaves > 0) out.ranks = RankTable(model);
  std::map<int, std::vector<Pass>> passes;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const AnnotatedTree& tree = model.trees[t];
    if (tree.nodes[0].feature < 0) continue;  // a single leaf moves the expected value alone
    std::size_t begin = 0;
    const int points = FloatPoints(tree);
    for (const int size : Passes(points, options.points)) {
      passes[size].push_back({tree.group, t, points, begin});
      begin += static_cast<std::size_t>(size);
    }
  }
  std::map<int, QuadratureRule> rules;
  for (auto& [points, list] : passes) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Pass& a, const Pass& b) { return a.group < b.group; });
    Tape tape;
    tape.points = points;
    PlanPasses(model, out.ranks, options.subtree_leaves, options.batch_width / passes.size(), list,
               tape);
    SubtreeTapes subtree_tapes;
    subtree_tapes.spans.resize(tape.subtrees.size());
    Assembler assembler(tape, out.layout, options);
    for (const Pass& pass : list) {
      const AnnotatedTree& tree = model.trees[pass.tree];
      QuadratureRule& rule = rules[pass.rule_points];
      if (rule.size() == 0) rule = GaussLegendre(pass.rule_points);
      Instructions written;
      std::map<std::int32_t, SubtreeOfTree> subtrees;
      std::size_t fresh = 0;
      std::vector<std::int32_t> features = SplitFeatures(tree);
      for (std::size_t u = 0; u < pass.planned.size(); ++u) {
        subtrees[pass.planned[u].root] = {&pass.planned[u], pass.merged[u]};
        if (!pass.merged[u].first) continue;
        ++fresh;
        MergeSorted(features, OwnFeatures(tape, pass.merged[u].subtree));
      }
      assembler.NextTree(tree.group, pass.batch, features);
      TreeWriter writer({tree, rule, pass.begin, points, offsets}, tape, &subtrees, &subtree_tapes,
                        {});
      tape.stack_slots = std::max(tape.stack_slots, writer.Run(0, written));
      assembler.Add(written, fresh);
    }
    assembler.Close();
    LaySubtreeTapes(subtree_tapes, tape);
    out.tapes.push_back(std::move(tape));
  }
  return out;
}

}  // namespace retable::treeshap
