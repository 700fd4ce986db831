// The published cells of the report against a second transcription, in the report's own units.

#include <gtest/gtest.h>

#include "experiments/common/plan_testing.hpp"

namespace retable::experiments {
namespace {

struct Operation {
  double share, seconds, calls;
  const char* name;
};

TEST(ForestTranscription, TableTwo) {
  const std::vector<Operation> operations = {
      {44.92, 257.429, 25775, "kernel_check_node_termination"},
      {42.48, 243.420, 25775, "kernel_populate_class_counts"},
      {8.45, 48.4484, 25775, "kernel_collect_min_max"},
      {1.23, 7.04770, 25775, "kernel_populate_valid_feat_idx"},
      {1.10, 6.27610, 25775, "kernel_advance_trees"},
      {1.05, 6.03598, 25775, "kernel_populate_feat_cut"},
      {0.69, 3.95542, 25775, "kernel_place_best_feat_cuts"},
      {0.02, 132.87e-3, 25775, "kernel_update_trees"},
      {0.01, 69.734e-3, 25775, "kernel_collect_num_valid_feat"},
      {0.01, 60.097e-3, 77327, "[CUDA_memcpy_DtoH]"},
      {0.01, 48.073e-3, 5, "[CUDA_memcpy_HtoD]"},
      {0.01, 42.689e-3, 25775, "get_max_tree_length"},
      {0.01, 31.750e-3, 25776, "kernel_refresh_tree_is_done"},
      {0.01, 31.363e-3, 25775, "kernel_depopulate_valid_feat_idx"},
      {0.00, 662.56e-6, 1, "kernel_traverse_trees"},
      {0.00, 163.01e-6, 120, "[CUDA_memcpy_DtoD]"},
      {0.00, 94.176e-6, 1, "init_random"},
      {0.00, 35.328e-6, 1, "kernel_raw_predict"},
      {0.00, 10.657e-6, 2, "kernel_initialize_batch_pos"},
      {0.00, 1.5360e-6, 1, "kernel_initialize_trees"},
  };
  std::vector<std::string> rows;
  std::vector<double> shares, seconds, calls;
  for (const Operation& o : operations) {
    rows.push_back(o.name + std::string(" on mnist_784"));
    shares.push_back(o.share);
    seconds.push_back(o.seconds);
    calls.push_back(o.calls);
  }
  ExpectPrinted("extratrees/table2", "Time (%)", rows, shares);
  ExpectPrinted("extratrees/table2", "Time", rows, seconds);
  ExpectPrinted("extratrees/table2", "Calls", rows, calls);
}

TEST(ForestTranscription, TableOneAndTheText) {
  ExpectPrinted("extratrees/table1", "Rows", {"iris", "mnist_784"}, {100, 60000});
  ExpectPrinted("extratrees/table1", "Features", {"iris", "mnist_784"}, {4, 784});
  ExpectPrinted("extratrees/table1", "Classes", {"iris", "mnist_784"}, {3, 10});
  ExpectPrinted("extratrees/memory", "bytes", {"X on mnist_784"}, {300e6});
  ExpectPrinted("extratrees/memory", "times X",
                {"batch_pos on mnist_784", "trees on mnist_784", "total on mnist_784"},
                {1.5, 12, 14.5});
  ExpectPrinted("extratrees/accuracy", "accuracy", {"mnist_784, 10 trees"}, {0.95});
}

// "At most" and "at least" are bounds, and what is a fact of the data is no result.
TEST(ForestTranscription, Kinds) {
  int bounds = 0;
  for (const auto& e : LoadFamily("extratrees", "paper")) {
    if (e.paper_file.empty()) continue;
    for (const auto& cell : harness::ReadPaperCells(e.paper_file)) {
      if (e.artifact == "table1") EXPECT_EQ(cell.kind, harness::CellKind::kSetting) << cell.row;
      bounds += cell.kind == harness::CellKind::kBound ? 1 : 0;
    }
  }
  EXPECT_EQ(bounds, 4);
}

}  // namespace
}  // namespace retable::experiments
