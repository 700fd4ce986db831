#include "harness/machine/doctor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace retable::harness {
namespace {

struct Healthy {
  HostInfo machine;
  Activity activity;
  BuildInfo build;
  CudaPlatform cuda;
  std::vector<Program> programs = {{"git", true, "x", "y"}};
  Healthy() {
    machine.allowed = 8;
    machine.governor = "performance";
    machine.available_bytes = std::int64_t{16} << 30;
    build.build_type = "Release";
    cuda.driver_version = cuda.runtime_version = 13000;
    cuda.devices.emplace_back();
  }
  std::vector<Finding> Findings() const {
    return Diagnose(machine, activity, build, cuda, programs);
  }
  // The only finding.
  std::string Only() const {
    const auto findings = Findings();
    return findings.size() == 1 ? findings[0].what : std::to_string(findings.size()) + " findings";
  }
};

TEST(Doctor, AHealthyMachineHasNoFindings) {
  EXPECT_TRUE(Healthy().Findings().empty());
}

TEST(Doctor, NoGpuComesWithItsRemedy) {
  Healthy h;
  h.cuda.devices.clear();
  h.cuda.why = "no NVIDIA driver is loaded";
  h.cuda.remedy = "install one";
  EXPECT_EQ(h.Only(), "GPU rows are NOT-RUN: no NVIDIA driver is loaded");
  EXPECT_EQ(h.Findings()[0].remedy, "install one");
}

TEST(Doctor, CardsOfTwoKindsAreNamed) {
  Healthy h;
  h.cuda.devices.resize(8);
  for (int i = 0; i < 8; ++i) {
    h.cuda.devices[static_cast<std::size_t>(i)] = {.index = i, .name = i < 6 ? "A" : "B"};
  }
  EXPECT_NE(h.Only().find("cards of several kinds"), std::string::npos) << h.Only();
  EXPECT_NE(h.Findings()[0].remedy.find("6 for B"), std::string::npos) << h.Findings()[0].remedy;
}

TEST(Doctor, WhatMakesTimesUnsure) {
  Healthy busy;
  busy.activity = {.seconds = 1, .others = 6, .processors = 8};
  EXPECT_NE(busy.Only().find("busy: other processes took 6.0 of 8 processors"), std::string::npos)
      << busy.Only();
  Healthy slow;
  slow.machine.governor = "powersave";
  EXPECT_EQ(slow.Findings().at(0).remedy, "sudo cpupower frequency-set -g performance");
  Healthy cut;
  cut.machine.quota = 1.5;
  EXPECT_NE(cut.Only().find("time of 1.5 of 8"), std::string::npos);
  Healthy debug;
  debug.build.build_type = "Debug";
  EXPECT_NE(debug.Only().find("Debug build"), std::string::npos);
  Healthy tight;
  tight.machine.available_bytes = 1 << 20;
  EXPECT_NE(tight.Only().find("less than 2 GiB"), std::string::npos);
}

TEST(Doctor, MissingProgramsComeWithTheirCommand) {
  Healthy h;
  h.programs = {{"jinja2 of python", false, "no report.html is written", "sudo apt-get install j"}};
  const auto findings = h.Findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "jinja2 of python is missing: no report.html is written");
  EXPECT_EQ(findings[0].remedy, "sudo apt-get install j");
}

// Whatever modules another Python has.
TEST(Doctor, LooksForModulesInThePythonThatDrawsTheReport) {
  setenv("RETABLE_PYTHON", "/bin/false", 1);
  const auto programs = FindPrograms();
  unsetenv("RETABLE_PYTHON");
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(programs[1].name, "matplotlib of /bin/false");
  EXPECT_FALSE(programs[1].found);
  EXPECT_FALSE(programs[2].found);
}

TEST(Doctor, PrintsEverySection) {
  std::ostringstream out;
  EXPECT_EQ(Doctor(out, false), 0);
  for (const char* section : {"Machine\n", "GPU\n", "Build\n", "Findings\n", "Ceilings\n", "memory",
                              "commit", "libraries"}) {
    EXPECT_NE(out.str().find(section), std::string::npos) << section;
  }
}

}  // namespace
}  // namespace retable::harness
