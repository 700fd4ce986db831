#include "datasets/openml/json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/openml/simple_xml.hpp"
#include "datasets/openml/url.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

std::string Recorded(const std::string& name) {
  return Gunzip(
      ReadWhole(fs::path(RETABLE_SOURCE_DIR) / "datasets/fixtures/openml-responses" / name));
}

TEST(OpenMlJson, RecordedDescriptions) {
  const Description iris = ParseDescription(Recorded("id_61/api-v1-jd-61.json.gz"));
  EXPECT_EQ(iris.id, 61);
  EXPECT_EQ(iris.name, "iris");
  EXPECT_EQ(iris.format, "arff");
  EXPECT_EQ(iris.md5, "ad484452702105cbf3d30f8deaba39a9");
  EXPECT_EQ(iris.targets, (std::vector<std::string>{"class"}));
  EXPECT_TRUE(iris.row_ids.empty());
  const Description mice = ParseDescription(Recorded("id_40966/api-v1-jd-40966.json.gz"));
  EXPECT_EQ(mice.row_ids, (std::vector<std::string>{"MouseID"}));
  EXPECT_EQ(mice.ignored, (std::vector<std::string>{"Genotype", "Treatment", "Behavior"}));
  const Description zoo = ParseDescription(Recorded("id_62/api-v1-jd-62.json.gz"));
  EXPECT_EQ(zoo.ignored, (std::vector<std::string>{"animal"}));
  const Description emotions = ParseDescription(Recorded("id_40589/api-v1-jd-40589.json.gz"));
  EXPECT_EQ(emotions.targets.size(), 6u);
  EXPECT_EQ(ParseDescription(Recorded("id_292/api-v1-jd-292.json.gz")).format, "sparse_arff");
}

TEST(OpenMlJson, RecordedFeatures) {
  const auto mice = ParseFeatures(Recorded("id_40966/api-v1-jdf-40966.json.gz"));
  EXPECT_EQ(mice.size(), 82u);
  EXPECT_TRUE(mice[0].is_row_identifier);
  std::size_t ignored = 0, targets = 0;
  for (const Feature& f : mice) {
    ignored += f.is_ignore;
    targets += f.is_target;
  }
  EXPECT_EQ(ignored, 3u);
  EXPECT_EQ(targets, 1u);
}

TEST(OpenMlJson, RecordedErrors) {
  const auto none = ParseApiError(Recorded("id_292/api-v1-jdl-dn-australian-l-2-dv-1.json.gz"));
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->code, 372);
  EXPECT_EQ(none->message, "No results");
  EXPECT_FALSE(ParseApiError(Recorded("id_61/api-v1-jd-61.json.gz")).has_value());
}

TEST(OpenMlJson, EveryRecordedBodyIsReadOrRefusedCleanly) {
  int bodies = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RETABLE_SOURCE_DIR) /
                                                            "datasets/fixtures/openml-responses")) {
    const std::string name = entry.path().filename();
    if (name.find(".json.gz") == name.npos) continue;
    const std::string body = Gunzip(ReadWhole(entry.path()));
    if (name.find("-jd-") != name.npos) {
      EXPECT_FALSE(ParseDescription(body).url.empty()) << name;
    } else if (name.find("-jdf-") != name.npos) {
      EXPECT_FALSE(ParseFeatures(body).empty()) << name;
    } else {
      EXPECT_THROW(ParseDescription(body), ShapeError) << name;
      EXPECT_THROW(ParseFeatures(body), ShapeError) << name;
    }
    ++bodies;
  }
  EXPECT_GT(bodies, 40);
}

TEST(OpenMlJson, ShapesOfV1AndV2AreTheSame) {
  const Description v1 = ParseDescription(
      R"({"data_set_description":{"id":"7","name":"n","ignore_attribute":"a","md5_checksum":"AB",
          "description":[],"creator":[],"default_target_attribute":"x,y"}})");
  const Description v2 = ParseDescription(
      R"({"id":7,"name":"n","ignore_attribute":["a"],"md5_checksum":"ab","description":null,
          "default_target_attribute":["x","y"],"row_id_attribute":null})");
  EXPECT_EQ(v1.ignored, v2.ignored);
  EXPECT_EQ(v1.md5, v2.md5);
  EXPECT_EQ(v1.targets, v2.targets);
  // A list of one collapses to the thing itself in v1.
  const auto one =
      ParseFeatures(R"({"data_features":{"feature":{"index":"0","name":"a","is_target":"true"}}})");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].is_target);
  const auto detail = ParseApiError(R"({"detail":{"code":"111","message":"none"}})");
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->code, 111);
}

TEST(OpenMlJson, NonsenseIsRefused) {
  for (const char* body :
       {"", " ", "{}", "[]", "1", "\"a\"", "null", "<a>", "<html></html>", "<!DOCTYPE html><p>",
        "{\"data_features\":{\"feature\":[{}]}}", "\xEF\xBB\xBF", "{\"a\":\xff}"}) {
    EXPECT_THROW(ParseDescription(body), ShapeError) << body;
    EXPECT_THROW(ParseFeatures(body), ShapeError) << body;
  }
}

TEST(SimpleXml, TheSameTreeAsTheJson) {
  const std::string xml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- recorded -->
<oml:data_set_description xmlns:oml="http://openml.org/openml">
  <oml:id>2</oml:id><oml:name>an &amp; eal</oml:name><oml:format>ARFF</oml:format>
  <oml:tag>a</oml:tag><oml:tag>b</oml:tag><oml:licence/>
  <oml:description><![CDATA[x < y]]> &#65;&#x42; R&D</oml:description>
  <oml:ignore_attribute>q</oml:ignore_attribute>
</oml:data_set_description>)";
  const Description d = ParseDescription(xml);
  EXPECT_EQ(d.id, 2);
  EXPECT_EQ(d.name, "an & eal");
  EXPECT_EQ(d.ignored, (std::vector<std::string>{"q"}));
  const auto tree = XmlToJson(xml)["data_set_description"];
  EXPECT_EQ(tree["tag"].size(), 2u);
  EXPECT_EQ(tree["description"], "x < y AB R&D");
  for (const char* bad : {"<a>", "<a", "", "<a><b></a>x", "</a>", "<!--", "<a>&#xZZ;</a>", "< >"}) {
    EXPECT_THROW(XmlToJson(bad), std::runtime_error) << bad;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_THROW(XmlToJson(deep), std::runtime_error);
}

TEST(SimpleXml, DescriptionsFoundInTheWild) {
  const char* shared = std::getenv("RETABLE_SHARED");
  if (shared == nullptr || !fs::exists(fs::path(shared) / "fixtures/openml-xml")) {
    GTEST_SKIP() << "RETABLE_SHARED does not name a folder with fixtures/openml-xml";
  }
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(shared) / "fixtures/openml-xml")) {
    const std::string body = ReadWhole(entry.path());
    const std::string name = entry.path().filename();
    if (name.find("description") != name.npos) {
      EXPECT_FALSE(ParseDescription(body).md5.empty()) << name;
    } else if (name.find("features") != name.npos) {
      EXPECT_GT(ParseFeatures(body).size(), 4u) << name;
    }
    ++files;
  }
  EXPECT_GT(files, 10);
}

TEST(ShownUrl, LeavesOutWhatMayBeASecret) {
  for (const auto& [url, shown] :
       {std::pair<std::string, std::string>{"https://h:8/a/b", "https://h:8/a/b"},
        {"https://u:p@h/a?api_key=k#t", "https://h/a"},
        {"https://u:p@w?#@h", "https://h"},
        {"u:p@h/a", "h/a"},
        {"u:p@h#://x", "h"},
        {"u@h://p@h", "h://h"},
        {"https://h/a@b", "https://h/a@b"},
        {"file:///m", "file:///m"},
        {"off", "off"},
        {"", ""}}) {
    EXPECT_EQ(ShownUrl(url), shown);
  }
}

TEST(SafePath, KeepsPathsInside) {
  EXPECT_EQ(SafePath("https://api.openml.org/data/v1/download/61/iris.arff"),
            "data/v1/download/61/iris.arff");
  EXPECT_EQ(SafePath("http://h/a?b=/../c#d"), "a");
  for (const char* bad : {"https://h", "https://h/", "https://h/../a", "https://h/a/..",
                          "https://h//a", "https://h/a\\b", "https://h/a\nb", "nothing", ""}) {
    EXPECT_EQ(SafePath(bad), "") << bad;
  }
}

}  // namespace
}  // namespace retable::datasets
