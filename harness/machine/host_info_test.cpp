#include "harness/machine/host_info.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"

namespace retable::harness {
namespace {

TEST(Machine, CpuInfoOfTwoSocketsWithTwoThreadsACore) {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += "processor\t: " + std::to_string(i) + "\nvendor_id\t: GenuineIntel\n" +
            "model name\t: Example CPU @ 2.10GHz\nphysical id\t: " + std::to_string(i / 4) +
            "\ncore id\t\t: " + std::to_string(i % 4 / 2) +
            "\nflags\t\t: fpu sse4_2 avx2 avx512f sha_ni unheard_of\n\n";
  }
  const CpuFacts facts = ParseCpuInfo(text);
  EXPECT_EQ(facts.model, "Example CPU @ 2.10GHz");
  EXPECT_EQ(facts.vendor, "GenuineIntel");
  EXPECT_EQ(facts.sockets, 2);
  EXPECT_EQ(facts.cores, 4);
  EXPECT_EQ(facts.threads, 8);
  EXPECT_EQ(facts.isa, (std::vector<std::string>{"sse4_2", "avx2", "avx512f", "sha_ni"}));
}

TEST(Machine, CpuInfoOfArm) {
  const CpuFacts facts =
      ParseCpuInfo("processor : 0\nFeatures : fp asimd sve\nprocessor : 1\nFeatures : fp asimd\n");
  EXPECT_EQ(facts.threads, 2);
  EXPECT_EQ(facts.cores, 0);  // not told
  EXPECT_EQ(facts.isa, (std::vector<std::string>{"asimd", "sve"}));
}

TEST(Machine, NothingToRead) {
  EXPECT_EQ(ParseCpuInfo("").threads, 0);
  EXPECT_EQ(ParseCpuInfo("no colon here").threads, 0);
  EXPECT_EQ(ParseMemInfo("", "MemTotal"), 0);
  EXPECT_EQ(ParseOsRelease("", "PRETTY_NAME"), "");
  EXPECT_EQ(ReadOrEmpty("/nowhere/at/all"), "");
}

TEST(Machine, SmallParsers) {
  EXPECT_EQ(ParseMemInfo("MemTotal:       16384 kB\nMemFree: 1 kB\n", "MemTotal"), 16384 * 1024);
  EXPECT_EQ(ParseMemInfo("MemTotal: 16384 kB", "MemFree"), 0);
  EXPECT_EQ(ParseOsRelease("ID=debian\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME"), "Debian 12");
  EXPECT_EQ(ParseSize("48K"), 48 * 1024);
  EXPECT_EQ(ParseSize("260M"), 260 * 1024 * 1024);
  EXPECT_EQ(ParseSize("17"), 17);
  EXPECT_EQ(ParseSize(""), 0);
  EXPECT_EQ(ParseSize("K"), 0);
}

TEST(Machine, ThisMachine) {
  const HostInfo facts = ReadHostInfo();
  EXPECT_GT(facts.cpu.threads, 0);
  EXPECT_GE(facts.allowed, 1);
  EXPECT_LE(facts.allowed, facts.cpu.threads);
  EXPECT_GT(facts.memory_bytes, 64 << 20);
  EXPECT_LE(facts.available_bytes, facts.memory_bytes);
  EXPECT_NE(facts.kernel.find("Linux"), std::string::npos);
  EXPECT_GE(facts.load[0], 0);
}

}  // namespace
}  // namespace retable::harness
