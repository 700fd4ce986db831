// A program in another language as a trainer: one that answers with given bytes, and the user's
// scikit-learn where there is one.

#include "experiments/extratrees/peers/external_trainer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "algorithms/extratrees/model/binary.hpp"
#include "base/temporary_folder.hpp"
#include "baselines/extratrees/scikit_learn.hpp"

namespace retable::experiments::forests {
namespace {

using namespace retable::extratrees;

// Answers with the bytes of the file beside it, if it was asked as it should be.
constexpr const char* kBytes = R"PY(
import json, os, sys
source, target = sys.stdin.buffer, sys.stdout.buffer
def say(reply, data=b""):
    target.write(json.dumps(reply).encode() + b"\n" + data); target.flush()
say({"ready": "bytes 1"})
for line in source:
    request = json.loads(line)
    for array in request.get("arrays", []):
        size = {"float32": 4, "float64": 8}[array["type"]]
        for extent in array["shape"]: size *= extent
        source.read(size)
    if request["do"] == "load":
        shapes = [array["shape"] for array in request["arrays"]]
        options = request["options"]
        well = shapes == [[80, 3], [80], [0]] and options["n_estimators"] == 3
        well = well and options["min_weight_fraction_leaf"] == 0.25
        say({"ok": True} if well else {"ok": False, "error": "asked for something else"})
    elif request["do"] == "answer":
        data = open(os.path.join(os.path.dirname(sys.argv[0]), "forest"), "rb").read()
        say({"ok": True, "arrays": [{"name": "forest", "type": "uint8", "shape": [len(data)]}]}, data)
    else:
        say({"ok": True})
)PY";

class ExternalForest : public testing::Test {
 protected:
  ExternalForest() {
    setenv("RETABLE_ROOT", RETABLE_SOURCE_DIR, 1);
    for (int i = 0; i < 80; ++i) {
      x_.insert(x_.end(),
                {static_cast<float>((i * 37) % 41), static_cast<float>((i * 11) % 13), 1.0f});
      y_.push_back(static_cast<std::uint32_t>((i * 37) % 41 / 15));
      weights_.push_back(1.0 + 0.5 * (i % 3));
    }
    data_ = {x_.data(), 80, 3};
  }

  void WriteAnswer(const std::vector<std::byte>& bytes) const {
    std::ofstream(folder_.path() / "forest", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::uint32_t> y_;
  std::vector<double> weights_;
  FeatureMatrix data_;
  ForestOptions options_{.n_trees = 3, .min_samples_leaf = 2, .seed = 5};
};

TEST_F(ExternalForest, HandsOverAndChecksTheAnswer) {
  const std::string script = folder_.path() / "bytes.py";
  std::ofstream(script) << kBytes;
  ExternalTrainer trainer("python3 '" + script + "'", "cpu", 0);
  const auto grown = ScikitLearnExtraTrees().fit(data_, Targets(y_), options_);
  WriteAnswer(WriteForestBytes(grown->host()));
  options_.min_weight_fraction_leaf = 0.25;
  const auto fitted = trainer.fit(data_, Targets(y_), options_);
  EXPECT_EQ(fitted->host().trees, grown->host().trees);
  EXPECT_GT(fitted->own_seconds.value(), 0);
  EXPECT_EQ(fitted->parts.front().name, "fit by bytes 1");

  options_.n_trees = 4;  // the program's own reason
  EXPECT_THROW(trainer.fit(data_, Targets(y_), options_), std::runtime_error);
  options_.n_trees = 3;
  auto damaged = WriteForestBytes(grown->host());
  damaged.back() ^= std::byte{1};
  WriteAnswer(damaged);
  EXPECT_THROW(trainer.fit(data_, Targets(y_), options_), std::invalid_argument);
  Forest fewer = grown->host();
  fewer.trees.pop_back();
  WriteAnswer(WriteForestBytes(fewer));
  EXPECT_THROW(trainer.fit(data_, Targets(y_), options_), std::runtime_error);
  options_.constant_rule = ConstantRule::kGeurts;
  EXPECT_THROW(trainer.fit(data_, Targets(y_), options_), std::invalid_argument);
}

TEST_F(ExternalForest, ScikitLearnGrowsTheBaselinesTrees) {
  for (const Layout layout : {Layout::kRows, Layout::kColumns}) {
    const std::string command =
        std::string("\"${RETABLE_PYTHON:-python3}\" baselines/extratrees/package.py scikit-learn") +
        (layout == Layout::kRows ? "" : "-columns");
    if (const auto why = StateOfResident(command).lack) GTEST_SKIP() << *why;
    ExternalTrainer trainer(command, "cpu", 1);
    const auto theirs = trainer.fit(data_, Targets(y_, weights_), options_);
    const auto ours = ScikitLearnExtraTrees(layout, 1).fit(data_, Targets(y_, weights_), options_);
    for (std::size_t t = 0; t < 3; ++t) {
      const auto& a = theirs->host().trees[t].nodes;
      const auto& b = ours->host().trees[t].nodes;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].feature, b[i].feature);
        EXPECT_EQ(a[i].threshold, b[i].threshold);
        EXPECT_EQ(a[i].weight, b[i].weight);
      }
    }
    EXPECT_EQ(theirs->predict(x_.data(), 80), ours->predict(x_.data(), 80));
  }
}

TEST_F(ExternalForest, ScikitLearnGrowsRegressionTrees) {
  const std::string command =
      "\"${RETABLE_PYTHON:-python3}\" baselines/extratrees/package.py scikit-learn";
  if (const auto why = StateOfResident(command).lack) GTEST_SKIP() << *why;
  const Targets targets = Targets::Regression(weights_);
  const auto theirs = ExternalTrainer(command, "cpu", 1).fit(data_, targets, options_);
  const auto ours = ScikitLearnExtraTrees(Layout::kRows, 1).fit(data_, targets, options_);
  std::vector<double> a(80), b(80);
  theirs->predict_proba(x_.data(), 80, a.data());
  ours->predict_proba(x_.data(), 80, b.data());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace retable::experiments::forests
