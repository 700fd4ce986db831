#include "harness/machine/environment.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.hpp"
#include "harness/machine/build_info.hpp"

namespace retable::harness {
namespace {

TEST(Environment, HasEveryPart) {
  const auto environment = CaptureEnvironment();
  for (const char* part : {"schema", "captured", "cpu", "memory", "os", "load", "compiler",
                           "libraries", "git", "cuda", "variables", "gpu"}) {
    EXPECT_TRUE(environment.contains(part)) << part;
  }
  EXPECT_GE(environment["cpu"]["threads_allowed"].get<int>(), 1);
  EXPECT_GT(environment["memory"]["total_bytes"].get<std::int64_t>(), 0);
  EXPECT_TRUE(environment["gpu"].is_null() || environment["gpu"].is_array());
  if (environment["gpu"].is_null()) {
    EXPECT_FALSE(environment["cuda"]["why_no_device"].get<std::string>().empty());
  }
  EXPECT_EQ(environment["captured"].get<std::string>().size(), 20u);
}

TEST(Environment, BuildIsKnown) {
  const BuildInfo build = GetBuildInfo();
  EXPECT_FALSE(build.compiler.empty());
  EXPECT_EQ(build.standard, "C++20");
  EXPECT_NE(build.flags.find("-ffp-contract=off"), std::string::npos);
  EXPECT_FALSE(build.build_type.empty());
  EXPECT_EQ(build.libraries.size(), 11u);
  for (const auto& [name, version] : build.libraries) {
    EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << name << version;
    EXPECT_NE(version.find('.'), std::string::npos) << name << ' ' << version;
  }
}

TEST(Environment, SourceStateIsAWholeCommitOrUnknown) {
  const SourceState state = ReadSourceState();
  EXPECT_EQ(state.commit.size(), state.commit.empty() ? 0u : 40u);
}

TEST(Environment, SourcesAreThoseThatExperimentsAreReadFrom) {
  const TemporaryFolder folder;
  setenv("RETABLE_ROOT", folder.path().c_str(), 1);
  EXPECT_EQ(ReadSourceState().commit, "");  // no clone, whatever the one it was built from is now
  EXPECT_EQ(CaptureEnvironment()["git"]["when"], "built");
  // A new file changes the sources, since they are globbed; notes beside them do not.
  const std::string git =
      "git -C '" + folder.path().string() + "' -c user.name=a -c user.email=a@b ";
  ASSERT_EQ(std::system((git + "init -q && " + git + "commit -q --allow-empty -m first").c_str()),
            0);
  std::ofstream(folder.path() / "notes.txt") << "not a source";
  EXPECT_FALSE(ReadSourceState().dirty);
  std::filesystem::create_directories(folder.path() / "baselines/shuffle");
  std::ofstream(folder.path() / "baselines/shuffle/mine.cpp") << "// new";
  EXPECT_EQ(ReadSourceState().commit.size(), 40u);
  EXPECT_TRUE(ReadSourceState().dirty);
  unsetenv("RETABLE_ROOT");
}

TEST(Environment, OnlyListedVariablesAreKept) {
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("RETABLE_TEST_SECRET", "x", 1);
  const auto variables = CaptureEnvironment()["variables"];
  EXPECT_EQ(variables["OMP_NUM_THREADS"], "3");
  EXPECT_FALSE(variables.contains("RETABLE_TEST_SECRET"));
  unsetenv("OMP_NUM_THREADS");
  unsetenv("RETABLE_TEST_SECRET");
}

TEST(Environment, DoesNotDifferFromItself) {
  EXPECT_TRUE(EnvironmentDifferences(CaptureEnvironment(), CaptureEnvironment()).empty());
}

TEST(Environment, DifferencesAreNamed) {
  using nlohmann::json;
  const json a{{"captured", "now"},
               {"cpu", {{"model", "A"}, {"isa", {"avx2"}}}},
               {"gpu", {{{"name", "G"}, {"now", {{"sm_mhz", 1}}}}}}};
  const json b{{"captured", "then"},
               {"cpu", {{"model", "B"}, {"isa", {"avx2"}}}},
               {"gpu", {{{"name", "G"}, {"now", {{"sm_mhz", 2}}}, {"driver", "580"}}}}};
  EXPECT_EQ(EnvironmentDifferences(a, b),
            (std::vector<std::string>{"cpu.model: A | B", "gpu.0.driver: (not told) | 580"}));
}

TEST(Environment, OthersAreDescribedAndAreOfTheMoment) {
  auto quiet = CaptureEnvironment(), busy = quiet;
  Activity activity;
  activity.seconds = 1;
  activity.processors = 2;
  AddActivity(quiet, activity);
  EXPECT_TRUE(quiet["busy"].empty());
  activity.others = 1.5;
  activity.busiest = "secret";
  AddActivity(busy, activity);
  EXPECT_EQ(busy["busy"][0], "other processes took 1.5 of 2 processors");
  EXPECT_EQ(busy["activity"]["others_processors"], 1.5);
  EXPECT_EQ(busy.dump().find("secret"), std::string::npos);
  EXPECT_TRUE(EnvironmentDifferences(quiet, busy).empty());
}

}  // namespace
}  // namespace retable::harness
