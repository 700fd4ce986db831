//! @file
//! Time to explain rows (tables 6 and 7, figures 4 to 6, and what goes beyond them).
//!
//! What is timed: values() or interactions() on a prepared model, from row-major float32 rows in
//! host memory to phi in host memory that is already allocated (values_to: a new 630 MB a call
//! would cost more than small models do). Of another program only its own work counts, which ends
//! when its library has the answer in host memory. On a GPU transfers are included, and "kernel" is
//! the device's work alone, by events. Preparing the model is a metric of its own; "first" is what
//! a user waits who calls once: the same model prepared anew and called, which allocates memory as
//! well, in a program that has run the method before. A method too slow for the budget runs on
//! fewer rows (protocols/portion.hpp), and its time is scaled up and says so.
//!
//! Before anything is timed the values of the first rows are compared with the double-precision
//! quadrature on the CPU (which unit tests compare with brute force), and each must sum to its
//! margin. Where there is a background the values are interventional, another game:
//! "Interventional" and packages that take a background compute it, and the CPU backend of the
//! former, held to brute force too, is the reference.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"
#include "baselines/treeshap/rapids_gpu_tree_shap.hpp"
#include "baselines/treeshap/xgboost.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/treeshap/data/paper_models.hpp"
#include "experiments/treeshap/peers/external_explainer.hpp"
#include "experiments/treeshap/protocols/portion.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/stop_rule.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

class ExplainProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "treeshap/explain"; }
  std::string summary() const override { return "time to explain rows of data"; }
  Names metrics() const override { return {"time", "throughput", "prepare", "first", "kernel"}; }
  Algorithms algorithms() const override { return ListMethods<TreeExplainer>(); }
  Specs axes() const override {
    return {
        {"rows", std::int64_t{10000}, "rows to explain"},
        {"threads", std::int64_t{0}, "processor threads; 0: all", true},
        {"gpus", std::int64_t{1}, "GPUs the rows are shared by", true},
        {"background", std::int64_t{0}, "as the setting of this name, which it replaces", true}};
  }
  Specs settings() const override {
    return {{"what", std::string("values"), "values or interactions"},
            {"background", std::int64_t{0}, "background rows of interventional values; 0: none"},
            {"budget", 5.0, "seconds of timing a cell; slower methods are scaled up"},
            {"all_rows", false, "no time is scaled up from fewer rows"},
            {"tolerance", 1e-3, "largest error against the reference, over the largest value"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveModels(dataset); }

  Reason unsupported(const Cell& cell) const override {
    if (cell.algorithm == "XGBoost" && !baselines::treeshap::XgboostIsHere()) {
      return "this build has no XGBoost (libxgboost-dev)";
    }
    if (cell.algorithm == "RAPIDS GPUTreeShap" && !baselines::treeshap::RapidsIsHere()) {
      return "this build has no rapidsai/gputreeshap (-DGPUTREESHAP_INCLUDE_DIR=...)";
    }
    if (const auto why = WhyNotExternal(cell)) return why;
    if (const auto why = WhyNotSoManyGpus(cell)) return why;
    const std::int64_t threads = IntegerOr(cell.axes, "threads", 0);
    if (threads > AvailableThreads()) {
      return fmt::format("needs {} processors; {} here", threads, AvailableThreads());
    }
    if (cell.algorithm != "External" &&
        (cell.algorithm == "Interventional") != (BackgroundRows(cell) > 0)) {
      return "another game: background rows are for Interventional alone";
    }
    if (cell.algorithm == "TreeShap" && OfInteractions(cell)) {
      return "TreeShap has no interaction values here";
    }
    return {};
  }

  Outcome measure(const Cell& cell) override {
    const auto wanted = static_cast<std::size_t>(IntegerOr(cell.axes, "rows", 10000));
    const bool interactions = OfInteractions(cell);
    // The rows behind those to explain are the background.
    const ModelProblem problem =
        LoadModel(cell.dataset, std::max<std::size_t>(wanted, 1) + BackgroundRows(cell));
    const std::size_t per_row = PerRow(cell, problem.model);
    // At most 2 GB of interactions, 4 of values: cells of more run on fewer rows.
    const std::size_t most =
        std::max<std::size_t>(1, (std::size_t{1} << (interactions ? 28 : 29)) / per_row);
    const RowBlock rows = problem.Rows().slice(0, std::min(wanted, most));

    if (const std::string why = WhyNotThisModel(cell, problem); !why.empty()) return Skipped(why);
    harness::Outcome outcome;
    auto explainer = MakeMethod<TreeExplainer>(WithAxes(cell));
    const double prepare = harness::TimeOnce([&] { Prepare(cell, problem, *explainer); });
    DescribeModel(problem, outcome);
    auto* external = dynamic_cast<ExternalExplainer*>(explainer.get());
    const auto reference = Reference(cell, problem);
    const RowBlock head = rows.slice(0, std::min<std::size_t>(rows.rows, interactions ? 2 : 8));
    Verify(cell, problem, head, *reference,
           interactions ? explainer->interactions(head) : explainer->values(head), outcome);
    if (!outcome.verification.ok) return outcome;

    Results results;
    const auto explain = [&](const RowBlock& block) {
      results.resize(block.rows * per_row);
      interactions ? explainer->interactions_to(block, results)
                   : explainer->values_to(block, results);
    };
    const auto [count, seconds] = Affordable(
        rows.rows, FirstRows(cell, wanted), BudgetOfACall(cell),
        [&](std::size_t few) { return harness::TimeOnce([&] { explain(rows.slice(0, few)); }); });
    const RowBlock some = rows.slice(0, count);
    const double scale = static_cast<double>(wanted) / static_cast<double>(count);
    outcome.facts["method"] =
        MethodText(cell, external) + (count < wanted ? fmt::format(", from {} rows", count) : "");
    std::vector<double> kernel;
    std::vector<double> external_seconds;
    const auto body = [&] {
      explain(some);
      harness::KeepAlive(results.data());
      kernel.push_back(explainer->device_seconds());
      if (external != nullptr) external_seconds.push_back(external->run_seconds());
    };
    // What the timed calls write is checked, so nothing of earlier ones may be taken for theirs.
    std::ranges::fill(results, std::numeric_limits<double>::quiet_NaN());
    harness::TimingResult timing =
        harness::TimeAfterFirstCall(body, seconds, Repeats(cell, external, seconds));
    VerifyQuarters(cell, problem, some, std::min(count, head.rows), *reference, results, outcome);
    if (!outcome.verification.ok) return outcome;
    // Another program's time excludes the transfer of data to it and back.
    if (external != nullptr) {
      external_seconds.erase(external_seconds.begin(),
                             external_seconds.end() - std::ssize(timing.seconds));
      timing.steady = harness::IsSteady(external_seconds);
    }
    Report(external != nullptr ? external_seconds : timing.seconds, kernel, scale, prepare, wanted,
           outcome);
    timing.included = Included(cell, external);
    // Another program's core use is not measured; it may use all.
    const double cores = external != nullptr ? AvailableThreads() : timing.cores_used;
    if (external != nullptr) timing.cores_used = 0;
    harness::DescribeTiming(outcome, timing);
    outcome.costs = Costs(cell, *explainer, problem.model, wanted, cores);
    if (count < wanted) {
      outcome.facts["scaled"] = fmt::format("measured on {} rows, times {:f}", count, scale);
    } else if (external == nullptr && prepare + seconds <= BudgetOfACall(cell)) {
      explainer = nullptr;
      const double first = harness::TimeOnce([&] {
        explainer = MakeMethod<TreeExplainer>(WithAxes(cell));
        Prepare(cell, problem, *explainer);
        explain(some);
      });
      outcome.metrics.push_back({"first", "s", {first}});
    }
    return outcome;
  }

 private:
  static bool OfInteractions(const harness::CellConfig& cell) {
    return TextOf(cell.settings, "what") == "interactions";
  }

  static std::size_t PerRow(const harness::CellConfig& cell, const TreeEnsemble& model) {
    return OfInteractions(cell) ? InteractionsPerRow(model) : ValuesPerRow(model);
  }

  // Processor threads that a cell is given.
  static std::int64_t ThreadsOf(const harness::CellConfig& cell) {
    const std::int64_t asked = IntegerOr(cell.axes, "threads", 0);
    return asked > 0 ? asked : AvailableThreads();
  }

  // Many rows may take another way than a few do: `few` of each quarter of the timed call.
  static void VerifyQuarters(const harness::CellConfig& cell, const ModelProblem& problem,
                             const RowBlock& rows, std::size_t few, TreeExplainer& reference,
                             std::span<const double> results, harness::Outcome& outcome) {
    const std::size_t per_row = results.size() / rows.rows;
    for (std::size_t quarter = 1; quarter <= 4; ++quarter) {
      const std::size_t first = (rows.rows - few) * quarter / 4;
      Verify(cell, problem, rows.slice(first, few), reference,
             results.subspan(first * per_row, few * per_row), outcome);
    }
  }

  static std::string WhyNotThisModel(const harness::CellConfig& cell, const ModelProblem& problem) {
    if (cell.algorithm != "RAPIDS GPUTreeShap" || problem.model.category_sets.empty()) return "";
    return "it takes splits by number alone; " + cell.dataset + " has categories";
  }

  static void DescribeModel(const ModelProblem& problem, harness::Outcome& outcome) {
    outcome.facts["model"] = problem.origin;
    outcome.facts["leaves"] = static_cast<std::int64_t>(LeafCount(problem.model));
    outcome.facts["features"] = static_cast<std::int64_t>(problem.columns);
    int depth = 0;
    for (const Tree& tree : problem.model.trees) depth = std::max(depth, Depth(tree));
    outcome.facts["depth"] = static_cast<std::int64_t>(depth);
  }

  static std::size_t BackgroundRows(const harness::CellConfig& cell) {
    return static_cast<std::size_t>(
        IntegerOr(cell.axes, "background", IntegerOr(cell.settings, "background", 0)));
  }

  static harness::RepeatOptions Repeats(const harness::CellConfig& cell,
                                        const ExternalExplainer* external, double first_seconds) {
    harness::RepeatOptions options = RepeatsOfCalls(cell, first_seconds);
    options.gpu_clock = cell.device == "cuda" && external == nullptr;
    return options;
  }

  static void Prepare(const harness::CellConfig& cell, const ModelProblem& problem,
                      TreeExplainer& explainer) {
    explainer.prepare(problem.model);
    const std::size_t count = BackgroundRows(cell);
    const RowBlock rows = problem.Rows();
    if (count > 0) explainer.set_background(rows.slice(rows.rows - count, count));
  }

  // The method's arithmetic, and the transfers of every method: rows in, values out. They cross the
  // bus as floats; each GPU has a bus of its own.
  static std::vector<harness::Cost> Costs(const harness::CellConfig& cell,
                                          const TreeExplainer& explainer, const TreeEnsemble& model,
                                          std::size_t rows, double cores) {
    std::vector<Work> work = explainer.work(model, rows, OfInteractions(cell));
    const std::size_t out = PerRow(cell, model);
    const auto in = static_cast<std::size_t>(model.features);
    if (cell.device == "cuda") {
      const auto gpus =
          static_cast<double>(std::max<std::int64_t>(1, IntegerOr(cell.axes, "gpus", 1)));
      work.push_back({"host to device", 4.0 * static_cast<double>(rows * in) / gpus});
      work.push_back({"device to host", 4.0 * static_cast<double>(rows * out) / gpus});
    } else {
      work.push_back({"copy", static_cast<double>(rows) * static_cast<double>(4 * in + 8 * out)});
    }
    return CostsOf(work, cores);
  }

  // The method and its threads, as in "XGBoost 1.7.4, 16 threads".
  static std::string MethodText(const harness::CellConfig& cell,
                                const ExternalExplainer* external) {
    std::string text = external != nullptr ? external->description() : cell.algorithm;
    if (cell.algorithm == "XGBoost") text.append(" ").append(baselines::treeshap::XgboostVersion());
    if (cell.device != "cpu") return text + ", GPU";
    return text + fmt::format(", {} threads", ThreadsOf(cell));
  }

  // What its time includes.
  static std::string Included(const harness::CellConfig& cell, ExternalExplainer* external) {
    if (external != nullptr) return external->Included();
    if (cell.device != "cuda") return "rows and values in host memory";
    return "rows from host memory, values back in host memory that is there: transfers included; "
           "the model is resident";
  }

  // Axes that are parameters of the method: each method takes those it knows.
  static harness::CellConfig WithAxes(harness::CellConfig cell) {
    for (const char* axis : {"threads", "gpus"}) {
      const auto given = cell.axes.find(axis);
      if (given != cell.axes.end() && (cell.device == "cpu") == (std::string(axis) == "threads")) {
        cell.parameters[axis] = given->second;
      }
    }
    return cell;
  }

  static std::unique_ptr<TreeExplainer> Reference(const harness::CellConfig& cell,
                                                  const ModelProblem& problem) {
    const auto& methods = Registry<TreeExplainer>::Instance();
    auto reference =
        BackgroundRows(cell) > 0
            ? methods.Make("Interventional", Device::kCpu, {})
            : methods.Make("Quadrature", Device::kCpu, {{"precision", std::string("double")}});
    Prepare(cell, problem, *reference);
    return reference;
  }

  // The largest error of all calls so far.
  static void Verify(const harness::CellConfig& cell, const ModelProblem& problem,
                     const RowBlock& rows, TreeExplainer& reference, std::span<const double> got,
                     harness::Outcome& outcome) {
    const double error = RelativeError(
        got, OfInteractions(cell) ? reference.interactions(rows) : reference.values(rows));
    const double worst =
        std::max({outcome.verification.value, error, AdditivityError(problem.model, rows, got)});
    outcome.verification =
        AtMost("error over the largest value", worst, RealOf(cell.settings, "tolerance"),
               std::string(BackgroundRows(cell) > 0 ? "the CPU's interventional values"
                                                    : "quadrature in double precision") +
                   "; sums against the margin");
  }

  // A third of the budget; on a device nine times as much: a call has fixed costs there (launches,
  // a model's upload), which scaling would multiply.
  static double BudgetOfACall(const harness::CellConfig& cell) {
    return RealOf(cell.settings, "budget") * (cell.device == "cpu" ? 1.0 / 3 : 3);
  }

  // 64 to begin with; on a processor whole rounds of its threads, of interactions one will do,
  // where XGBoost takes seconds a row.
  static std::size_t FirstRows(const harness::CellConfig& cell, std::size_t wanted) {
    if (FlagOf(cell.settings, "all_rows")) return wanted;
    const std::size_t least = LeastRows(wanted);
    if (cell.device != "cpu") return std::max<std::size_t>(64, least);
    return WholeRounds(std::max<std::size_t>(OfInteractions(cell) ? 1 : 64, least),
                       static_cast<std::size_t>(ThreadsOf(cell)));
  }

  static void Report(const std::vector<double>& seconds, const std::vector<double>& kernel,
                     double scale, double prepare, std::size_t wanted, harness::Outcome& outcome) {
    harness::Metric time{"time", "s"};
    harness::Metric device{"kernel", "s"};
    harness::Metric throughput{"throughput", "rows/s"};
    for (const double s : seconds) {
      time.samples.push_back(s * scale);
      throughput.samples.push_back(static_cast<double>(wanted) / (s * scale));
    }
    for (const double s : kernel) {
      if (!std::isnan(s)) device.samples.push_back(s * scale);
    }
    outcome.metrics = {time, throughput, {"prepare", "s", {prepare}}};
    if (!device.samples.empty()) outcome.metrics.push_back(device);
  }
};

RETABLE_PROTOCOL(ExplainProtocol);

}  // namespace
}  // namespace retable::experiments::treeshap
