#include "algorithms/common/registry.hpp"

#include <gtest/gtest.h>

#include <utility>

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

TEST(Registry, AnUnknownParameterListsTheMethods) {
  Registry<int> registry;
  registry.Add({.name = "two", .parameters = {{"depth", 1.0, ""}, {"width", 1.0, ""}}});
  registry.Add({.name = "plain"});
  for (const auto& [name, known] : {std::pair{"two", "depth, width"}, {"plain", "none"}}) {
    try {
      registry.Make(name, Device::kCpu, {{"dept", 1.0}});
      FAIL() << "it was taken";
    } catch (const std::invalid_argument& problem) {
      EXPECT_EQ(problem.what(),
                std::string(name) + " has no parameter \"dept\"; there are " + known);
    }
  }
}

TEST(Registry, AMethodThatMakesNothingIsNamed) {
  Registry<int> registry;
  registry.Add({.name = "none"}, "first.cpp");
  registry.Add({.name = "null", .make = [](const Parameters&) { return nullptr; }}, "first.cpp");
  for (const char* name : {"none", "null"}) {
    try {
      registry.Make(name, Device::kCpu, {});
      FAIL() << "it was made";
    } catch (const std::logic_error& problem) {
      EXPECT_EQ(problem.what(), "the method \"" + std::string(name) +
                                    "\" of first.cpp makes nothing: its .make is missing or "
                                    "returned null");
    }
  }
}

}  // namespace
}  // namespace retable
