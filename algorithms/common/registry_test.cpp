#include "algorithms/common/registry.hpp"

#include <gtest/gtest.h>

namespace retable {
namespace {

TEST(Registry, NamesBothFilesOfANameThatIsTaken) {
  Registry<int> registry;
  registry.Add({.name = "half"}, "first.cpp");
  registry.Add({.name = "half", .device = Device::kCuda}, "first.cu");
  try {
    registry.Add({.name = "half"}, "second.cpp");
    FAIL() << "it was taken twice";
  } catch (const std::logic_error& problem) {
    EXPECT_STREQ(
        problem.what(),
        "first.cpp and second.cpp both register a method \"half\" on cpu: give one of them "
        "another name");
  }
  registry.Add({.name = "third"});
  EXPECT_NE(registry.Methods().back().file.find("registry_test.cpp"), std::string::npos);
}

}  // namespace
}  // namespace retable
