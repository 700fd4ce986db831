// Machines whose card or driver cannot be used, played by a stand-in for the driver library:
// `doctor` and the verbs say why and what to do, and "auto" goes on with the processor.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "apps/program_testing.hpp"

#if defined(RETABLE_STAND_IN_DRIVER)

namespace retable {
namespace {

struct Broken {
  const char* name;
  const char *version, *error;  //!< what the stand-in answers
  bool hidden;                  //!< CUDA_VISIBLE_DEVICES is empty
  const char *why, *remedy;
};

class NoDevice : public Program, public ::testing::WithParamInterface<Broken> {
 protected:
  void SetUp() override {
    Program::SetUp();
    setenv("LD_LIBRARY_PATH", RETABLE_STAND_IN_DRIVER, 1);
    setenv("STAND_IN_VERSION", GetParam().version, 1);
    setenv("STAND_IN_ERROR", GetParam().error, 1);
    if (GetParam().hidden) setenv("CUDA_VISIBLE_DEVICES", "", 1);
  }
  void TearDown() override {
    for (const char* name :
         {"LD_LIBRARY_PATH", "STAND_IN_VERSION", "STAND_IN_ERROR", "CUDA_VISIBLE_DEVICES"}) {
      unsetenv(name);
    }
    Program::TearDown();
  }
};

TEST_P(NoDevice, DoctorSaysWhyAndWhatToDo) {
  const Result doctor = Run("doctor");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  ExpectContains(doctor.text, GetParam().why);
  ExpectContains(doctor.text, GetParam().remedy);
}

TEST_P(NoDevice, RunGoesOnWithTheProcessorUnlessCudaIsAskedFor) {
  Write(kGood);
  const Result any = Run("run selftest/probe --out out");
  EXPECT_EQ(any.code, 0) << any.text;
  const Result cuda = Run("run selftest/probe --device cuda --out cuda");
  EXPECT_EQ(cuda.code, 1) << cuda.text;
  ExpectContains(cuda.text, GetParam().why);
  ExpectContains(cuda.text, GetParam().remedy);
}

TEST_P(NoDevice, ForestsAreGrownByTheProcessorUnlessCudaIsAskedFor) {
  std::ofstream(root_ / "rows.csv") << "a,class\n1,x\n2,y\n3,x\n4,y\n";
  const std::string fit = "forest fit rows.csv --target class --trees 2 --out forest.json";
  const Result any = Run(fit);
  EXPECT_EQ(any.code, 0) << any.text;
  ExpectContains(any.text, GetParam().why);
  const Result cuda = Run(fit + " --device cuda");
  EXPECT_EQ(cuda.code, 2) << cuda.text;
  ExpectContains(cuda.text, GetParam().remedy);
}

TEST_P(NoDevice, TuningSaysWhyNothingIsMeasured) {
  const Result tune = Run("tune shuffle");
  EXPECT_EQ(tune.code, 1) << tune.text;
  ExpectContains(tune.text, GetParam().why);
  ExpectContains(tune.text, GetParam().remedy);
  ExpectContains(Run("tune shuffel").text, "no family \"shuffel\" to tune; there are shuffle");
}

INSTANTIATE_TEST_SUITE_P(
    By, NoDevice,
    ::testing::Values(
        Broken{"OldDriver", "11040", "0", false, "the driver knows CUDA 11.4", "update the driver"},
        Broken{"NoCard", "13000", "100", false, "the driver sees no card", "nvidia-smi -L"},
        Broken{"HiddenCards", "13000", "100", true, "CUDA_VISIBLE_DEVICES hides every card",
               "unset CUDA_VISIBLE_DEVICES"},
        Broken{"FabricManager", "13000", "802", false, "fabric manager", "systemctl start"},
        Broken{"Mismatch", "13000", "803", false, "different versions", "restart the machine"},
        Broken{"Unknown", "13000", "999", false, "unknown error", "nvidia-smi"}),
    [](const auto& broken) { return std::string(broken.param.name); });

}  // namespace
}  // namespace retable

#endif
