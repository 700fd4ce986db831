#include "datasets/registry/embedded.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/atomic_file.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/frame/encode.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/registry/catalog.hpp"
#include "datasets/registry/registry_file.hpp"

namespace retable::datasets {
namespace {

TEST(Embedded, ShapesAreThoseOfTheRegistry) {
  std::size_t columns = 0;
  for (const std::string& name : EmbeddedNames()) {
    const Frame frame = LoadEmbedded(name);
    const RegistryEntry* entry = DataRegistry::BuiltIn().Find(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(frame.rows, entry->rows) << name;
    EXPECT_EQ(static_cast<std::int64_t>(frame.columns.size()), entry->attributes - 1) << name;
    ASSERT_TRUE(frame.target.has_value()) << name;
    columns += frame.columns.size();
    for (const Column& column : frame.columns) EXPECT_EQ(column.missing, 0) << name;
  }
  EXPECT_EQ(columns, 121u);
}

TEST(Embedded, KnownValues) {
  const Frame iris = LoadEmbedded("iris");
  EXPECT_EQ(iris.columns[0].values[0], 5.1f);
  EXPECT_EQ(iris.target->values[149], 2.0f);
  EXPECT_EQ(iris.target->levels[1], "versicolor");
  const Frame digits = LoadEmbedded("digits");
  EXPECT_EQ(digits.columns[2].codes8[0], 5);
  EXPECT_EQ(digits.columns[63].codes8.size(), 1797u);
  EXPECT_EQ(digits.target->codes8[2], 2);
  const Frame diabetes = LoadEmbedded("diabetes");
  EXPECT_EQ(diabetes.columns[2].values[0], 32.1f);
  EXPECT_EQ(diabetes.target->values[1], 75.0f);
  const Frame wine = LoadEmbedded("wine");
  EXPECT_EQ(wine.columns[12].values[0], 1065.0f);
  const Frame cancer = LoadEmbedded("breast_cancer");
  EXPECT_EQ(cancer.columns[29].name, "worst fractal dimension");
  EXPECT_EQ(cancer.columns[29].values[0], 0.1189f);
  EXPECT_THROW(LoadEmbedded("irs"), std::invalid_argument);
}

//! OpenML's own header and first rows of adult are among the recorded answers.
TEST(Embedded, AdultIsThatOfOpenMl) {
  const std::string head =
      Gunzip(ReadWhole(std::string(RETABLE_SOURCE_DIR) +
                       "/datasets/fixtures/openml-responses/id_1590/data-v1-dl-1595261.arff.gz"));
  const Frame first = ParseArff(head);
  const Frame adult = Catalog().Load("adult");
  EXPECT_EQ(adult.rows, 48842);
  ASSERT_EQ(first.columns.size(), adult.columns.size() + 1);
  ASSERT_GE(first.rows, 10);
  for (std::size_t c = 0; c < first.columns.size(); ++c) {
    const Column& theirs = first.columns[c];
    const Column& ours = c < adult.columns.size() ? adult.columns[c] : *adult.target;
    EXPECT_EQ(ours.name, theirs.name);
    EXPECT_EQ(ours.levels, theirs.levels) << theirs.name;
    for (std::size_t r = 0; r < static_cast<std::size_t>(first.rows); ++r) {
      const float value = theirs.values[r];
      EXPECT_TRUE(ours.values[r] == value || (std::isnan(ours.values[r]) && std::isnan(value)))
          << theirs.name << " of row " << r;
    }
  }
}

//! The thesis's table gives Adult 107 columns; the registry's note says how they come about.
TEST(Embedded, AdultHas107OneHotColumns) {
  const Frame adult = Catalog().Load("adult_census");
  std::size_t levels = 0, numeric = 0, with_missing = 0;
  for (const Column& column : adult.columns) {
    levels += column.levels.size();
    numeric += column.kind == ColumnKind::kNumeric;
    with_missing += column.kind == ColumnKind::kNominal && column.missing > 0;
  }
  EXPECT_EQ(numeric, 6u);
  EXPECT_EQ(levels, 99u);
  EXPECT_EQ(with_missing, 3u);
  EXPECT_EQ(numeric + levels + adult.target->levels.size(), 107u);
  EXPECT_EQ(OneHot(adult).columns.size(), 107u);
  EXPECT_EQ(adult.Find("sex")->levels.size(), 2u);
}

TEST(Embedded, CaliforniaHousingIsInTotals) {
  const Frame housing = Catalog().Load("houses");
  EXPECT_EQ(housing.rows, 20640);
  ASSERT_EQ(housing.columns.size(), 8u);
  double rooms = 0, households = 0, value = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(housing.rows); ++r) {
    rooms += housing.Find("total_rooms")->At(r);
    households += housing.Find("households")->At(r);
    value += housing.target->At(r);
  }
  EXPECT_EQ(rooms, 54402150);
  EXPECT_EQ(households, 10310499);
  EXPECT_EQ(value, 4269504061);
}

TEST(DataRegistry, HasEverySetOfTheWorksAndAllOfTheSuite) {
  const DataRegistry& registry = DataRegistry::BuiltIn();
  const Suite* suite = registry.FindSuite("cc18");
  ASSERT_NE(suite, nullptr);
  EXPECT_EQ(suite, registry.FindSuite("OpenML-CC18"));
  EXPECT_EQ(suite->members.size(), 72u);
  std::int64_t attributes = 0;
  for (const int id : suite->members) {
    const RegistryEntry* entry = registry.FindOpenMl(id);
    ASSERT_NE(entry, nullptr) << id;
    attributes += entry->attributes;
  }
  EXPECT_EQ(attributes, 14156);
  for (const char* name : {"iris", "mnist_784", "Fashion-MNIST", "fashion_mnist", "covertype",
                           "houses", "cal_housing", "adult", "breast-w", "breast cancer",
                           "bank-marketing", "bank", "year", "make_regression"}) {
    EXPECT_NE(registry.Find(name), nullptr) << name;
  }
  EXPECT_NE(registry.Find("breast cancer")->note.find("699"), std::string::npos);
  for (const RegistryEntry& entry : registry.entries()) {
    EXPECT_FALSE(entry.licence.empty()) << entry.name;
    EXPECT_FALSE(entry.citation.empty()) << entry.name;
    EXPECT_FALSE(entry.works.empty()) << entry.name;
    EXPECT_GT(entry.rows, 0) << entry.name;
  }
}

TEST(DataRegistry, ErrorsNameThePlace) {
  const auto message = [](const std::string& text) {
    try {
      DataRegistry::Parse(text, "r.toml");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("version = 1\n[[dataset]]\nname = \"a\"\nembedded = true\nrowz = 3\n")
                .find("r.toml:5:1: unknown key \"rowz\""),
            std::string::npos);
  EXPECT_NE(message("version = 1\n[[dataset]]\nname = 4\n").find("r.toml:3:"), std::string::npos);
  EXPECT_NE(message("version = ").find("r.toml:1:"), std::string::npos);
  EXPECT_NE(message("version = 2").find("version"), std::string::npos);
  EXPECT_NE(message("version = 1\n[[dataset]]\nname = \"a\"\n").find("needs a name"),
            std::string::npos);
  EXPECT_NE(message("version = 1\n[[dataset]]\nname = \"a\"\nopenml = 1\n[[dataset]]\nname = "
                    "\"A\"\nopenml = 2\n")
                .find("given twice"),
            std::string::npos);
}

TEST(Catalog, ResolvesWhatNeedsNoNetwork) {
  const Catalog catalog;
  const FetchPolicy none = FetchPolicy::kNone;
  const auto embedded = catalog.Resolve("embedded", none);
  ASSERT_EQ(embedded.size(), 5u);
  for (const Member& member : embedded) {
    EXPECT_TRUE(member.present);
    const Frame frame = catalog.Load(member);
    EXPECT_EQ(frame.sha256, member.sha256);
    EXPECT_EQ(frame.rows, member.rows);
    EXPECT_EQ(static_cast<std::int64_t>(frame.columns.size()), member.columns);
  }
  const Member normal = catalog.Resolve("normal(1000,1)", none).front();
  EXPECT_EQ(normal.name, "synthetic normal(1000,1)");
  EXPECT_TRUE(normal.synthetic);
  EXPECT_EQ(catalog.Resolve(normal.name, none).front().sha256, normal.sha256);
  LoadOptions options;
  options.rows = 50;
  options.seed = 3;
  EXPECT_EQ(catalog.Load(normal, options).rows, 50);
  options.rows = -50;
  EXPECT_THROW(catalog.Load(normal, options), std::invalid_argument);
  EXPECT_THROW(catalog.Load(catalog.Resolve("make_regression", none).front(), options),
               std::invalid_argument);
  EXPECT_EQ(catalog.Load("make_regression").rows, 1000);
  EXPECT_EQ(catalog.Resolve("make_regression", none).front().name,
            "synthetic make_regression(n_samples=1000,noise=0.1)");
}

TEST(Catalog, UnknownNamesComeWithTheNearest) {
  try {
    Catalog().Resolve("mnist_783");
    FAIL() << "no error";
  } catch (const UnknownDataset& error) {
    EXPECT_EQ(error.name, "mnist_783");
    EXPECT_STREQ(error.what(), "unknown data set \"mnist_783\" (did you mean \"mnist_784\"?)");
    EXPECT_GT(error.candidates.size(), 80u);
  }
  EXPECT_EQ(Catalog().Resolve("openml-1590", FetchPolicy::kNone).front().origin, "embedded");
  EXPECT_THROW(Catalog().Resolve("openml-0"), UnknownDataset);
  EXPECT_THROW(Catalog().Resolve(""), UnknownDataset);
  EXPECT_THROW(Catalog().Resolve("normal(1,2,3)"), std::invalid_argument);
}

}  // namespace
}  // namespace retable::datasets
