// Results in pieces, as a user asks for them: whoever makes them, in whatever order, and wherever
// one was cut short, the output has the bytes of one plain call. Processes that are killed:
// tools/test_shap_shards.py.

#include "apps/shap/pieces.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "algorithms/treeshap/testing/random_trees.hpp"
#include "apps/shap/row_stream.hpp"
#include "apps/verb_testing.hpp"
#include "base/npy/writer.hpp"
#include "base/temporary_folder.hpp"
#include "baselines/treeshap/ubj_writer.hpp"
#include "harness/machine/device.hpp"

namespace retable::experiments::treeshap {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A random model of three features, and rows of it in every format; the CSV file has quotes that
// hold lines, the ARFF file comments, and neither ends in a line feed.
class ResultPiecesTest : public testing::Test {
 protected:
  static constexpr std::size_t kRows = 43;

  ResultPiecesTest() {
    const auto model =
        retable::treeshap::RandomEnsemble({.trees = 6, .features = 3, .groups = 2, .depth = 4}, 3);
    Write("model.ubj", baselines::treeshap::WriteXgboostUbj(model));
    std::vector<float> values = retable::treeshap::RandomRows(model, kRows, 0.2, 4);
    for (float& x : values) x = std::isinf(x) ? 1.0f : x;
    std::string csv = "a,b,c,note";
    std::string arff = "@relation r\n";
    for (const char* name : {"a", "b", "c"}) {
      arff += fmt::format("@attribute {} numeric\n", name);
    }
    arff += "@data";
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto text = [&](std::size_t i) {
        const float x = values[3 * r + i];
        return std::isnan(x) ? std::string("?") : fmt::format("{}", x);
      };
      const std::string numbers = text(0) + "," + text(1) + "," + text(2);
      csv += "\n" + numbers + (r % 3 == 0 ? ",\"1,2,3\n4,5,6\"" : ",no");
      if (r % 5 == 0) arff += "\n% a comment\n\n \t% another\n%\n%\n%\n%\n%\n%";
      arff += "\n" + numbers;
    }
    Write("rows.csv", csv);
    Write("rows.arff", arff);
    Write("rows.npy", NpyText(values, {kRows, 3}));
  }

  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  int Explain(const std::string& data, const std::string& out, Words more) {
    out_.str("");
    err_.str("");
    const Words words = {"--model",  Path("model.ubj"), "--data", Path(data),
                         "--device", device_,           "--out",  Path(out)};
    more.insert(more.begin(), words.begin(), words.end());
    if (data == "rows.csv") more.insert(more.end(), {"--ignore", "note"});
    return RunVerbNamed("shap", more, out_, err_);
  }
  // The bytes of one plain call.
  std::string Whole(const std::string& data, const std::string& ending, const Words& form) {
    EXPECT_EQ(Explain(data, "whole" + ending, form), 0) << err_.str();
    return ReadWhole(Path("whole" + ending));
  }
  bool Exists(const std::string& name) const { return fs::exists(Path(name)); }
  void ExpectSaid(const Words& words) const {
    for (const std::string& word : words) {
      EXPECT_NE((out_.str() + err_.str()).find(word), std::string::npos)
          << word << " in: " << out_.str() << err_.str();
    }
  }
  // A fresh start.
  void Clear(const std::string& out) const {
    fs::remove(Path(out));
    fs::remove_all(Path(out + ".parts"));
    fs::remove(Path(out + ".about.json"));
  }

  TemporaryFolder folder_;
  std::ostringstream out_, err_;
  std::string device_ = "cpu";
};

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(ResultPiecesTest, AnyProcessesMakeTheBytesOfOne) {
  for (const Words& form :
       {Words{}, Words{"--precision", "double"}, Words{"--interactions"}, Words{"--top-k", "2"},
        Words{"--order", "2", "--index", "banzhaf"}, Words{"--background"}}) {
    const bool list = !form.empty() && (form[0] == "--top-k" || form[0] == "--order");
    for (const char* data : {"rows.csv", "rows.arff", "rows.npy"}) {
      for (const std::string ending : {".csv", ".npy"}) {
        if (list && ending == ".npy") continue;
        const Words options = form == Words{"--background"} ? With(form, {Path(data)}) : form;
        const std::string whole = Whole(data, ending, options), out = "phi" + ending;
        for (const char* chunk : {"5", "1", "1000"}) {
          const Words call = With(options, {"--chunk-rows", chunk});
          Clear(out);
          for (const char* shard : {"3/4", "2/4", "1/4", "4/4"}) {  // and all are there
            EXPECT_EQ(Exists(out), std::string(shard) == "4/4" && *chunk == '1' && chunk[1] != 0);
            ASSERT_EQ(Explain(data, out, With(call, {"--shard", shard})), 0) << err_.str();
          }
          EXPECT_EQ(ReadWhole(Path(out)), whole) << data << ending << chunk;
          EXPECT_FALSE(Exists(out + ".parts"));
        }
      }
    }
  }
}

TEST_F(ResultPiecesTest, NoPieceIsMadeTwiceWhateverTheNumberOfProcesses) {
  const std::string whole = Whole("rows.csv", ".csv", {});
  const Words call = {"--chunk-rows", "4"};  // 11 pieces
  ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--shard", "2/3"})), 0) << err_.str();
  ExpectSaid({"15 rows explained", "7 pieces of ", "are missing", "--resume"});
  ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--shard", "2/3"})), 0) << err_.str();
  ExpectSaid({"0 rows explained"});
  ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--shard", "1/2"})), 0) << err_.str();
  ExpectSaid({"16 rows explained", "3 pieces"});
  EXPECT_FALSE(Exists("phi.csv"));
  ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--resume"})), 0) << err_.str();
  ExpectSaid({"12 rows explained", "written to", "43 rows"});
  EXPECT_EQ(ReadWhole(Path("phi.csv")), whole);
  // Late ones have nothing to do, until the output is another.
  for (const char* shard : {"1/2", "2/2"}) {
    ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--shard", shard})), 0) << err_.str();
    ExpectSaid({"complete already", "0 rows"});
    EXPECT_FALSE(Exists("phi.csv.parts"));
  }
  Write("phi.csv", "other");
  ASSERT_EQ(Explain("rows.csv", "phi.csv", With(call, {"--resume"})), 0) << err_.str();
  ExpectSaid({"43 rows explained"});
  EXPECT_EQ(ReadWhole(Path("phi.csv")), whole);
  ASSERT_EQ(Explain("rows.csv", "phi.csv", {"--resume", "--top-k", "1"}), 0) << err_.str();
  EXPECT_NE(ReadWhole(Path("phi.csv")), whole) << "the result of other options stays";
}

TEST_F(ResultPiecesTest, GoesOnWhereverItWasCutShort) {
  const std::string whole = Whole("rows.npy", ".npy", {});
  const Words call = {"--chunk-rows", "11", "--resume"};  // 4 pieces
  bool finished = false;
  for (int last = 0; !finished; ++last) {
    ASSERT_LT(last, 1000);
    Clear("phi.npy");
    int changes = 0;
    DiskObserver() = [&](const DiskChange&) {
      if (changes++ == last) throw std::runtime_error("cut short");
    };
    finished = Explain("rows.npy", "phi.npy", call) == 0;
    DiskObserver() = nullptr;
    EXPECT_TRUE(finished || !Exists("phi.npy") || ReadWhole(Path("phi.npy")) == whole) << last;
    ASSERT_EQ(Explain("rows.npy", "phi.npy", call), 0) << last << err_.str();
    EXPECT_EQ(ReadWhole(Path("phi.npy")), whole) << last;
    EXPECT_FALSE(Exists("phi.npy.parts")) << last;
    std::size_t files = 0;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      files += file.path().filename().string().starts_with("phi.npy");
    }
    EXPECT_EQ(files, 2u) << last;
  }
}

TEST_F(ResultPiecesTest, EmptyDataAndOneRow) {
  Write("none.csv", "a,b,c\n");
  Write("one.csv", "a,b,c\n1,2,3");
  Write("none.npy", NpyText<float>({}, {0, 3}));
  for (const char* data : {"none.csv", "one.csv", "none.npy"}) {
    for (const std::string ending : {".csv", ".npy"}) {
      const std::string whole = Whole(data, ending, {});
      Clear("phi" + ending);
      for (const char* shard : {"3/3", "2/3", "1/3"}) {
        ASSERT_EQ(Explain(data, "phi" + ending, {"--shard", shard}), 0) << err_.str();
      }
      EXPECT_EQ(ReadWhole(Path("phi" + ending)), whole) << data;
      EXPECT_FALSE(Exists("phi" + ending + ".parts"));
    }
  }
}

TEST_F(ResultPiecesTest, RefusesPiecesOfAnotherCall) {
  const Words call = {"--chunk-rows", "4", "--shard", "1/2"};
  ASSERT_EQ(Explain("rows.csv", "phi.csv", call), 0) << err_.str();
  const auto refused = [&](const std::string& data, const Words& more, const Words& said) {
    EXPECT_EQ(Explain(data, "phi.csv", more), 1) << out_.str();
    ExpectSaid(With(said, {"phi.csv.parts", "remove the folder"}));
    EXPECT_FALSE(Exists("phi.csv"));
  };
  refused("rows.csv", With(call, {"--interactions"}), {"interactions was false and is true"});
  refused("rows.csv", {"--shard", "1/2"}, {"rows_a_piece was 4 and is 65536"});
  refused("rows.csv", With(call, {"--background", Path("rows.csv")}), {"background was null"});
  refused("rows.npy", call, {"data was {\"name\":\"rows.csv\"", "is {\"name\":\"rows.npy\""});
  refused("rows.csv", {}, {"go on with them by --resume"});
  const auto then = fs::last_write_time(Path("rows.csv"));
  fs::last_write_time(Path("rows.csv"), then + std::chrono::milliseconds(1));
  refused("rows.csv", call, {"data was ", "\"changed\""});
  fs::last_write_time(Path("rows.csv"), then);
  Write("model.ubj", baselines::treeshap::WriteXgboostUbj(retable::treeshap::RandomEnsemble(
                         {.trees = 6, .features = 3, .groups = 2, .depth = 4}, 5)));
  refused("rows.csv", call, {"model was "});
  fs::remove_all(Path("phi.csv.parts"));
  EXPECT_EQ(Explain("rows.csv", "phi.csv", {}), 0) << err_.str();
}

TEST_F(ResultPiecesTest, SaysThatDataChangedMeanwhile) {
  DiskObserver() = [&](const DiskChange& change) {
    if (change.kind != DiskChange::kBytes || change.more.size() < 20) return;
    if (change.more.starts_with("0,0,")) std::ofstream(Path("rows.csv"), std::ios::app) << "\n1,2";
  };
  EXPECT_EQ(Explain("rows.csv", "phi.csv", {"--chunk-rows", "4", "--resume"}), 2);
  DiskObserver() = nullptr;
  ExpectSaid({"rows.csv changed while it was read", "phi.csv.parts"});
  EXPECT_FALSE(Exists("phi.csv"));
}

TEST_F(ResultPiecesTest, AWrongLineIsNamedByItsOwnerAndOthersStay) {
  Write("wrong.csv", "a,b,c\n1,2,3\n\n1,\"2\",x\n1,2,3\n");
  const Words call = {"--chunk-rows", "1", "--shard"};
  ASSERT_EQ(Explain("wrong.csv", "phi.csv", With(call, {"1/2"})), 0) << err_.str();
  EXPECT_EQ(Explain("wrong.csv", "phi.csv", With(call, {"2/2"})), 2);
  ExpectSaid({"wrong.csv:4", "\"x\""});
  EXPECT_FALSE(Exists("phi.csv"));
  Write("open.csv", "a,b,c\n1,2,3\n1,\"2,3\n");
  EXPECT_EQ(Explain("open.csv", "open_phi.csv", With(call, {"1/2"})), 2);
  ExpectSaid({"open.csv:3", "never closed"});
}

TEST_F(ResultPiecesTest, ChecksItsArguments) {
  EXPECT_EQ(Explain("rows.csv", "phi.csv", {"--shard", "3/2"}), 1);
  ExpectSaid({"1 <= i <= n"});
  Write("own.csv.about.json", "{}");
  EXPECT_EQ(Explain("rows.csv", "own.csv", {"--resume"}), 1);
  ExpectSaid({"own.csv.about.json is no description of a result"});
  EXPECT_EQ(ReadWhole(Path("own.csv.about.json")), "{}");
  fs::copy(Path("rows.csv"), Path("all.csv.about.json"));
  fs::create_hard_link(Path("all.csv.about.json"), Path("same.csv"));
  EXPECT_EQ(Explain("same.csv", "all.csv", {"--resume"}), 1);
  ExpectSaid({"all.csv.about.json is read and would be overwritten"});
  fs::create_directory(Path("folder"));
  EXPECT_EQ(Explain("rows.csv", "folder", {"--resume"}), 1);
  ExpectSaid({"folder is no file"});
  EXPECT_EQ(
      RunVerbNamed("shap", {"--model", Path("model.ubj"), "--data", Path("rows.csv"), "--resume"},
                   out_, err_),
      1);
  ExpectSaid({"need --out FILE"});
  Write("phi.csv.parts", "");
  EXPECT_EQ(Explain("rows.csv", "phi.csv", {"--resume"}), 2);
  ExpectSaid({"cannot write", "phi.csv.parts"});
  EXPECT_EQ(Explain("rows.csv", "/proc/phi.csv", {"--resume"}), 2);
  EXPECT_EQ(RunVerbNamed("shap",
                         {"--model", Path("model.ubj"), "--data", "/dev/null", "--out",
                          Path("o.csv"), "--resume"},
                         out_, err_),
            2);
  ExpectSaid({"/dev/null is no file"});
}

TEST_F(ResultPiecesTest, SkippedRowsAreThoseThatAreRead) {
  const auto model = retable::treeshap::RandomEnsemble({.trees = 1, .features = 3}, 1);
  for (const char* data : {"rows.csv", "rows.arff", "rows.npy"}) {
    const Words ignore = data == std::string("rows.csv") ? Words{"note"} : Words{};
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
      RowStream read(Path(data), model, ignore), skipped(Path(data), model, ignore);
      std::vector<float> values;
      for (std::size_t rows = 1; rows > 0;) {
        rows = read.Read(count, values);
        EXPECT_EQ(skipped.Skip(count), rows) << data;
        EXPECT_EQ(skipped.done(), read.done());
      }
      EXPECT_EQ(values.size(), kRows * 3);
    }
  }
}

// On a GPU a row's last bits may depend on the rows of its call: pieces are the chunks of the plain
// call.
class CudaResultPiecesTest : public ResultPiecesTest {};

TEST_F(CudaResultPiecesTest, HaveTheBytesOfAPlainCallInSuchChunks) {
  std::string why;
  if (!harness::CudaDevicePresent(&why)) GTEST_SKIP() << why;
  device_ = "cuda";
  const auto model =
      retable::treeshap::RandomEnsemble({.trees = 300, .features = 12, .groups = 2, .depth = 7}, 3);
  Write("model.ubj", baselines::treeshap::WriteXgboostUbj(model));
  const std::size_t rows = 30000;
  std::vector<float> values = retable::treeshap::RandomRows(model, rows, 0.05, 4);
  for (float& x : values) x = std::isinf(x) ? 1.0f : x;
  Write("many.npy", NpyText(values, {rows, 12}));
  values.resize(12 * 900);
  Write("few.npy", NpyText(values, {900, 12}));
  for (const std::string data : {"many.npy", "few.npy"}) {
    for (const Words& form :
         {Words{}, Words{"--interactions"}, Words{"--background", Path("few.npy")}}) {
      if (data == "many.npy" && form.size() == 1) continue;  // 100 MB
      for (const std::string chunk : {"9000", "500", "77"}) {
        if (data == "many.npy" && chunk == "77") continue;
        Clear("phi.npy");
        const Words call = With(form, {"--chunk-rows", chunk});
        const std::string whole = Whole(data, ".npy", call);
        for (const char* shard : {"2/3", "3/3", "1/3"}) {
          ASSERT_EQ(Explain(data, "phi.npy", With(call, {"--shard", shard})), 0) << err_.str();
        }
        EXPECT_TRUE(ReadWhole(Path("phi.npy")) == whole) << data << chunk;
        EXPECT_NE(ReadWhole(Path("phi.npy.about.json")).find(harness::DeviceClass()),
                  std::string::npos);
      }
    }
  }
  const Words half = {"--chunk-rows", "100", "--shard", "1/2"};
  Clear("phi.npy");
  ASSERT_EQ(Explain("few.npy", "phi.npy", half), 0) << err_.str();
  device_ = "cpu";
  EXPECT_EQ(Explain("few.npy", "phi.npy", half), 1);
  ExpectSaid({"device was \"" + harness::DeviceClass() + "\" and is \"cpu\""});
}

}  // namespace
}  // namespace retable::experiments::treeshap
