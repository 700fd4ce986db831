// A program in another language as an explainer: a small one that answers as it should or not, and
// the user's XGBoost where there is one.

#include "experiments/treeshap/peers/external_explainer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <span>

#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "base/temporary_folder.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

// Answers zeros; too few of them when there are three rows.
constexpr const char* kZeros = R"PY(
import json, sys
source, target = sys.stdin.buffer, sys.stdout.buffer
def say(reply, data=b""):
    target.write(json.dumps(reply).encode() + b"\n" + data); target.flush()
say({"ready": "zeros 1"})
for line in source:
    request = json.loads(line)
    for array in request.get("arrays", []):
        size = {"uint8": 1, "float32": 4}[array["type"]]
        for extent in array["shape"]: size *= extent
        data = source.read(size)
        if array["name"] == "rows": rows, features = array["shape"]
    if request["do"] == "answer":
        count = rows * (features + 1) - (1 if rows == 3 else 0)
        say({"ok": True, "arrays": [{"name": "phi", "type": "float32", "shape": [count]}]}, bytes(4 * count))
    else:
        say({"ok": True})
)PY";

class External : public testing::Test {
 protected:
  External() {
    setenv("RETABLE_ROOT", RETABLE_SOURCE_DIR, 1);
    path_ = folder_.path() / "zeros.py";
    std::ofstream(path_) << kZeros;
  }
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(External, HandsOverAndChecksTheAnswer) {
  TreeEnsemble model = RandomEnsemble({.trees = 2, .features = 4, .depth = 3}, 1);
  ExternalExplainer explainer("python3 '" + path_ + "'", "cpu", 1);
  explainer.prepare(model);
  EXPECT_EQ(explainer.description(), "zeros 1");
  const auto values = RandomRows(model, 3, 0, 1);
  const auto phi = explainer.values({std::span(values).first(8), 2, 4});
  EXPECT_EQ(phi, Results(10, 0.0));
  EXPECT_GT(explainer.run_seconds(), 0);
  EXPECT_THROW(explainer.values({values, 3, 4}), std::runtime_error);
  EXPECT_THROW(explainer.values({values, 4, 3}), std::invalid_argument);
}

class PythonPackages : public External, public testing::WithParamInterface<const char*> {};

TEST_P(PythonPackages, AgreeWithTheDefinition) {
  const std::string method = GetParam();
  const std::string command =
      "\"${RETABLE_PYTHON:-python3}\" baselines/treeshap/package.py " + method;
  if (const auto why = StateOfResident(command).lack) GTEST_SKIP() << *why;
  struct Case {
    int groups;
    double categorical;
  };
  for (const auto& [groups, categorical] : {Case{1, 0}, Case{3, 0}, Case{2, 0.5}}) {
    if (method == "woodelf" && groups > 1) continue;  // it knows one output
    const bool by_category = categorical > 0;
    if (by_category && method != "xgboost" && method != "lightgbm") continue;
    const TreeEnsemble model = RandomEnsemble({.trees = 6,
                                               .features = 6,
                                               .groups = groups,
                                               .depth = 5,
                                               .categorical_probability = categorical},
                                              3);
    // A missing category goes right in LightGBM.
    const double missing = method == "woodelf" || by_category ? 0 : 0.1;
    auto values = RandomRows(model, 7, missing, 3);
    for (float& x : values) x = std::isinf(x) ? 0.5f : by_category ? std::clamp(x, 0.f, 31.f) : x;
    const RowBlock rows{values, 7, 6};
    ExternalExplainer explainer(command, "cpu", 1);
    explainer.prepare(model);
    const auto compare = [](std::span<const double> got, std::span<const double> want) {
      ASSERT_EQ(got.size(), want.size());
      double scale = 0;
      for (const double v : want) scale = std::max(scale, std::abs(v));
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * scale);
    };
    compare(explainer.values(rows), PathReferenceValues(model, rows));
    if (by_category) continue;
    const RowBlock background = rows.slice(0, 3);
    if (method == "woodelf") {
      explainer.set_background(background);
      compare(explainer.values(rows), BruteForceInterventional(model, rows, background));
    } else {
      EXPECT_THROW(explainer.set_background(background), std::runtime_error);
    }
    if (method == "lightgbm") {
      EXPECT_THROW(explainer.interactions(rows), std::runtime_error);
    } else if (method == "xgboost" || method == "retable") {
      compare(explainer.interactions(rows), PathReferenceInteractions(model, rows));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PythonPackages,
                         testing::Values("retable", "xgboost", "lightgbm", "shap", "shap-own",
                                         "fasttreeshap", "woodelf"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace retable::experiments::treeshap
