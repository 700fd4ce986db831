//! @file
//! A Shapley estimator by a program in another language (experiments/common/resident_program.hpp).
//!
//! Task "shapley": "load" says players, evaluations (values it may ask for) and seed. What "run"
//! comes to, "answer" tells: either the coalitions to be valued, the array "coalitions", uint8 [m,
//! players], 1 where a player is in; or the estimate, the array "values", float64 [players]. Values
//! go back by the next "load", task "values", as the array "values", float64 [m]. So the game stays
//! here, whatever it is, and what it is asked for is counted here.

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "algorithms/shapley/shapley_estimator.hpp"
#include "experiments/common/external_method.hpp"
#include "experiments/common/resident_program.hpp"

namespace retable::experiments {
namespace {

using nlohmann::json;

class ExternalEstimator final : public shapley::ShapleyEstimator {
 public:
  explicit ExternalEstimator(const std::string& command)
      : program_(std::make_unique<ResidentProgram>(command)) {}

  shapley::ShapleyEstimate Compute(const shapley::Game& game, int d, std::int64_t budget,
                                   std::uint64_t seed) const override {
    program_->Load({{"task", "shapley"},
                    {"players", d},
                    {"evaluations", 2 * budget},
                    {"seed", seed % 0x7FFFFFFF}});
    shapley::ShapleyEstimate estimate;
    for (;;) {
      program_->Run();
      const auto arrays = program_->Answer(json::object());
      if (arrays.size() != 1) throw std::runtime_error("the answer to \"shapley\" is one array");
      const WireArray& array = arrays[0];
      if (array.name == "values") {
        if (array.type != "float64" || array.shape != std::vector{static_cast<std::uint64_t>(d)}) {
          throw std::runtime_error("\"values\" is float64, one a player");
        }
        estimate.values.resize(static_cast<std::size_t>(d));
        std::memcpy(estimate.values.data(), array.bytes.data(), array.bytes.size());
        return estimate;
      }
      const std::vector<double> values =
          Valued(game, array, static_cast<std::uint64_t>(2 * budget - estimate.evaluations));
      estimate.evaluations += static_cast<std::int64_t>(values.size());
      program_->Load({{"task", "values"}},
                     {{"values", "float64", {values.size()}, std::as_bytes(std::span(values))}});
    }
  }

 private:
  // `left`: values that the program may still ask for.
  static std::vector<double> Valued(const shapley::Game& game, const WireArray& array,
                                    std::uint64_t left) {
    const auto players = static_cast<std::size_t>(game.dimension());
    if (array.name != "coalitions" || array.type != "uint8" || array.shape.size() != 2 ||
        array.shape[1] != players) {
      throw std::runtime_error("\"coalitions\" is uint8, a row of " + std::to_string(players) +
                               " a coalition");
    }
    if (array.shape[0] == 0 || array.shape[0] > left) {
      throw std::runtime_error("\"coalitions\" asks for " + std::to_string(array.shape[0]) +
                               " values, of 1 to " + std::to_string(left) +
                               " that \"evaluations\" leaves");
    }
    const std::size_t words = shapley::CoalitionWords(game.dimension());
    std::vector<double> values(array.shape[0]);
    std::vector<std::uint64_t> masks(values.size() * words, 0);
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (std::size_t i = 0; i < players; ++i) {
        const bool in = array.bytes[k * players + i] != std::byte{0};
        masks[k * words + i / 64] |= std::uint64_t{in ? 1u : 0u} << (i % 64);
      }
    }
    EvaluateChecked(game, masks, values);
    return values;
  }

  std::unique_ptr<ResidentProgram> program_;
};

RETABLE_REGISTER(shapley::ShapleyEstimator, external,
                 (ExternalMethod<shapley::ShapleyEstimator>([](const std::string& command,
                                                               const Parameters&) {
                   return std::make_unique<ExternalEstimator>(command);
                 })));

}  // namespace
}  // namespace retable::experiments
