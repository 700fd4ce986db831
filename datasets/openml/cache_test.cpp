//! The cache, the catalogue over it, and the commands, against mirrors on disk.

#include "datasets/openml/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "datasets/commands.hpp"
#include "datasets/frame/encode.hpp"
#include "datasets/frame/file.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/openml/test_mirror.hpp"
#include "datasets/openml/url.hpp"
#include "datasets/registry/catalog.hpp"
#include "datasets/registry/registry_file.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

//! A cache folder and a mirror folder, named by the environment.
class CacheTest : public testing::Test {
 protected:
  CacheTest()
      : cache_variable_("RETABLE_CACHE", cache_folder.path().string()),
        url_variable_("RETABLE_OPENML_URL", "file://" + mirror.path().string()),
        cache(cache_folder.path()) {
    OpenMlServer::ForgetDeadNetworks();
  }

  int Run(const std::vector<std::string>& args) {
    out.str("");
    err.str("");
    return DatasetsMain(args, out, err);
  }
  bool Said(const std::string& text) const {
    return out.str().find(text) != std::string::npos || err.str().find(text) != std::string::npos;
  }

  TemporaryFolder cache_folder, mirror;
  ScopedEnvironment cache_variable_, url_variable_;
  Cache cache;
  std::ostringstream out, err;
};

//! A mirror made of recorded answers.
void WriteRecorded(const fs::path& mirror) {
  const fs::path recorded = fs::path(RETABLE_SOURCE_DIR) / "datasets/fixtures/openml-responses";
  for (const auto& folder : fs::directory_iterator(recorded)) {
    if (!folder.is_directory()) continue;
    const std::string id = folder.path().filename().string().substr(3);
    const std::string description =
        Gunzip(ReadWhole(folder.path() / ("api-v1-jd-" + id + ".json.gz")));
    WriteAtomically(mirror / "api/v1/json/data" / id, description);
    WriteAtomically(mirror / "api/v1/json/data/features" / id,
                    Gunzip(ReadWhole(folder.path() / ("api-v1-jdf-" + id + ".json.gz"))));
    for (const auto& file : fs::directory_iterator(folder.path())) {
      if (file.path().filename().string().rfind("data-v1-dl-", 0) != 0) continue;
      WriteAtomically(mirror / SafePath(ParseDescription(description).url), ReadWhole(file.path()));
    }
  }
}

TEST_F(CacheTest, RecordedDataSetsComeInWhole) {
  WriteRecorded(mirror.path());
  struct Shape {
    int id;
    std::int64_t rows, columns;
    const char* target;
  };
  // Rows are those of the shortened files.
  const Shape shapes[] = {{61, 150, 4, "class"},      {3, 3196, 36, "class"},
                          {561, 209, 7, "class"},     {62, 101, 16, "type"},
                          {40966, 7, 77, "class"},    {40945, 1309, 13, "survived"},
                          {42585, 344, 6, "species"}, {40675, 163, 9, "class"},
                          {292, 85, 14, "Y"},         {1119, 10, 14, "class"}};
  for (const Shape& shape : shapes) {
    const Member member = Catalog().Resolve("openml-" + std::to_string(shape.id)).front();
    ASSERT_TRUE(member.present) << member.reason;
    const Frame frame = Catalog().Load(member);
    EXPECT_EQ(frame.rows, shape.rows) << shape.id;
    EXPECT_EQ(static_cast<std::int64_t>(frame.columns.size()), shape.columns) << shape.id;
    ASSERT_TRUE(frame.target.has_value()) << shape.id;
    EXPECT_EQ(frame.target->name, shape.target) << shape.id;
    EXPECT_EQ(frame.sha256, member.sha256);
    EXPECT_EQ(frame.name, member.name);
  }
  EXPECT_EQ(Run({"verify"}), 0) << out.str();
  EXPECT_TRUE(Said("kr-vs-kp: ok, SHA-256 as pinned")) << out.str();
  EXPECT_TRUE(Said("openml-61: ok, SHA-256 as pinned"));
}

TEST_F(CacheTest, FrameFilesHoldEveryKindOfColumn) {
  FrameBuilder builder({{"byte", ColumnKind::kNumeric, {}},
                        {"short", ColumnKind::kNumeric, {}},
                        {"real", ColumnKind::kNumeric, {}},
                        {"stamp", ColumnKind::kDate, {}},
                        {"word", ColumnKind::kNominal, {"a", "\xC3\xA9", ""}},
                        {"y", ColumnKind::kNumeric, {}}},
                       {ColumnRole::kFeature, ColumnRole::kFeature, ColumnRole::kFeature,
                        ColumnRole::kFeature, ColumnRole::kFeature, ColumnRole::kTarget});
  for (int r = 0; r < 5000; ++r) {
    const double values[] = {static_cast<double>(r % 256),        static_cast<double>(r * 7),
                             r % 9 == 0 ? std::nan("") : r / 3.0, 1.6e9 + r + 0.25,
                             static_cast<double>(r % 3),          -static_cast<double>(r)};
    std::copy(std::begin(values), std::end(values), builder.Row());
    builder.CommitRow();
  }
  Frame frame = builder.Finish();
  frame.name = "n";
  frame.sha256 = "s";
  frame.complete = false;
  const fs::path path = cache_folder.path() / "a.frame";
  WriteFrameFile(frame, path);
  const Frame back = ReadFrameFile(path);
  EXPECT_EQ(back.name, "n");
  EXPECT_FALSE(back.complete);
  ASSERT_EQ(back.columns.size(), 5u);
  EXPECT_EQ(back.columns[0].codes8.size(), 5000u);
  EXPECT_EQ(back.columns[1].codes16.size(), 5000u);
  EXPECT_EQ(back.columns[2].missing, 556);
  EXPECT_EQ(back.columns[3].At(3), 1.6e9 + 3.25);
  EXPECT_EQ(back.columns[4].levels, frame.columns[4].levels);
  EXPECT_EQ(back.target->values[4999], -4999.0f);
  for (std::size_t c = 0; c < 5; ++c) {
    for (std::size_t r = 0; r < 5000; ++r) {
      const float a = back.columns[c].values[r], b = frame.columns[c].values[r];
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << c << ' ' << r;
    }
  }
  // Any cut or damage is an error, never a crash.
  const std::string whole = ReadWhole(path);
  const auto write = [&path](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;  // quicker than a synced file
  };
  for (const std::size_t size : {0ul, 8ul, 15ul, 40ul, whole.size() / 2, whole.size() - 64}) {
    write(whole.substr(0, size));
    EXPECT_THROW(ReadFrameFile(path), FrameFileError) << size;
  }
  for (std::size_t i = 0; i < whole.size(); i += i < 1200 ? 7 : 997) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    write(damaged);
    EXPECT_THROW(ReadFrameFile(path), FrameFileError) << i;
    damaged.resize(whole.size() - 64);
    write(damaged + Sha256(damaged));  // on purpose
    try {
      const Frame odd = ReadFrameFile(path);
      ASSERT_GE(odd.rows, 0);
      for (const Column& column : odd.columns) {
        if (column.kind != ColumnKind::kNominal) continue;
        for (const float code : column.values) {
          ASSERT_LT(code, static_cast<float>(column.levels.size())) << "damaged at " << i;
        }
      }
    } catch (const FrameFileError&) {
    }
  }
  EXPECT_THROW(ReadFrameFile(cache_folder.path() / "none"), FrameFileError);
}

TEST_F(CacheTest, ALostOrDamagedFrameFileIsMadeAgain) {
  SmallOpenMl openml;
  openml.Add(7);
  openml.WriteTo(mirror.path());
  ASSERT_EQ(Run({"fetch", "7"}), 0) << out.str() << err.str();
  const CacheRecord record = *cache.Find(7);
  for (const auto& entry : fs::directory_iterator(cache_folder.path() / "frames")) {
    std::ofstream(entry.path()) << "damaged";
  }
  EXPECT_EQ(cache.Load(record).rows, 3);
  fs::remove_all(cache_folder.path() / "frames");
  EXPECT_EQ(cache.Load(record).columns[0].values[0], 0.5f);
  EXPECT_FALSE(fs::is_empty(cache_folder.path() / "frames"));
}

TEST_F(CacheTest, VerifyFindsAChangedFile) {
  SmallOpenMl openml;
  openml.Add(7);
  openml.Add(8);
  openml.WriteTo(mirror.path());
  ASSERT_EQ(Run({"fetch", "openml-7", "8"}), 0) << err.str();
  EXPECT_EQ(Run({"verify"}), 0);
  std::string other = SmallOpenMl::kArff;
  other += "4,1,b\n";
  WriteAtomically(cache.FilePath(*cache.Find(7)), GzipCompress(other));
  EXPECT_EQ(Run({"verify"}), 2);
  const TemporaryFolder copy;
  EXPECT_NE(Run({"mirror", copy.path() / "m"}), 0);
  EXPECT_TRUE(Said("data set 7: SHA-256 expected")) << err.str();
  EXPECT_FALSE(fs::exists(copy.path() / "m/MANIFEST.tsv"));
  EXPECT_EQ(Run({"verify"}), 2);
  EXPECT_TRUE(
      Said("openml-7: SHA-256 expected " + Sha256(SmallOpenMl::kArff) + ", got " + Sha256(other)))
      << out.str();
  EXPECT_TRUE(Said("openml-8: ok"));
  // A changed file without its frame is refused, not parsed.
  fs::remove_all(cache_folder.path() / "frames");
  const std::string compressed = GzipCompress(other);
  for (const std::string& damaged : {compressed, compressed.substr(0, 60)}) {
    WriteAtomically(cache.FilePath(*cache.Find(7)), damaged);
    try {
      cache.Load(*cache.Find(7));
      FAIL();
    } catch (const std::runtime_error& error) {
      const std::string why = error.what();
      EXPECT_TRUE(why.starts_with(cache.FilePath(*cache.Find(7)).string())) << why;
      EXPECT_TRUE(why.ends_with("; fetch it again with --refresh")) << why;
    }
  }
  EXPECT_EQ(Run({"fetch", "7", "--refresh"}), 0);
  EXPECT_EQ(Run({"verify"}), 0);
}

TEST_F(CacheTest, VerifyFindsAChangedFrame) {
  SmallOpenMl openml;
  openml.Add(7);
  openml.WriteTo(mirror.path());
  ASSERT_EQ(Run({"fetch", "7"}), 0) << err.str();
  const fs::path path = fs::directory_iterator(cache_folder.path() / "frames")->path();
  const Frame good = cache.Load(*cache.Find(7));
  const auto finds = [&](const auto& change) {
    Frame frame = good;
    change(frame);
    WriteFrameFile(frame, path);
    EXPECT_EQ(Run({"verify"}), 2);
    EXPECT_TRUE(Said("the frame file differs from the ARFF file")) << out.str() << err.str();
  };
  const std::vector<std::uint8_t> codes = {1, 1, 1};
  finds([&](Frame& f) { f.target->codes8 = codes; });
  finds([](Frame& f) { f.target->levels[0] = "c"; });
  finds([](Frame& f) { f.columns[0].name = "z"; });
  finds([](Frame& f) { f.target.reset(); });
  WriteFrameFile(good, path);
  EXPECT_EQ(Run({"verify"}), 0) << out.str();
}

TEST_F(CacheTest, AMirrorOfTheCacheIsAMirror) {
  SmallOpenMl openml;
  openml.Add(7);
  openml.Add(61, SmallOpenMl::kArff);
  openml.WriteTo(mirror.path());
  EXPECT_EQ(Run({"fetch", "7", "openml-61"}), 0);
  EXPECT_TRUE(Said("a subset of the published rows")) << out.str();
  TemporaryFolder second, other_cache;
  EXPECT_EQ(Run({"mirror", second.path().string()}), 0);
  EXPECT_TRUE(Said("2 data sets mirrored"));
  const std::string manifest = ReadWhole(second.path() / "MANIFEST.tsv");
  EXPECT_EQ(std::count(manifest.begin(), manifest.end(), '\n'), 3);
  EXPECT_EQ(Run({"mirror", second.path().string(), "7"}), 0);
  EXPECT_EQ(ReadWhole(second.path() / "MANIFEST.tsv"), manifest);
  const ScopedEnvironment url("RETABLE_OPENML_URL", second.path().string());
  const ScopedEnvironment here("RETABLE_CACHE", other_cache.path().string());
  EXPECT_EQ(Run({"fetch", "7", "61", "999"}), 2);
  EXPECT_TRUE(Said("2 fetched, 0 in the cache, 1 not found, 0 failed")) << out.str();
  EXPECT_EQ(Run({"fetch", "7", "61"}), 0);
  EXPECT_TRUE(Said("0 fetched, 2 in the cache, 0 not found, 0 failed"));
  EXPECT_EQ(Run({"path", "7"}), 0);
  EXPECT_TRUE(fs::exists(out.str().substr(0, out.str().find('\n'))));
}

TEST_F(CacheTest, ATargetThatTheFileDoesNotHaveIsNoFeature) {
  SmallOpenMl small;
  small.Add(5, SmallOpenMl::kArff, "", {{"default_target_attribute", "Y"}});
  small.WriteTo(mirror.path());
  EXPECT_NE(Run({"fetch", "5"}), 0);
  EXPECT_TRUE(Said("names the target \"Y\", a column that its file does not have")) << err.str();
  EXPECT_FALSE(cache.Find(5).has_value());
}

TEST_F(CacheTest, ResolveSaysWhyADataSetIsAbsent) {
  const auto reason = [](FetchPolicy policy) {
    const Member member = Catalog().Resolve("kr-vs-kp", policy).front();
    EXPECT_FALSE(member.present);
    EXPECT_TRUE(member.sha256.empty());
    EXPECT_EQ(member.rows, 3196);
    EXPECT_EQ(member.columns, 36);
    return member.reason;
  };
  EXPECT_EQ(reason(FetchPolicy::kNone), "not in the cache");
  EXPECT_NE(reason(FetchPolicy::kIfCheap).find("not found on file://"), std::string::npos);
  {
    const ScopedEnvironment off("RETABLE_OPENML_URL", "off");
    EXPECT_NE(reason(FetchPolicy::kIfCheap).find("switched off"), std::string::npos);
    const auto members = Catalog().Resolve("cc18");
    EXPECT_EQ(members.size(), 72u);
  }
  try {
    Catalog().Load("covertype");
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("retable datasets fetch covertype"),
              std::string::npos);
  }
  const ScopedEnvironment wrong("RETABLE_OPENML_URL", "ftp://x");
  EXPECT_THROW(Catalog().Resolve("covertype"), std::invalid_argument);
}

TEST_F(CacheTest, CommandsSayHowTheyAreUsed) {
  EXPECT_EQ(Run({}), 0);
  EXPECT_TRUE(Said("usage: retable datasets"));
  EXPECT_EQ(Run({"fetch", "--help"}), 0);
  EXPECT_EQ(Run({"fetch"}), 1);
  EXPECT_TRUE(Said("fetch needs a name"));
  EXPECT_EQ(Run({"fecth", "x"}), 1);
  EXPECT_TRUE(Said("did you mean \"fetch\"?"));
  EXPECT_EQ(Run({"fetch", "--refesh", "adult"}), 1);
  EXPECT_TRUE(Said("did you mean \"--refresh\"?"));
  EXPECT_EQ(Run({"fetch", "adlt"}), 1);
  EXPECT_TRUE(Said("did you mean \"adult\""));
  EXPECT_EQ(Run({"fetch", "iris", "houses"}), 0);
  EXPECT_TRUE(Said("iris: embedded, no file to fetch"));
  EXPECT_TRUE(Said("cal_housing: embedded, no file to fetch"));
  EXPECT_EQ(Run({"path"}), 0);
  EXPECT_EQ(out.str(), cache_folder.path().string() + "\n");
  EXPECT_EQ(Run({"path", "covertype"}), 2);
  EXPECT_EQ(Run({"path", "iris"}), 2);  // there is no path to print
  EXPECT_EQ(Run({"verify", "covertype"}), 2);
  EXPECT_EQ(Run({"mirror"}), 1);
  EXPECT_EQ(Run({"list", "iris"}), 1);
  EXPECT_EQ(Run({"list"}), 0);
  EXPECT_TRUE(Said("covertype"));
  EXPECT_EQ(Run({"list", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out.str()).size(), DataRegistry::BuiltIn().entries().size());
  const fs::path file = cache_folder.path() / "file";
  WriteAtomically(file, "no folder");
  const ScopedEnvironment wrong("RETABLE_CACHE", file.string());
  EXPECT_EQ(Run({"fetch", "covertype"}), 2);
  EXPECT_TRUE(Said("RETABLE_CACHE names another folder"));
}

TEST_F(CacheTest, DataIsOfferedOnce) {
  WriteRecorded(mirror.path());
  const auto offer = [&](const std::string& answer) {
    std::istringstream in(answer);
    err.str("");
    return OfferFetch({"openml-61", "openml-2"}, 3, in, err);
  };
  EXPECT_FALSE(offer("n\n"));
  EXPECT_TRUE(Said("fetch 3 MB now? [y/N]"));
  EXPECT_FALSE(offer("y\n"));
  EXPECT_FALSE(Said("now?")) << "asked again";
  fs::remove(cache_folder.path() / "declined");
  EXPECT_TRUE(offer("y\n"));
  EXPECT_TRUE(Said("2 fetched"));
  EXPECT_TRUE(cache.Find(61).has_value());
}

TEST_F(CacheTest, WhatIsAbsentSaysHowItIsFetchedAndHowLargeItIs) {
  const FetchPolicy none = FetchPolicy::kNone;
  const Member covertype = Catalog().Resolve("covtype", none).front();
  EXPECT_EQ(covertype.fetch, "covertype");
  EXPECT_EQ(covertype.megabytes, 75);
  for (const Member& member : Catalog().Resolve("cc18", none)) {
    EXPECT_EQ(member.fetch, member.present ? "" : "cc18") << member.name;
  }
  EXPECT_EQ(Catalog().Resolve("iris", none).front().fetch, "");
}

TEST_F(CacheTest, ADeadNetworkIsToldOnce) {
  const ScopedEnvironment off("RETABLE_OPENML_URL", "off");
  EXPECT_EQ(Run({"fetch", "cc18"}), 2);
  EXPECT_TRUE(Said("72 failed")) << out.str();
  const std::string text = out.str() + err.str();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 6);
}

//! The rows as text, by column name and level name, sorted: equal for equal data in any order.
std::vector<std::string> SortedRows(const Frame& frame) {
  std::vector<const Column*> columns = {&*frame.target};
  for (const Column& column : frame.columns) columns.push_back(&column);
  std::sort(columns.begin() + 1, columns.end(),
            [](const Column* a, const Column* b) { return a->name < b->name; });
  std::vector<std::string> rows(static_cast<std::size_t>(frame.rows));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const Column* column : columns) {
      const float value = column->values[r];
      const bool named = column->kind == ColumnKind::kNominal && !std::isnan(value);
      rows[r] +=
          (named ? column->levels[static_cast<std::size_t>(value)] : std::to_string(value)) + " ";
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

//! The whole mirror, where RETABLE_SHARED names a folder that has one in openml/.
TEST_F(CacheTest, TheMirrorOfRealData) {
  const char* shared = std::getenv("RETABLE_SHARED");
  if (shared == nullptr || !fs::exists(fs::path(shared) / "openml/api")) {
    GTEST_SKIP() << "RETABLE_SHARED does not name a folder with openml/";
  }
  const ScopedEnvironment url("RETABLE_OPENML_URL",
                              "file://" + (fs::path(shared) / "openml").string());
  EXPECT_EQ(Run({"fetch", "cc18", "covertype"}), 2);
  EXPECT_TRUE(Said("35 fetched, 0 in the cache, 38 not found, 0 failed")) << out.str();
  EXPECT_TRUE(Said("covertype: fetched, 20000 x 54, 378 kB, a subset")) << out.str();
  std::int64_t columns = 0, present = 0;
  for (const Member& member : Catalog().Resolve("cc18", FetchPolicy::kNone)) {
    if (!member.present) continue;
    ++present;
    const Frame frame = Catalog().Load(member);
    columns += static_cast<std::int64_t>(frame.columns.size());
    EXPECT_EQ(frame.rows, member.rows);
    EXPECT_EQ(member.complete, member.name != "CIFAR_10") << member.name;
    EXPECT_EQ(static_cast<std::int64_t>(frame.columns.size()), member.columns);
  }
  EXPECT_EQ(present, 34);
  EXPECT_EQ(columns, 6020);

  // What is compiled in is the same data: each row as often, whatever its place.
  for (const auto& [name, id] : {std::pair{"adult", 1590}, std::pair{"cal_housing", 537}}) {
    EXPECT_EQ(Run({"fetch", std::to_string(id)}), 0);
    EXPECT_EQ(SortedRows(Catalog().Load(name)), SortedRows(cache.Load(*cache.Find(id)))) << name;
  }
}

}  // namespace
}  // namespace retable::datasets
