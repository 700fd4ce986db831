// The command end to end, as a user calls it: good input against the library, bad input for what it
// says.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "apps/shap/halving.hpp"
#include "apps/verb_testing.hpp"
#include "base/atomic_file.hpp"
#include "base/cuda/out_of_memory.hpp"
#include "base/npy/reader.hpp"
#include "base/npy/writer.hpp"
#include "base/temporary_folder.hpp"
#include "baselines/treeshap/ubj_writer.hpp"
#include "harness/machine/device.hpp"
#include "harness/report/csv.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

// x < 3: (y < 1: 1, else 5), else 9.
constexpr const char* kForest =
    R"({"format": "retable-forest", "version": 1, "features": 2, "trees": [{"feature": [0, 1, -1,
    -1, -1], "threshold": [3, 1, 0, 0, 0], "left": [1, 2, -1, -1, -1], "right": [4, 3, -1, -1, -1],
    "cover": [10, 6, 2, 4, 4], "value": [0, 0, 1, 5, 9]}]})";

TEST(ForEachBatch, HalvesUntilMemorySuffices) {
  for (const bool cuda : {false, true}) {
    std::size_t batch_rows = 16;
    std::size_t next = 0;
    ForEachBatch(21, batch_rows, [&](std::size_t first, std::size_t count) {
      EXPECT_EQ(first, next);
      if (count > 5) {
        if (cuda) throw OutOfDeviceMemory("the device has 1 MiB");
        throw std::bad_alloc();
      }
      next += count;
    });
    EXPECT_EQ(next, 21u);
    EXPECT_EQ(batch_rows, 4u);
  }
  std::size_t batch_rows = 8;
  EXPECT_THROW(
      ForEachBatch(3, batch_rows, [](std::size_t, std::size_t) { throw std::bad_alloc(); }),
      std::bad_alloc);
  EXPECT_EQ(batch_rows, 1u);
  EXPECT_THROW(
      ForEachBatch(3, batch_rows, [](std::size_t, std::size_t) { throw std::logic_error("x"); }),
      std::logic_error);
}

class ShapCommand : public testing::Test {
 protected:
  ShapCommand() {
    Write("forest.json", kForest);
    Write("rows.csv", "x,y\n1,0\n1,2\n5,0\n");
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  int Run(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    args.insert(args.end(), {"--device", device_});
    return RunVerbNamed("shap", args, out_, err_);
  }
  int Explain(const std::string& model, const std::string& data,
              std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--model", Path(model), "--data", Path(data)});
    return Run(more);
  }
  // Expects failure with all of these words in the message.
  void Refuses(int status, const std::vector<std::string>& words) {
    EXPECT_EQ(status, 2);
    for (const std::string& word : words) {
      EXPECT_NE(err_.str().find(word), std::string::npos) << word << " in: " << err_.str();
    }
  }
  harness::CsvTable Result() const { return harness::ParseCsv(out_.str(), "result"); }

  TemporaryFolder folder_;
  std::ostringstream out_, err_;
  std::string device_ = "cpu";
};

TEST_F(ShapCommand, WritesValuesThatSumToThePrediction) {
  ASSERT_EQ(Explain("forest.json", "rows.csv", {"--precision", "double"}), 0) << err_.str();
  const auto table = Result();
  EXPECT_EQ(table.header, (std::vector<std::string>{"row", "output", "x", "y", "expected"}));
  ASSERT_EQ(table.rows.size(), 3u);
  const double predictions[] = {1, 5, 9};
  for (std::size_t r = 0; r < 3; ++r) {
    double sum = 0;
    for (std::size_t c = 2; c < 5; ++c) sum += *table.Number(table.rows[r], c);
    EXPECT_NEAR(sum, predictions[r], 1e-12);
    EXPECT_EQ(*table.Number(table.rows[r], 0), static_cast<double>(r));
  }
}

TEST_F(ShapCommand, AQuoteMayHoldLines) {
  Write("lines.csv", "x,y,note\n1,0,\"a\n\"\"b\"\" c\n\"\n5,\"0\",d\n");
  ASSERT_EQ(Explain("forest.json", "lines.csv", {"--ignore", "note"}), 0) << err_.str();
  EXPECT_EQ(Result().rows.size(), 2u);
}

// More than one block for readers and writers, and a wrong line in a block that is not the
// first to end.
TEST_F(ShapCommand, ManyRowsComeInOrder) {
  const std::size_t count = 3000;
  std::string text = "x,y\n";
  for (std::size_t r = 0; r < count; ++r) text += r % 7 < 3 ? "1,0\n" : "5,\"0\"\n";
  Write("many.csv", text);
  for (const char* chunk : {"0", "1100"}) {
    ASSERT_EQ(Explain("forest.json", "many.csv", {"--threads", "2", "--chunk-rows", chunk}), 0)
        << err_.str();
    const auto table = Result();
    ASSERT_EQ(table.rows.size(), count);
    for (std::size_t r = 0; r < count; ++r) {
      double sum = 0;
      for (std::size_t c = 2; c < 5; ++c) sum += *table.Number(table.rows[r], c);
      ASSERT_EQ(*table.Number(table.rows[r], 0), static_cast<double>(r));
      ASSERT_NEAR(sum, r % 7 < 3 ? 1 : 9, 1e-5) << r;
    }
  }
  Write("wrong.csv", text + "1\n" + text + "blue,1\n");
  Refuses(Explain("forest.json", "wrong.csv"), {"wrong.csv:3002", "1 fields"});
}

TEST_F(ShapCommand, InteractionsOfAFileInChunks) {
  ASSERT_EQ(Explain("forest.json", "rows.csv",
                    {"--interactions", "--chunk-rows", "1", "--out", Path("i.csv")}),
            0)
      << err_.str();
  EXPECT_NE(out_.str().find("3 rows explained"), std::string::npos) << out_.str();
  const auto table = harness::ReadCsv(Path("i.csv"));
  std::map<double, double> sums;
  for (const auto& row : table.rows) {
    const bool diagonal = row.fields[2] == row.fields[3];
    sums[*table.Number(row, 0)] += *table.Number(row, 4) * (diagonal ? 1 : 2);
  }
  EXPECT_NEAR(sums[0], 1, 1e-5);
  EXPECT_NEAR(sums[1], 5, 1e-5);
  EXPECT_NEAR(sums[2], 9, 1e-5);
}

// A random model and rows, in XGBoost's own format: all three forms of output against the
// reference, in one chunk and in many, from CSV and from ARFF.
TEST_F(ShapCommand, AgreesWithTheReferenceOnAnyModel) {
  const TreeEnsemble model = ReadModel(baselines::treeshap::WriteXgboostUbj(
      RandomEnsemble({.trees = 5, .features = 6, .groups = 2, .depth = 5}, 9)));
  Write("model.ubj", baselines::treeshap::WriteXgboostUbj(model));
  const std::size_t count = 37;
  const auto values = RandomRows(model, count, 0.2, 4);
  std::ostringstream csv, arff;
  csv.precision(9);
  arff.precision(9);
  csv << "a,b,target,c,d,e,f\n";
  arff << "@relation r\n";
  for (const char* name : {"a", "b", "target", "c", "d", "e", "f"}) {
    arff << "@attribute " << name << " numeric\n";
  }
  arff << "@data\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = ClampInfinity(values[i]);
    if (i % 6 == 2) {
      csv << "7,";
      arff << "7,";
    }
    if (std::isnan(x)) {
      arff << "?";
    } else {
      csv << x;
      arff << x;
    }
    csv << (i % 6 == 5 ? "\n" : ",");
    arff << (i % 6 == 5 ? "\n" : ",");
  }
  Write("six.csv", csv.str());
  Write("six.arff", arff.str());
  const RowBlock rows{values, count, 6};
  const auto want = PathReferenceValues(model, rows);
  std::string first;
  for (const char* data : {"six.csv", "six.arff"}) {
    for (const char* chunk : {"0", "1", "16"}) {
      ASSERT_EQ(Explain("model.ubj", data, {"--ignore", "target", "--chunk-rows", chunk}), 0)
          << err_.str();
      if (first.empty()) first = out_.str();
      EXPECT_EQ(out_.str(), first) << data << " " << chunk;
    }
  }
  const auto table = Result();
  ASSERT_EQ(table.rows.size(), count * 2);
  double scale = 0;
  for (const double v : want) scale = std::max(scale, std::abs(v));
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(*table.Number(table.rows[r], i + 2), want[r * 7 + i], 1e-6 * scale);
    }
  }
  ASSERT_EQ(Explain("model.ubj", "six.csv", {"--ignore", "target", "--top-k", "2"}), 0);
  const auto top = Result();
  EXPECT_EQ(top.header, (std::vector<std::string>{"row", "output", "feature", "with", "value"}));
  EXPECT_LE(top.rows.size(), count * 2 * 2);
  const auto matrices = PathReferenceInteractions(model, rows);
  const std::string letters = "abcdef";
  for (const auto& row : top.rows) {
    const auto m = static_cast<std::size_t>(*top.Number(row, 0) * 2 + *top.Number(row, 1));
    const std::size_t i = letters.find(row.fields[2]);
    const std::size_t j = letters.find(row.fields[3]);
    EXPECT_NEAR(*top.Number(row, 4), matrices[m * 49 + i * 7 + j], 2e-6 * scale);
  }
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// The lines below the header.
std::string Below(const std::string& csv) {
  return csv.substr(csv.find('\n') + 1);
}

template <class T>
std::vector<T> Items(const std::string& npy) {
  std::vector<T> items((npy.size() - 192) / sizeof(T));
  std::memcpy(items.data(), npy.data() + 192, items.size() * sizeof(T));
  return items;
}

// A random model of two outputs: what a CSV file gives, in every order and type, chunk by chunk.
TEST_F(ShapCommand, ReadsAndWritesArrays) {
  const TreeEnsemble model = ReadModel(baselines::treeshap::WriteXgboostUbj(
      RandomEnsemble({.trees = 5, .features = 3, .groups = 2, .depth = 4}, 3)));
  Write("model.ubj", baselines::treeshap::WriteXgboostUbj(model));
  const std::size_t count = 600;
  const auto values = RandomRows(model, count, 0.2, 4);
  std::string csv = "a,b,target,c\n";
  std::vector<float> wide;
  std::vector<double> columns(4 * count, 7);
  for (std::size_t r = 0; r < count; ++r) {
    const float* x = &values[3 * r];
    wide.insert(wide.end(), {x[0], x[1], 7, x[2]});
    for (std::size_t c = 0; c < 4; ++c) columns[c * count + r] = wide[4 * r + c];
    csv += fmt::format("{},{},7,{}\n", x[0], x[1], x[2]);
  }
  Write("x.csv", csv);
  Write("rows.npy", NpyText(wide, {count, 4}));
  std::string fortran = NpyText(columns, {count, 4});
  fortran.replace(fortran.find("False"), 5, "True ");
  Write("columns.npy", fortran);
  for (const char* form : {"--interactions", "--precision=float"}) {
    ASSERT_EQ(Explain("model.ubj", "x.csv", {"--ignore", "target", form}), 0) << err_.str();
    const std::string want = Below(out_.str());
    for (const char* data : {"rows.npy", "columns.npy"}) {
      for (const char* chunk : {"0", "70"}) {
        ASSERT_EQ(Explain("model.ubj", data, {"--ignore", "2", form, "--chunk-rows", chunk}), 0)
            << err_.str();
        // Pairs are called by the columns' names.
        EXPECT_TRUE(form[2] == 'i' || Below(out_.str()) == want) << data << chunk;
        EXPECT_EQ(err_.str(), "");
      }
    }
  }
  EXPECT_EQ(out_.str().substr(0, 28), "row,output,0,1,3,expected\n0,");
  const auto phi = PathReferenceValues(model, {values, count, 3});
  const auto pairs = PathReferenceInteractions(model, {values, count, 3});
  const auto written = [&](const std::string& data, std::vector<std::string> more) {
    more.insert(more.end(), {"--ignore", data == "x.csv" ? "target" : "2", "--chunk-rows", "70",
                             "--out", Path("phi.npy")});
    EXPECT_EQ(Explain("model.ubj", data, more), 0) << err_.str();
    return ReadWhole(Path("phi.npy"));
  };
  for (const char* data : {"x.csv", "rows.npy"}) {
    const std::string floats = written(data, {});
    EXPECT_NE(floats.find("'<f4', 'fortran_order': False, 'shape': (600, 2, 4, )"),
              std::string::npos);
    const auto items = Items<float>(floats);
    ASSERT_EQ(items.size(), phi.size());
    for (std::size_t i = 0; i < phi.size(); ++i) ASSERT_NEAR(items[i], phi[i], 1e-5) << i;
    const auto doubles = Items<double>(written(data, {"--precision", "double"}));
    ASSERT_EQ(doubles.size(), phi.size());
    for (std::size_t i = 0; i < phi.size(); ++i) ASSERT_NEAR(doubles[i], phi[i], 1e-12) << i;
    const std::string matrices = written(data, {"--interactions"});
    EXPECT_NE(matrices.find("(600, 2, 4, 4, )"), std::string::npos);
    const auto entries = Items<float>(matrices);
    ASSERT_EQ(entries.size(), pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) ASSERT_NEAR(entries[i], pairs[i], 1e-5) << i;
  }
}

TEST_F(ShapCommand, ArraysOfOneOutputAndOfNothing) {
  Write("x.npy", NpyText<std::int64_t>({1, 0, 1, 2, 5, 0}, {3, 2}));
  for (const char* data : {"rows.csv", "x.npy"}) {
    ASSERT_EQ(Explain("forest.json", data, {"--out", Path("phi.npy")}), 0) << err_.str();
    NpyMatrix phi(Path("phi.npy"));
    ASSERT_EQ(phi.rows(), 3u);
    ASSERT_EQ(phi.columns(), 3u);
    std::vector<double> values(9);
    phi.Read(0, 3, values.data());
    EXPECT_NEAR(values[0] + values[1] + values[2], 1, 1e-6);
    EXPECT_NEAR(values[6] + values[7] + values[8], 9, 1e-6);
  }
  ASSERT_EQ(Explain("forest.json", "rows.csv", {"--background", Path("x.npy")}), 0) << err_.str();
  Write("none.npy", NpyText<double>({}, {0, 2}));
  ASSERT_EQ(Explain("forest.json", "none.npy", {"--out", Path("phi.npy")}), 0) << err_.str();
  EXPECT_EQ(NpyMatrix(Path("phi.npy")).rows(), 0u);
  Write("large.json", Replace(kForest, "1, 5, 9", "1, 5e39, 9"));
  Refuses(Explain("large.json", "rows.csv", {"--out", Path("phi.npy")}), {"precision double"});
  EXPECT_EQ(Explain("large.json", "rows.csv", {"--out", Path("phi.npy"), "--precision", "double"}),
            0);
}

// Leaves that float does not hold, and leaves whose parts it does not hold.
TEST_F(ShapCommand, RefusesWhatIsBeyondFloat) {
  Write("large.json", Replace(kForest, "1, 5, 9", "1, 5e39, 9"));
  for (const auto& form : std::vector<std::vector<std::string>>{{}, {"--interactions"}}) {
    Refuses(Explain("large.json", "rows.csv", form), {"32 bits", "precision double"});
    std::vector<std::string> doubles = form;
    doubles.insert(doubles.end(), {"--precision", "double"});
    EXPECT_EQ(Explain("large.json", "rows.csv", doubles), 0) << err_.str();
  }
  Refuses(Explain("large.json", "rows.csv", {"--top-k", "1"}), {"32 bits", "all pairs"});
  Refuses(Explain("forest.json", "rows.csv", {"--top-k", "1", "--precision", "double"}),
          {"--top-k", "--interactions"});
  Write("huge.json", Replace(kForest, "1, 5, 9", "-1.7e308, 1.7e308, 1.7e308"));
  Refuses(Explain("huge.json", "rows.csv", {"--precision", "double"}), {"64 bits"});
  Refuses(Explain("huge.json", "rows.csv", {"--order", "1"}), {"64 bits"});
  Write("small.json", Replace(kForest, "1, 5, 9", "1e-40, 5e-40, 9e-41"));
  EXPECT_EQ(Explain("small.json", "rows.csv"), 0);
  EXPECT_NE(err_.str().find("5e-40"), std::string::npos) << err_.str();
  EXPECT_EQ(Explain("small.json", "rows.csv", {"--precision", "double"}), 0);
  EXPECT_EQ(err_.str(), "");
}

// x <= 0.5: 1, else 2; two features that LightGBM named.
constexpr const char* kColumns =
    "tree\nnum_tree_per_iteration=1\nmax_feature_idx=1\nfeature_names=Column_0 Column_1\n"
    "feature_infos=[0:2] [0:2]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\n"
    "threshold=0.5\ndecision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=1 2\n"
    "leaf_count=5 5\ninternal_count=10\n\nend of trees\n";

TEST_F(ShapCommand, TakesTheNamesThatLightgbmMadeUp) {
  Write("m.txt", kColumns);
  Write("turned.csv", "Column_1,id,Column_0\n0,7,1\n");
  ASSERT_EQ(Explain("m.txt", "turned.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str(), "row,output,Column_0,Column_1,expected\n0,0,0.5,0,1.5\n");
  ASSERT_EQ(Explain("m.txt", "rows.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 24), "row,output,x,y,expected\n");
}

// LightGBM stores "a b" as "a_b".
TEST_F(ShapCommand, RefusesTwoColumnsOfOneName) {
  Write("m.txt", Replace(kColumns, "Column_0 Column_1", "a_b c"));
  Write("both.csv", "a_b,a b,c\n0,1,0\n");
  Refuses(Explain("m.txt", "both.csv"), {"both.csv", "\"a_b\" and \"a b\"", "--ignore", "rename"});
  for (const bool spaces : {true, false}) {
    ASSERT_EQ(Explain("m.txt", "both.csv", {"--ignore", spaces ? "a_b" : "a b"}), 0) << err_.str();
    EXPECT_EQ(out_.str(), spaces ? "row,output,a_b,c,expected\n0,0,0.5,0,1.5\n"
                                 : "row,output,a_b,c,expected\n0,0,-0.5,0,1.5\n");
  }
}

TEST_F(ShapCommand, SaysWhereANameIsThatOfAColumn) {
  Write("m.txt", Replace(kColumns, "Column_0 Column_1", "row o"));
  Write("r.csv", "row,o\n0,1\n");
  ASSERT_EQ(Explain("m.txt", "r.csv"), 0) << err_.str();
  EXPECT_NE(err_.str().find("a feature is called \"row\""), std::string::npos) << err_.str();
  ASSERT_EQ(Explain("m.txt", "r.csv", {"--out", Path("r.npy")}), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
}

// One column of three categories, and the ordered ones are no categorical feature.
TEST_F(ShapCommand, SaysWhoseCategoriesItGuesses) {
  std::string text = Replace(kColumns, "[0:2] [0:2]", "0:1:2 [0:2]");
  text = Replace(text, "Column_0 Column_1", "c o") + "\npandas_categorical:[[1, 2, 3]]\n";
  Write("m.txt", text);
  Write("r.csv", "c,o\n1,1\n");
  ASSERT_EQ(Explain("m.txt", "r.csv"), 0) << err_.str();
  EXPECT_NE(err_.str().find("those of \"c\", which is a guess"), std::string::npos) << err_.str();
  Write("m.txt", Replace(text, "[0:2]", "[0:9]"));
  ASSERT_EQ(Explain("m.txt", "r.csv"), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
}

// What from_scikit_learn.py writes for a table's True and False.
TEST_F(ShapCommand, TakesBooleansForTheirNumbers) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0,
                 R"("feature_levels": [[], ["0.0", "1.0"]], "unknown_levels_missing": true, )");
  Write("booleans.json", forest);
  Write("numbers.csv", "x,y\n1,0\n1,1\n5,0\n");
  Write("words.csv", "x,y\n1,False\n1,True\n5,false\n");
  ASSERT_EQ(Explain("booleans.json", "numbers.csv"), 0) << err_.str();
  const std::string want = out_.str();
  ASSERT_EQ(Explain("booleans.json", "words.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str(), want);
  EXPECT_EQ(err_.str(), "");
  // Of a column of numbers, as pandas writes booleans.
  Write("plain.json", kForest);
  ASSERT_EQ(Explain("plain.json", "numbers.csv"), 0) << err_.str();
  const std::string numbers = out_.str();
  Write("words.csv", "x,y\n1,False\nTrue,True\n5,False\n");
  ASSERT_EQ(Explain("plain.json", "words.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str(), numbers);
}

// pandas reads an empty field as missing, also where "" is a category.
TEST_F(ShapCommand, SaysThatAnEmptyFieldIsACategory) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0,
                 R"("feature_levels": [[], ["", "b"]], "unknown_levels_missing": true, )");
  Write("empty.json", forest);
  Write("levels.csv", "x,y\n1,\n1,NaN\n");
  ASSERT_EQ(Explain("empty.json", "levels.csv"), 0) << err_.str();
  EXPECT_NE(err_.str().find("column \"y\": an empty field is the model's category \"\""),
            std::string::npos)
      << err_.str();
}

TEST_F(ShapCommand, NamesWhatIsWrongWithArrays) {
  Refuses(Explain("forest.json", "rows.csv", {"--top-k", "1", "--out", Path("p.npy")}), {".csv"});
  Refuses(Explain("forest.json", "rows.csv", {"--order", "1", "--out", Path("p.npy")}), {".csv"});
  EXPECT_FALSE(std::filesystem::exists(Path("p.npy")));
  for (const std::string more : {"--resume", "--interactions", "--all-trees"}) {
    EXPECT_EQ(Explain("forest.json", "rows.csv", {"--out", Path("p.parquet"), more}), 1);
    EXPECT_NE(err_.str().find("is neither .csv nor .npy"), std::string::npos) << err_.str();
  }
  Refuses(Explain("forest.json", "nowhere.npy"), {"nowhere.npy", "No such file"});
  Write("three.npy", NpyText<float>({1, 2, 3}, {1, 3}));
  Refuses(Explain("forest.json", "three.npy"), {"three.npy has 3 columns", "2", "--ignore"});
  Refuses(Explain("forest.json", "three.npy", {"--ignore", "3"}), {"no column \"3\""});
  Write("not.npy", "x,y\n1,2\n");
  Refuses(Explain("forest.json", "not.npy"), {"not.npy: ", "numpy.save"});
  Write("x.parquet", "PAR1");
  Refuses(Explain("forest.json", "x.parquet"), {"x.parquet", "pandas.read_parquet", "to_csv"});
}

// The columns of an array are the model's features in their order; numbers meet levels by value.
TEST_F(ShapCommand, ArraysMeetNamesByPosition) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0,
                 R"("feature_names": ["x", "kind"], "feature_levels": [[], ["7", "red"]], )");
  Write("levels.json", forest);
  Write("x.npy", NpyText<double>({1, 7, 5, 7}, {2, 2}));
  ASSERT_EQ(Explain("levels.json", "x.npy"), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 28), "row,output,x,kind,expected\n0");
  EXPECT_EQ(err_.str(), "");
  Write("x.npy", NpyText<double>({1, 7, 5, 1}, {2, 2}));
  Refuses(Explain("levels.json", "x.npy"), {"x.npy:2", "\"kind\"", "\"1\""});
}

TEST_F(ShapCommand, TakesTheBytesOfAForest) {
  const ForestHeader header{2, 1, true, 20, {{}, {{"y"}, {"x"}}}};
  const ForestTree tree{{{.threshold = 2.5, .weight = 2, .left = 1, .right = 2, .feature = 1},
                         {.weight = 1, .value = kMixed},
                         {.weight = 1, .value = kMixed | 1}},
                        {10, 30}};
  const auto made = StoreForest(header, {&tree, 1});
  const std::string bytes(reinterpret_cast<const char*>(made.data()), made.size());
  Write("whatever", bytes);
  ASSERT_EQ(Explain("whatever", "rows.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str(), "row,output,y,x,expected\n0,0,0,-10,20\n1,0,0,-10,20\n2,0,0,10,20\n");
  std::string damaged = bytes;
  damaged[50] ^= 1;
  Write("damaged.bin", damaged);
  Refuses(Explain("damaged.bin", "rows.csv"), {"damaged.bin", "checksum"});
}

TEST_F(ShapCommand, GivesBanzhafValues) {
  ASSERT_EQ(Explain("forest.json", "rows.csv", {"--index", "banzhaf", "--precision", "double"}), 0)
      << err_.str();
  const auto table = Result();
  const std::vector<float> x = {1, 0, 1, 2, 5, 0};
  const auto want = BruteForceBanzhaf(ReadModel(kForest), {x, 3, 2});
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(*table.Number(table.rows[r], i + 2), want[r * 3 + i], 1e-12);
    }
  }
}

TEST_F(ShapCommand, GivesInteractionsOfAnyOrder) {
  const std::vector<float> x = {1, 0, 1, 2, 5, 0};
  for (const bool banzhaf : {false, true}) {
    const auto want = BruteForceIndex(ReadModel(kForest), {x, 3, 2}, 2, banzhaf);
    ASSERT_EQ(Explain("forest.json", "rows.csv",
                      {"--order", "2", "--index", banzhaf ? "banzhaf" : "shapley"}),
              0)
        << err_.str();
    const auto table = Result();
    EXPECT_EQ(table.header,
              (std::vector<std::string>{"row", "output", "feature_1", "feature_2", "value"}));
    ASSERT_EQ(table.rows.size(), 3u);
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(table.rows[r].fields[2] + table.rows[r].fields[3], "xy");
      EXPECT_NEAR(*table.Number(table.rows[r], 4), want[r * 4 + 3], 1e-8);
    }
  }
  ASSERT_EQ(Explain("forest.json", "rows.csv", {"--order", "3"}), 0);
  EXPECT_TRUE(Result().rows.empty());  // there is no set of three of two features
}

TEST_F(ShapCommand, ExplainsAgainstABackground) {
  Write("background.csv", "x,y\n1,0\n5,0\n1,2\n");
  ASSERT_EQ(Explain("forest.json", "rows.csv", {"--background", Path("background.csv")}), 0)
      << err_.str();
  const auto table = Result();
  const TreeEnsemble model = ReadModel(kForest);
  const std::vector<float> x = {1, 0, 1, 2, 5, 0};
  const std::vector<float> b = {1, 0, 5, 0, 1, 2};
  const auto want = BruteForceInterventional(model, {x, 3, 2}, {b, 3, 2});
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(*table.Number(table.rows[r], i + 2), want[r * 3 + i], 1e-8);
    }
  }
}

TEST_F(ShapCommand, TakesColumnsByNameWhereTheModelHasNames) {
  std::string json = R"({"learner": {"feature_names": ["x", "y"], "learner_model_param":
    {"base_score": "0", "num_class": "0", "num_feature": "2"}, "objective": {"name":
    "reg:squarederror"}, "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees":
    [{"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [1, 0, 0],
    "split_conditions": [1, 2, 4], "default_left": [0, 0, 0], "sum_hessian": [4, 2, 2]}]}}}})";
  Write("named.json", json);
  Write("shuffled.csv", "\xEF\xBB\xBFtarget,y,x\r\nwords,0,NA\r\n\r\n\"a, \"\"b\"\"\",9,1\r\n");
  ASSERT_EQ(Explain("named.json", "shuffled.csv"), 0) << err_.str();
  const auto table = Result();
  EXPECT_EQ(table.header[2], "x");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(*table.Number(table.rows[0], 3), -1);
  EXPECT_EQ(*table.Number(table.rows[1], 3), 1);
  Write("lacking.csv", "target,x,yy\n0,0,0\n");  // "x" is as near, but another feature
  Refuses(Explain("named.json", "lacking.csv"), {"lacking.csv", "no column \"y\"", "\"yy\""});
  Write("twice.json", Replace(json, R"(["x", "y"])", R"(["x", "x"])"));
  Refuses(Explain("twice.json", "lacking.csv"), {"two features", "\"x\"", ".npy"});
}

// Comparing each feature with each column takes minutes; a lookup takes a second.
TEST_F(ShapCommand, FindsTheColumnsOfAWideTableByLookup) {
  constexpr int kWidth = 80000;
  std::string names, header, row;
  for (int i = 0; i < kWidth; ++i) {
    names += fmt::format("{}\"gene_{:06}\"", i == 0 ? "" : ",", i);
    header += fmt::format("gene_{:06},", kWidth - 1 - i);
    row += i == 0 ? "9," : "0,";
  }
  Write("wide.csv", header + "target\n" + row + "1\n");
  Write("wide.json", fmt::format(R"({{"format": "retable-forest", "version": 1, "features": {},
    "feature_names": [{}], "trees": [{{"feature": [{}, -1, -1], "threshold": [1, 0, 0],
    "left": [1, -1, -1], "right": [2, -1, -1], "cover": [4, 2, 2], "value": [0, 2, 4]}}]}})",
                                 kWidth, names, kWidth - 1));
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(Explain("wide.json", "wide.csv", {"--order", "1"}), 0) << err_.str();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  EXPECT_EQ(out_.str(), "row,output,feature_1,value\n0,0,gene_079999,1\n");
}

// A forest of `retable forest` knows what its codes stand for, in whatever order a file has them.
TEST_F(ShapCommand, TakesLevelsByTheirText) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0,
                 R"("feature_names": ["x", "y"], "feature_kinds": ["numeric", "nominal"],
                 "feature_levels": [[], ["red", "blue", "7"]], )");
  Write("levels.json", forest);
  Write("levels.csv", "y,x\nred,1\nblue,1\nred,5\n7.0,1\n");
  Write("levels.arff",
        "@relation r\n@attribute y {7,blue,red}\n@attribute x {5,1}\n@data\n"
        "red,1\nblue,1\nred,5\n7,1\n");
  for (const char* data : {"levels.csv", "levels.arff"}) {
    ASSERT_EQ(Explain("levels.json", data), 0) << err_.str();
    const auto table = Result();
    const double predictions[] = {1, 5, 9, 5};
    for (std::size_t r = 0; r < 4; ++r) {
      double sum = 0;
      for (std::size_t c = 2; c < 5; ++c) sum += *table.Number(table.rows[r], c);
      EXPECT_NEAR(sum, predictions[r], 1e-5) << data << " " << r;
    }
    EXPECT_EQ(err_.str(), "");
  }
  Write("green.csv", "y,x\nred,1\ngreen,1\n");
  Refuses(Explain("levels.json", "green.csv"), {"green.csv:3", "\"y\"", "\"green\"", "blue"});
  Write("word.arff", "@relation r\n@attribute y {red}\n@attribute x {one}\n@data\nred,one\n");
  Refuses(Explain("levels.json", "word.arff"), {"word.arff:5", "\"x\"", "\"one\""});
  // Another model takes positions, and says so where numbers stand there.
  Write("numbers.arff", "@relation r\n@attribute x {5,1}\n@attribute y {a,b}\n@data\n1,b\n");
  ASSERT_EQ(Explain("forest.json", "numbers.arff"), 0) << err_.str();
  EXPECT_NE(err_.str().find("order: x; declare"), std::string::npos) << err_.str();
}

TEST_F(ShapCommand, SaysWhatIsWrongWithAHeader) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0, R"("feature_names": ["x", "y"], )");
  Write("plain.json", forest);
  Write("spaces.csv", "x, y\n1,2\n");
  Refuses(Explain("plain.json", "spaces.csv"), {"no column \"y\"", "remove the spaces of \" y\""});
  Write("semicolons.csv", "x;y\n1;2\n");
  Refuses(Explain("plain.json", "semicolons.csv"), {"separate fields by commas", "\"x;y\""});
}

TEST_F(ShapCommand, SaysWhichColumnsItLeavesOut) {
  std::string forest = kForest;
  forest.replace(forest.find("\"trees\""), 0, R"("feature_names": ["x", "y"], )");
  Write("named.json", forest);
  Write("more.csv", "id,y,x,target\n1,0,1,2\n");
  ASSERT_EQ(Explain("named.json", "more.csv", {"--ignore", "target"}), 0) << err_.str();
  EXPECT_NE(err_.str().find("left out: id\n"), std::string::npos) << err_.str();
  Refuses(Explain("named.json", "more.csv", {"--ignore", "y"}), {"--ignore y", "feature"});
  Write("index.csv", ",y,x\n0,0,1\n");
  ASSERT_EQ(Explain("named.json", "index.csv"), 0) << err_.str();
  EXPECT_NE(err_.str().find("left out: (without a name)\n"), std::string::npos) << err_.str();
}

TEST_F(ShapCommand, TakesMissingAndInfiniteValues) {
  Write("odd.csv", "x,y\nNaN,?\n,NA\ninf,-inf\n1e300,-1e300\n");
  ASSERT_EQ(Explain("forest.json", "odd.csv"), 0) << err_.str();
  for (const auto& row : Result().rows) {
    for (std::size_t c = 2; c < 5; ++c) {
      EXPECT_TRUE(std::isfinite(*Result().Number(row, c))) << row.line;
    }
  }
}

TEST_F(ShapCommand, NamesWhatIsWrongWithTheRows) {
  Refuses(Explain("forest.json", "nowhere.csv"), {"nowhere.csv", "No such file"});
  Write("rows.txt", "1 2");
  Refuses(Explain("forest.json", "rows.txt"), {"rows.txt", ".csv"});
  Write("empty.csv", "");
  Refuses(Explain("forest.json", "empty.csv"), {"empty.csv:1", "header"});
  Write("nameless.csv", "0.5,1\n1,2\n");
  Refuses(Explain("forest.json", "nameless.csv"), {"nameless.csv:1", "header"});
  Write("counted.csv", "0,1\n1,2\n");
  EXPECT_EQ(Explain("forest.json", "counted.csv"), 0) << err_.str();
  Write("packed.arff", "\x1f\x8b\x08");
  Refuses(Explain("forest.json", "packed.arff"), {"packed.arff", "compressed", "gunzip"});
  Write("three.csv", "x,y,z\n1,2,3\n");
  Refuses(Explain("forest.json", "three.csv"), {"three.csv", "3 columns", "2", "--ignore"});
  Refuses(Explain("forest.json", "three.csv", {"--ignore", "zz"}), {"no column \"zz\"", "\"z\""});
  EXPECT_EQ(Explain("forest.json", "three.csv", {"--ignore", "z"}), 0) << err_.str();
  Write("short.csv", "x,y\n1,2\n3\n");
  Refuses(Explain("forest.json", "short.csv"), {"short.csv:3", "1 fields", "2"});
  Write("word.csv", "x,y\n1,2\n3,blue\n");
  Refuses(Explain("forest.json", "word.csv"), {"word.csv:3", "\"y\"", "\"blue\""});
  Write("long.csv", "x,y\n1,2\n3," + std::string(59, 'b') + "\u00fcb\n");
  Refuses(Explain("forest.json", "long.csv"), {std::string(59, 'b') + "...\" is no number"});
  Write("quote.csv", "x,y\n1,\"2\n");
  Refuses(Explain("forest.json", "quote.csv"), {"quote.csv:2", "quote"});
  Write("bad.arff", "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n1,2\n3,b\n");
  Refuses(Explain("forest.json", "bad.arff", {"--chunk-rows", "1"}), {"bad.arff:6"});
  Write("text.arff", "@relation r\n@attribute x numeric\n@attribute y string\n@data\n1,a\n");
  Refuses(Explain("forest.json", "text.arff"), {"text.arff", "\"y\"", "text"});
  EXPECT_FALSE(std::filesystem::exists(Path("never.csv")));
  EXPECT_EQ(Explain("forest.json", "word.csv", {"--out", Path("never.csv")}), 2);
  EXPECT_FALSE(std::filesystem::exists(Path("never.csv"))) << "half a result";
  Write("none.csv", "x,y\n");
  EXPECT_EQ(Explain("forest.json", "none.csv"), 0) << err_.str();
  EXPECT_EQ(out_.str(), "row,output,x,y,expected\n");
  Refuses(Explain("forest.json", "rows.csv", {"--background", Path("none.csv")}), {"no rows"});
}

TEST_F(ShapCommand, NamesWhatIsWrongWithTheModel) {
  Refuses(Explain("nowhere.json", "rows.csv"), {"cannot read", "nowhere.json"});
  Write("m.json", std::string(kForest).substr(0, 150));
  Refuses(Explain("m.json", "rows.csv"), {"m.json", "JSON"});
  Write("m.json", Replace(kForest, "[10, 6,", "[10, -6,"));
  Refuses(Explain("m.json", "rows.csv"), {"m.json", "tree 0, node 1", "cover -6"});
  Write("m.json", Replace(kForest, "\"left\": [1,", "\"left\": [0,"));
  Refuses(Explain("m.json", "rows.csv"), {"m.json", "tree 0, node 0"});
  Write("m.json", "");
  Refuses(Explain("m.json", "rows.csv"), {"m.json", "empty"});
  Write("m.json", "\x80\x04 pickle");
  Refuses(Explain("m.json", "rows.csv"),
          {"m.json", "unknown model format", "from_scikit_learn.py"});
  Write("m.ubj", baselines::treeshap::WriteXgboostUbj(ChainEnsemble(300, 300, 0.9, 1)));
  std::string header = "f0";
  std::string row = "1";
  for (int i = 1; i < 300; ++i) {
    header += ",f" + std::to_string(i);
    row += ",1";
  }
  Write("wide.csv", header + "\n" + row + "\n");
  Refuses(Explain("m.ubj", "wide.csv"), {"tree 0", "256 distinct features"});
}

TEST_F(ShapCommand, ChecksItsArguments) {
  EXPECT_EQ(Run({}), 1);
  EXPECT_EQ(Explain("forest.json", "rows.csv", {"--top-k", "0"}), 1);
  EXPECT_EQ(Explain("forest.json", "rows.csv", {"--top-k", "3", "--interactions"}), 1);
  EXPECT_EQ(Explain("forest.json", "rows.csv", {"--precision", "half"}), 1);
  EXPECT_EQ(Explain("forest.json", "rows.csv", {"--order", "3", "--interactions"}), 1);
  EXPECT_EQ(Explain("forest.json", "rows.csv", {"--order", "0"}), 1);
  EXPECT_EQ(RunVerbNamed("shap", {"--help"}, out_, err_), 0);
}

// On a machine with a GPU: what the processor says, from the same files.
class CudaShapCommand : public ShapCommand {
 protected:
  void SetUp() override {
    std::string why;
    if (!harness::CudaDevicePresent(&why)) GTEST_SKIP() << why;
    const TreeEnsemble model = ReadModel(baselines::treeshap::WriteXgboostUbj(
        RandomEnsemble({.trees = 20, .features = 6, .groups = 2, .depth = 6}, 3)));
    Write("model.ubj", baselines::treeshap::WriteXgboostUbj(model));
    const auto values = RandomRows(model, 3000, 0.1, 5);
    std::ostringstream csv;
    csv.precision(9);
    csv << "a,b,c,d,e,f\n";
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = ClampInfinity(values[i]);
      std::isnan(x) ? csv << "NA" : csv << x;
      csv << (i % 6 == 5 ? "\n" : ",");
    }
    Write("six.csv", csv.str());
    Write("few.csv", csv.str().substr(0, csv.str().find('\n', 2000) + 1));
  }

  // The last field of each line under the others, and the largest of them all.
  std::map<std::string, double> Values(double& scale) const {
    std::map<std::string, double> values;
    const auto table = Result();
    for (const auto& row : table.rows) {
      const bool wide = table.header.back() == "expected";
      std::string key = row.fields[0] + " " + row.fields[1];
      if (!wide) key += " " + row.fields[2] + " " + row.fields[3];
      for (std::size_t c = wide ? 2 : 4; c < row.fields.size(); ++c) {
        values[key + " " + table.header[c]] = *table.Number(row, c);
        scale = std::max(scale, std::abs(*table.Number(row, c)));
      }
    }
    return values;
  }

  void AgreesOn(const std::string& data, const std::vector<std::string>& more, double limit) {
    double scale = 0;
    device_ = "cpu";
    ASSERT_EQ(Explain("model.ubj", data, more), 0) << err_.str();
    auto want = Values(scale);
    device_ = "cuda";
    ASSERT_EQ(Explain("model.ubj", data, more), 0) << err_.str();
    auto got = Values(scale);
    ASSERT_GT(got.size(), 100u);
    for (const auto& [key, value] : want) {  // a pair's zero may be no line
      EXPECT_NEAR(got[key], value, limit * scale) << key;
    }
    for (const auto& [key, value] : got) EXPECT_NEAR(want[key], value, limit * scale) << key;
  }
};

TEST_F(CudaShapCommand, SaysWhatTheProcessorSays) {
  for (const char* chunk : {"0", "1100", "77"}) {
    AgreesOn("six.csv", {"--chunk-rows", chunk}, 1e-6);
    AgreesOn("few.csv", {"--interactions", "--chunk-rows", chunk}, 2e-6);
    AgreesOn("few.csv", {"--background", Path("few.csv"), "--chunk-rows", chunk}, 1e-8);
  }
}

TEST_F(CudaShapCommand, LeavesToTheProcessorWhatIsOverItsLimits) {
  Write("deep.ubj", baselines::treeshap::WriteXgboostUbj(ChainEnsemble(100, 100, 0.9, 1)));
  std::string header = "f0";
  std::string row = "1";
  for (int i = 1; i < 100; ++i) {
    header += ",f" + std::to_string(i);
    row += ",1";
  }
  Write("wide.csv", header + "\n" + row + "\n");
  for (const auto& form : std::vector<std::vector<std::string>>{
           {"--interactions"}, {"--background", Path("wide.csv")}}) {
    device_ = "cuda";
    EXPECT_EQ(Explain("deep.ubj", "wide.csv", form), 2) << form[0];
    device_ = "auto";
    EXPECT_EQ(Explain("deep.ubj", "wide.csv", form), 0) << err_.str();
    EXPECT_NE(err_.str().find("on the processor"), std::string::npos) << err_.str();
  }
  device_ = "cuda";
  Refuses(Explain("forest.json", "rows.csv", {"--precision", "double"}), {"processor"});
  Refuses(Explain("forest.json", "rows.csv", {"--gpus", "1000"}), {"1000 GPUs"});
  Refuses(Explain("forest.json", "rows.csv", {"--top-k", "2"}), {"processor"});
}

TEST_F(ShapCommand, SaysWhyThereIsNoGpu) {
#if !defined(RETABLE_HAS_CUDA)
  EXPECT_EQ(
      RunVerbNamed("shap",
                   {"--model", Path("forest.json"), "--data", Path("rows.csv"), "--device", "cuda"},
                   out_, err_),
      2);
  EXPECT_NE(err_.str().find("CUDA"), std::string::npos) << err_.str();
  Refuses(Explain("forest.json", "rows.csv", {"--gpus", "2"}), {"device cpu"});
#else
  GTEST_SKIP() << "this build has CUDA backends";
#endif
}

}  // namespace
}  // namespace retable::experiments::treeshap
