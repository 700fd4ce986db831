// The explainer in reserve: taken once, for refusals alone, with model and background.

#include "algorithms/treeshap/host/fallback_explainer.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace retable::treeshap {
namespace {

// Says what was called; refuses from the n-th call on.
class Fake final : public TreeExplainer {
 public:
  Fake(double answer, int refuses_from, std::string* calls)
      : answer_(answer), left_(refuses_from), calls_(calls) {}
  void prepare(const TreeEnsemble& model) override {
    shape_ = model;
    Call("p" + std::to_string(model.features));
  }
  void set_background(const RowBlock& rows) override { Call("b" + std::to_string(rows.rows)); }
  void write_values(const RowBlock& /*rows*/, std::span<double> phi) override {
    Call("v");
    phi[0] = answer_;
  }
  void write_interactions(const RowBlock& /*rows*/, std::span<double> matrices) override {
    Call("i");
    matrices[0] = answer_;
  }

 private:
  void Call(const std::string& what) {
    *calls_ += what + " ";
    if (left_-- <= 0) throw std::invalid_argument("over the limit");
  }
  double answer_;
  int left_;
  std::string* calls_;
};

TEST(FallbackExplainer, ChangesWhereTheFirstRefuses) {
  const RowBlock background{{}, 3, 0};
  TreeEnsemble model;
  model.features = 4;
  // By the number of calls that the first one answers.
  const std::string want[] = {"p4 p4 b3 v i ", "p4 b3 p4 b3 v i ", "p4 b3 v p4 b3 v i ",
                              "p4 b3 v i p4 b3 i ", "p4 b3 v i "};
  for (int refuses = 0; refuses <= 4; ++refuses) {
    std::string calls;
    FallbackExplainer explainer(std::make_unique<Fake>(1, refuses, &calls),
                                [&] { return std::make_unique<Fake>(2, 99, &calls); });
    explainer.prepare(model);
    explainer.set_background(background);
    const std::vector<float> row(4);
    const double values = explainer.values({row, 1, 4})[0];
    const double matrices = explainer.interactions({row, 1, 4})[0];
    EXPECT_EQ(calls, want[refuses]);
    EXPECT_EQ(values, refuses > 2 ? 1 : 2) << refuses;
    EXPECT_EQ(matrices, refuses > 3 ? 1 : 2) << refuses;
    EXPECT_EQ(explainer.why(), refuses > 3 ? "" : "over the limit");
  }
  std::string calls;
  FallbackExplainer alone(std::make_unique<Fake>(1, 0, &calls), nullptr);
  EXPECT_THROW(alone.prepare(model), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
