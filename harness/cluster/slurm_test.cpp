#include "harness/cluster/slurm.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

SlurmRun ExampleRun() {
  return {"/opt/retable",
          {"--profile=paper", "--set=datasets=[\"iris\"]", "quantiles/*"},
          "/data/out",
          " --partition=gpu --array=0-3%2",
          false};
}

TEST(Slurm, TheArrayRunsTheTypedWordsAsShards) {
  EXPECT_EQ(MakeSlurmCommands(ExampleRun()).array,
            "sbatch --parsable --job-name=retable --requeue --array=0-3%2 "
            "--output=/data/out/slurm/%A-%a.log --partition=gpu "
            "--wrap='exec /opt/retable run --profile=paper '\\''--set=datasets=[\"iris\"]'\\'' "
            "'\\''quantiles/*'\\'' --shard=auto'");
}

TEST(Slurm, TheLastJobMeasuresWhatIsLeftAndNothingTwice) {
  SlurmRun run = ExampleRun();
  run.words.insert(run.words.end(),
                   {"--force=true", "--only=failed", "--budget=1h", "--report=true"});
  const SlurmCommands commands = MakeSlurmCommands(run);
  EXPECT_NE(commands.array.find("--force=true --only=failed --budget=1h --shard=auto"),
            std::string::npos)
      << commands.array;
  EXPECT_EQ(commands.array.find("--report"), std::string::npos) << commands.array;
  for (const char* word : {"--force", "--only", "--budget=1h", "--array"}) {
    EXPECT_EQ(commands.collect.find(word), std::string::npos) << commands.collect;
  }
  for (const char* part : {"--report=true --budget=1s >/data/out/slurm/$SLURM_JOB_ID.txt; "
                           "echo $? >/data/out/slurm/$SLURM_JOB_ID.status",
                           "--partition=gpu"}) {
    EXPECT_NE(commands.collect.find(part), std::string::npos) << commands.collect;
  }
  EXPECT_TRUE(commands.collect.ends_with(" --dependency=afterany:")) << commands.collect;
}

TEST(Slurm, TheArrayIsOfTheTasksAloneHoweverItIsWritten) {
  SlurmRun run = ExampleRun();
  for (const char* words : {"--array=1-4", "--array 1-4", "-a 1-4", "-a1-4"}) {
    run.options = std::string(" ") + words + " --partition=gpu";
    const SlurmCommands commands = MakeSlurmCommands(run);
    EXPECT_NE(commands.array.find(" --array=1-4 "), std::string::npos) << commands.array;
    EXPECT_EQ(commands.collect.find("1-4"), std::string::npos) << commands.collect;
    EXPECT_NE(commands.collect.find(" --partition=gpu "), std::string::npos) << commands.collect;
  }
}

TEST(Slurm, AnOptionInQuotesStaysOneWord) {
  SlurmRun run = ExampleRun();
  run.options = " --comment=\"two words\"";
  EXPECT_NE(MakeSlurmCommands(run).array.find(" '--comment=two words' "), std::string::npos)
      << MakeSlurmCommands(run).array;
}

TEST(Slurm, EightTasksUnlessSaidOtherwise) {
  SlurmRun run = ExampleRun();
  run.options = "";
  EXPECT_NE(MakeSlurmCommands(run).array.find(" --array=1-8 "), std::string::npos);
}

TEST(Slurm, ATaskIsAsFarAsItsLastStatusLineSays) {
  const TaskProgress progress = ProgressOfLog(
      "1 experiment, profile smoke\n[1/20, 3 s left] a on b: ok in 0.01 s\n"
      "[2/20, 1 failed, 2 s left] c on d: failed\n[refined] a: ok in all\nwords\n");
  EXPECT_EQ(progress.done, 2);
  EXPECT_EQ(progress.total, 20);
  EXPECT_EQ(ProgressOfLog("").total, 0);
  EXPECT_EQ(ProgressOfLog("[1/x").total, 0);
}

}  // namespace
}  // namespace retable::harness
