#include "harness/report/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace retable::harness {
namespace {

ArtifactCell Cell(const std::string& label, std::vector<Metric> metrics,
                  const std::string& status = "ok") {
  ArtifactCell cell;
  cell.config.label = cell.config.algorithm = label;
  cell.config.device = "cpu";
  cell.config.dataset = "iris";
  cell.config.axes["n"] = std::int64_t{1000};
  cell.key = label;
  cell.record.emplace();
  cell.record->outcome.status = status;
  cell.record->outcome.metrics = std::move(metrics);
  return cell;
}

Metric Time(double level, const std::string& unit = "s") {
  Metric metric;
  metric.name = "time";
  metric.unit = unit;
  for (int i = 0; i < 12; ++i) metric.samples.push_back(level * (1 + 0.001 * (i % 3)));
  return metric;
}

Metric Value(double value) {
  Metric metric;
  metric.name = "error";
  metric.unit = "1";
  metric.samples = {value};
  return metric;
}

std::vector<Artifact> Folder(std::vector<ArtifactCell> cells) {
  Artifact artifact;
  artifact.id = "x/y";
  artifact.cells = std::move(cells);
  return {artifact};
}

TEST(Compare, TimesAndRatesAreJudged) {
  const auto a =
      Folder({Cell("p", {Time(1)}), Cell("q", {Time(1)}), Cell("r", {Time(100, "items/s")})});
  const auto b =
      Folder({Cell("p", {Time(1.2)}), Cell("q", {Time(1)}), Cell("r", {Time(200, "items/s")})});
  const Comparison comparison = CompareArtifacts(a, b);
  ASSERT_EQ(comparison.timed.size(), 3u);
  EXPECT_EQ(comparison.timed[0].significance, Significance::kSlower);
  EXPECT_NEAR(comparison.timed[0].ratio.estimate, 1.2, 1e-9);
  EXPECT_EQ(comparison.timed[1].significance, Significance::kSame);
  EXPECT_EQ(comparison.timed[2].significance, Significance::kFaster);  // twice the rate
  EXPECT_NEAR(comparison.timed[2].ratio.estimate, 0.5, 1e-9);
}

// A rate beside a time is that time again, and other times are parts of it.
TEST(Compare, ACellIsCountedOnceByItsTime) {
  Metric rate = Time(100, "items/s"), half_rate = Time(50, "items/s");
  rate.name = half_rate.name = "rate";
  Metric part = Time(0.1), slow_part = Time(0.3);
  part.name = slow_part.name = "prepare";
  const Comparison comparison =
      CompareArtifacts(Folder({Cell("p", {Time(1), rate, part})}),
                       Folder({Cell("p", {Time(2), half_rate, slow_part})}));
  ASSERT_EQ(comparison.timed.size(), 2u);
  EXPECT_EQ(comparison.timed[0].metric, "time");
  EXPECT_FALSE(comparison.timed[0].part);
  EXPECT_TRUE(comparison.timed[1].part);
  std::ostringstream out;
  PrintComparison(comparison, out);
  EXPECT_NE(out.str().find(" 0 faster, 1 slower, 0 same"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("prepare: 0.1001 -> 0.3003 s (a part, not counted)"), std::string::npos)
      << out.str();
  EXPECT_EQ(ExitOf(comparison, true), 5);
  // A part alone fails nothing.
  const Comparison parts = CompareArtifacts(Folder({Cell("p", {Time(1), part})}),
                                            Folder({Cell("p", {Time(1), slow_part})}));
  EXPECT_EQ(parts.timed[1].significance, Significance::kSlower);
  EXPECT_EQ(ExitOf(parts, true), 0);
}

TEST(Compare, ACellThatSaysItWasDisturbedIsNeitherFasterNorSlower) {
  auto b = Folder({Cell("p", {Time(1.5)}), Cell("q", {Time(1)})});
  for (ArtifactCell& cell : b[0].cells) cell.record->outcome.facts["steady"] = false;
  const Comparison comparison =
      CompareArtifacts(Folder({Cell("p", {Time(1)}), Cell("q", {Time(1)})}), b);
  EXPECT_EQ(comparison.timed[0].significance, Significance::kNotSteady);
  EXPECT_EQ(comparison.timed[1].significance, Significance::kSame);
  EXPECT_EQ(ExitOf(comparison, true), 0);
}

TEST(Compare, OtherMetricsOnlyChange) {
  const auto a =
      Folder({Cell("p", {Value(0.1)}), Cell("q", {Value(0.2)}), Cell("r", {Value(NAN)})});
  const auto b =
      Folder({Cell("p", {Value(0.3)}), Cell("q", {Value(0.2)}), Cell("r", {Value(NAN)})});
  const Comparison comparison = CompareArtifacts(a, b);
  EXPECT_TRUE(comparison.timed.empty());
  ASSERT_EQ(comparison.changed.size(), 1u);
  EXPECT_NE(comparison.changed[0].find("0.1 -> 0.3"), std::string::npos);
  EXPECT_EQ(comparison.unchanged, 2);
  // Where the median stays, the mean tells; not a number is one too.
  Metric before = Value(1), after = Value(1);
  before.samples = {1, 2, 3}, after.samples = {1, 2, 9};
  EXPECT_NE(CompareArtifacts(Folder({Cell("p", {before})}), Folder({Cell("p", {after})}))
                .changed.at(0)
                .find(", mean: 2 -> 4"),
            std::string::npos);
  after.samples = {NAN, 2, NAN};
  EXPECT_EQ(
      CompareArtifacts(Folder({Cell("p", {before})}), Folder({Cell("p", {after})})).changed.size(),
      1u);
}

TEST(Compare, CellsArePairedByWhatTheyAreNotByKey) {
  auto a = Folder({Cell("p", {Time(1)})}), b = Folder({Cell("p", {Time(1)})});
  b[0].cells[0].key = "another";
  EXPECT_EQ(CompareArtifacts(a, b).timed.size(), 1u);
  b[0].cells[0].config.axes["n"] = std::int64_t{2000};
  const Comparison apart = CompareArtifacts(a, b);
  EXPECT_TRUE(apart.timed.empty());
  EXPECT_EQ(apart.only_old, 1);
  EXPECT_EQ(apart.only_new, 1);
}

// The more cells are judged, the further off a difference has to be.
TEST(Compare, CellsThatAreNotTimedLeaveTheRuleAsItIs) {
  Noise noise;
  noise.pairs = 60;
  for (int i = 0; i < 60; ++i) noise.seen.push_back({1, 0.05, 0.05});
  std::vector<ArtifactCell> before = {Cell("p", {Time(1)})}, after = {Cell("p", {Time(1.09)})};
  EXPECT_EQ(CompareArtifacts(Folder(before), Folder(after), noise).timed[0].significance,
            Significance::kSlower);
  for (int i = 0; i < 400; ++i) {
    before.push_back(Cell("q" + std::to_string(i), {Value(1)}));
    after.push_back(before.back());
  }
  EXPECT_EQ(CompareArtifacts(Folder(before), Folder(after), noise).timed[0].significance,
            Significance::kSlower);
}

TEST(Compare, CellsThatWereMadeToDoSomethingElseAreCountedAndNotCompared) {
  auto a = Folder({Cell("p", {Time(1)}), Cell("q", {Time(1)}), Cell("r", {Time(1)})});
  auto b = Folder({Cell("p", {Time(2)}), Cell("q", {Time(2)}), Cell("r", {Time(2)})});
  for (ArtifactCell& cell : a[0].cells) cell.config.settings["rows"] = std::int64_t{10};
  b[0].cells[0].config.settings["rows"] = std::int64_t{20};
  b[0].cells[1].config.seed = 2;
  b[0].cells[1].config.dataset_sha256 = "another";
  b[0].cells[2].config.repeats = 9;  // more samples of the same
  const Comparison comparison = CompareArtifacts(a, b);
  ASSERT_EQ(comparison.timed.size(), 1u);
  EXPECT_NE(comparison.timed[0].cell.find("r ["), std::string::npos);
  EXPECT_EQ(comparison.unlike, 2);
  EXPECT_EQ(comparison.unlike_in, (std::set<std::string>{"data", "seed", "settings.rows"}));
}

TEST(Compare, ACellThatIsNoLongerOkIsNamed) {
  const Comparison comparison =
      CompareArtifacts(Folder({Cell("p", {Time(1)})}), Folder({Cell("p", {}, "crash")}));
  ASSERT_EQ(comparison.worsened.size(), 1u);
  EXPECT_NE(comparison.worsened[0].find("was ok, is crash"), std::string::npos);
}

TEST(Compare, UnmeasuredCellsAreLeftOut) {
  auto a = Folder({Cell("p", {Time(1)})});
  a[0].cells[0].record.reset();
  const Comparison comparison = CompareArtifacts(a, Folder({Cell("p", {Time(1)})}));
  EXPECT_EQ(comparison.only_new, 1);
  EXPECT_TRUE(comparison.timed.empty());
}

TEST(Compare, AFolderWithoutResultsIsAnError) {
  std::ostringstream out;
  EXPECT_THROW(Compare("/nowhere/a", "/nowhere/b", false, {}, out), StoreError);
}

}  // namespace
}  // namespace retable::harness
