#include "harness/plan/pooling.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

// What is refused of a table and its methods; empty where nothing is.
std::string Refused(const std::string& table, const std::string& methods) {
  const Experiment experiment = ParseExperiment(
      "version = 1\nid = \"toy/a\"\ntitle = \"t\"\nquestion = \"q\"\ncitation = \"c\"\n"
      "protocol = \"toy\"\ndatasets = [\"iris\", \"wine\"]\n[axes]\nn = [1, 2]\nd = [3]\n" +
          methods + "[table]\n" + table,
      "a.toml");
  try {
    RefusePooling(experiment);
    return "";
  } catch (const ConfigError& problem) {
    return problem.what();
  }
}

TEST(Pooling, AValueIsOfOneMethodAtOnePoint) {
  const std::string one = "[[algorithm]]\nname = \"a\"\nl = [5, 6]\n";
  const std::string columns = "columns = [{ name = \"time\", metric = \"time\" }]\n";
  EXPECT_EQ(Refused("rows = \"{label} {l} {n}\"\n" + columns, one), "");
  EXPECT_EQ(Refused("rows = \"{l}\"\npivot = \"{n}\"\n" + columns, one), "");
  EXPECT_EQ(Refused("rows = \"{l}\"\nover = [\"n\"]\n" + columns, one), "");
  EXPECT_EQ(Refused("rows = \"{label}\"\ncolumns = [\n"
                    "  { name = \"x\", metric = \"time\", where = { n = 1, l = 5 } },\n"
                    "  { name = \"y\", metric = \"time\", where = { n = 2, l = 6 } },\n"
                    "  { name = \"z\", ratio = [\"x\", \"y\"] }]\n",
                    one),
            "");
  EXPECT_NE(Refused("rows = \"{l}\"\n" + columns, one).find("would mix the 2 values of n"),
            std::string::npos);
  EXPECT_NE(Refused("rows = \"{label} {n}\"\n" + columns, one).find("a.toml:12:1: column \"time\""),
            std::string::npos)
      << Refused("rows = \"{label} {n}\"\n" + columns, one);
}

TEST(Pooling, MethodsAreToldApart) {
  const std::string columns = "columns = [{ name = \"time\", metric = \"time\" }]\n";
  const auto pair = [](const std::string& first, const std::string& second) {
    return "[[algorithm]]\n" + first + "[[algorithm]]\n" + second;
  };
  const std::string a = "name = \"a\"\n", b = "name = \"b\"\n", same = "label = \"ours\"\n";
  EXPECT_EQ(Refused("rows = \"{label} {n}\"\n" + columns, pair(a, b)), "");
  EXPECT_EQ(Refused("rows = \"{label} {n}\"\n" + columns,
                    pair(a + "label = \"l={l}\"\nl = 5\n", a + "label = \"l={l}\"\nl = 6\n")),
            "");
  EXPECT_EQ(Refused("rows = \"{label} {device} {n}\"\n" + columns,
                    pair(a + same, a + same + "device = \"cuda\"\n")),
            "");
  EXPECT_NE(Refused("rows = \"{label} {n}\"\n" + columns, pair(a + same, b + same)), "");
  EXPECT_NE(Refused("rows = \"{n}\"\n" + columns, pair(a, b)), "");
}

}  // namespace
}  // namespace retable::harness
