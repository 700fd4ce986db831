//! @file
//! What is explained: rows, columns and task of the tables (Mitchell et al. 2022, table 2), and how
//! well the image networks do on the images kept from training. Nothing is timed.

#include <algorithm>

#include "experiments/common/adapters.hpp"
#include "experiments/shapley/games/images/network.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

class DataProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/data"; }
  std::string summary() const override { return "shape and task of the tables"; }
  Names metrics() const override { return {"rows", "columns"}; }
  Algorithms algorithms() const override {
    return {{"data", {"cpu"}, {}, "the data set as the games use it", "Mitchell et al. 2022"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto frame = LoadTabular(cell.dataset);
    harness::Outcome outcome;
    outcome.metrics = {{"rows", "1", {static_cast<double>(frame.rows)}},
                       {"columns", "1", {static_cast<double>(frame.columns.size())}}};
    outcome.facts["task"] = std::string(TwoClasses(frame.target->values) ? "class" : "regr");
    const bool whole = std::all_of(frame.columns.begin(), frame.columns.end(), [&](const auto& c) {
      return c.values.size() == static_cast<std::size_t>(frame.rows);
    });
    outcome.verification = AtLeast("columns of full length", whole ? 1 : 0, 1, "shape");
    return outcome;
  }
};

class NetworksProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/networks"; }
  std::string summary() const override { return "accuracy of the image networks"; }
  Names metrics() const override { return {"accuracy", "bytes", "test_images"}; }
  Algorithms algorithms() const override {
    return {{"network", {"cpu"}, {}, "the small residual network of the data", "He et al. 2016"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveImages(dataset); }
  Reason unsupported(const Cell&) const override { return WhyNoNetworks(); }

  Outcome measure(const Cell& cell) override {
    const NetworkScore score = ScoreNetwork(cell.dataset);
    harness::Outcome outcome;
    outcome.metrics = {{"accuracy", "1", {score.accuracy}},
                       {"bytes", "bytes", {static_cast<double>(score.bytes)}},
                       {"test_images", "1", {static_cast<double>(score.images)}}};
    outcome.verification = AtLeast("images scored", static_cast<double>(score.images), 1, "labels");
    return outcome;
  }
};

RETABLE_PROTOCOL(DataProtocol);
RETABLE_PROTOCOL(NetworksProtocol);

}  // namespace
}  // namespace retable::experiments
