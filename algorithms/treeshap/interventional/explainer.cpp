// Interventional SHAP: f(S) is the mean over background rows b of f(x on S, b elsewhere).
//
// The background is counted by the patterns that treelets see of it, which makes a table for each
// treelet and feature (interventional/tables.hpp); a row then adds up what its patterns find there:
// O((M + B) patterns) in place of O(M B) traversals. Leaves too deep for tables are traversed for
// each pair (interventional/deep_trees.hpp). Rows are lanes, tiles of rows are tasks; sums are
// double, in the order of the treelets: bitwise independent of threads and of other rows. Nadel and
// Wettenstein 2025; Lundberg et al. 2020, algorithm 3.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/treeshap/interventional/deep_trees.hpp"
#include "algorithms/treeshap/interventional/pattern_model.hpp"
#include "algorithms/treeshap/interventional/row_tiles.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/memory/large_memory.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

class InterventionalExplainer final : public TreeExplainer {
 public:
  explicit InterventionalExplainer(int threads) : threads_(threads) {}

  void prepare(const TreeEnsemble& model) override {
    Validate(model);
    shape_ = model;
    expected_.clear();
  }

  void set_background(const RowBlock& background) override {
    ValidateBackground(shape_, background);
    expected_.clear();
    model_ = MakePatternModel(shape_, TableLimits::For(background.rows));
    deep_.Prepare(model_.deep);
    reader_.emplace(model_);
    const std::vector<std::uint32_t> counts = Count(background);
    const std::vector<std::uint32_t> reached = MakeTables(counts, background.rows);
    expected_ = BackgroundMargins(model_, reached, background);
    deep_.SetBackground(background);
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    if (expected_.empty()) throw std::logic_error("set_background comes before values");
    const std::size_t share = (rows.rows + Threads() - 1) / Threads();
    const std::size_t tile = std::clamp<std::size_t>(share, 1, reader_->MostRows());
    ParallelBlocks(rows.rows, tile, threads_, [&](std::size_t first, std::size_t end) {
      Explain(rows, first, end - first, phi.data());
    });
  }

 private:
  std::size_t Threads() const {
    return static_cast<std::size_t>(threads_ > 0 ? threads_ : AvailableThreads());
  }

  // Rows become tiles, then each task counts some treelets' patterns in all of them.
  std::vector<std::uint32_t> Count(const RowBlock& background) const {
    const std::size_t tile_rows = reader_->MostRows();
    const std::size_t bytes = reader_->features().size() * sizeof(float) * tile_rows;
    const std::size_t most =
        std::max<std::size_t>(1, kCountedBytes / std::max<std::size_t>(1, bytes));
    const std::size_t treelets = model_.treelets.size();
    const std::size_t a_task =
        std::clamp<std::size_t>(treelets / (4 * Threads()), 1, kCountedTreelets);
    const std::size_t all = (background.rows + tile_rows - 1) / tile_rows;
    std::vector<std::uint32_t> counts(model_.counts, 0);
    std::vector<RowTile> tiles(std::min(all, most));
    for (std::size_t begin = 0; begin < all; begin += tiles.size()) {
      tiles.resize(std::min(tiles.size(), all - begin));
      ParallelFor(tiles.size(), threads_, [&](std::size_t i) {
        const std::size_t first = (begin + i) * tile_rows;
        reader_->Read(background, first, std::min(tile_rows, background.rows - first), tiles[i]);
      });
      ParallelBlocks(treelets, a_task, threads_, [&](std::size_t first, std::size_t end) {
        std::vector<std::uint32_t> pattern(tile_rows);
        for (const RowTile& tile : tiles) {
          for (std::size_t t = first; t < end; ++t) {
            reader_->FindPatterns(model_.treelets[t], tile, pattern.data());
            std::uint32_t* count = counts.data() + model_.treelets[t].counts;
            for (std::size_t r = 0; r < tile.rows; ++r) ++count[pattern[r]];
          }
        }
      });
    }
    return counts;
  }

  // Returns how many rows reached each leaf.
  std::vector<std::uint32_t> MakeTables(const std::vector<std::uint32_t>& counts,
                                        std::size_t rows) {
    std::vector<std::uint32_t> reached(model_.leaves.size());
    table_.resize(model_.table);
    ParallelFor(model_.treelets.size(), threads_, [&](std::size_t t) {
      const Treelet& treelet = model_.treelets[t];
      MakeTreeletTable(treelet,
                       {model_.leaves.data(), model_.leaf_features.data(),
                        counts.data() + treelet.counts, static_cast<double>(rows)},
                       table_.data() + treelet.table, reached.data());
    });
    return reached;
  }

  void Explain(const RowBlock& rows, std::size_t first, std::size_t count, double* phi) const {
    const auto columns = static_cast<std::size_t>(model_.deep.features);
    const std::size_t side = columns + 1;
    const std::size_t width = ValuesPerRow(model_.deep);
    RowTile tile;
    reader_->Read(rows, first, count, tile);
    std::vector<double> sums(reader_->features().size() * tile.stride);
    std::vector<std::uint32_t> pattern(count);
    std::size_t t = 0;
    for (std::size_t g = 0; g < expected_.size(); ++g) {
      std::ranges::fill(sums, 0.0);
      for (; t < model_.treelets.size() && model_.groups[t] == static_cast<std::int32_t>(g); ++t) {
        AddTreelet(model_.treelets[t], tile, pattern.data(), sums.data());
      }
      for (std::size_t r = 0; r < count; ++r) {
        double* to = phi + (first + r) * width + g * side;
        for (std::size_t f = 0; f < columns; ++f) {
          const std::int32_t place = reader_->place(f);
          to[f] = place < 0 ? 0 : sums[static_cast<std::size_t>(place) * tile.stride + r];
        }
        to[columns] = expected_[g];
      }
    }
    for (std::size_t r = first; !deep_.empty() && r < first + count; ++r) {
      deep_.Add(rows.row(r), phi + r * width);
    }
  }

  void AddTreelet(const Treelet& treelet, const RowTile& tile, std::uint32_t* pattern,
                  double* sums) const {
    reader_->FindPatterns(treelet, tile, pattern);
    const double* column = table_.data() + treelet.table;
    for (std::uint32_t c = 0; c < treelet.columns; ++c) {
      const auto feature = static_cast<std::size_t>(model_.columns[treelet.first_column + c]);
      AddColumn(column, pattern, tile.rows,
                sums + static_cast<std::size_t>(reader_->place(feature)) * tile.stride);
      column += std::size_t{1} << treelet.bits;
    }
  }

  int threads_;
  PatternModel model_;
  DeepTrees deep_;
  std::optional<TileReader> reader_;
  LargeArray<double> table_;
  std::vector<double> expected_;
};

}  // namespace

RETABLE_REGISTER(TreeExplainer, interventional,
                 {.name = "Interventional",
                  .summary = "exact interventional SHAP against background rows",
                  .citation = "Lundberg et al. 2020, algorithm 3; Nadel and Wettenstein 2025",
                  .parameters = {{"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<InterventionalExplainer>(IntParameter(p, "threads", 0));
                  }});

}  // namespace retable::treeshap
