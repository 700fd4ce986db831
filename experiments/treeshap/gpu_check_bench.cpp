// treeshap_gpu_check: every CUDA method of the family against brute force, the path reference and
// the CPU on fresh random input, then its speed beside the published kernel on each model shape.
//
//     treeshap_gpu_check [--out DIR] [--seed N] [--rows N] [--only SUBSTRING] [--skip-speed]
//                        [--skip-checks] [--skip-interactions] [--max-points N,N,...] [--threads N]
//                        [--interaction-rows N] [--effort N] [--gpus N,N,...]
//                        [--model FILE [--data FILE of float32 rows]]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <span>
#include <sstream>
#include <thread>

#include "algorithms/treeshap/brute_force.hpp"
#include "algorithms/treeshap/model_io.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "experiments/treeshap/model_shapes.hpp"

namespace {

using namespace retable;
using namespace retable::treeshap;

struct Options {
  std::string out;
  std::uint64_t seed = std::random_device{}();
  std::size_t rows = 10000;
  std::size_t interaction_rows = 200;
  std::string only;
  std::string model, data;
  bool speed = true;
  bool checks = true;
  bool interactions = true;
  std::vector<std::int64_t> max_points = {8};
  std::vector<std::int64_t> share = {-1};
  std::int64_t threads = 0;
  std::size_t background = 0;
};

int failures = 0;
// Quarters of the random cases: fewer under a sanitizer. 0: one small case of each kernel.
std::uint64_t effort = 4;
std::vector<std::int64_t> several_gpus = {1};

std::vector<std::int64_t> Numbers(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::stringstream list(text);
  for (std::string item; std::getline(list, item, ',');) numbers.push_back(std::stoll(item));
  return numbers;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto next = [&]() -> std::string {
      if (i + 1 >= argc) throw std::invalid_argument(argument + " needs a value");
      return argv[++i];
    };
    if (argument == "--out")
      options.out = next();
    else if (argument == "--seed")
      options.seed = std::stoull(next());
    else if (argument == "--rows")
      options.rows = std::stoull(next());
    else if (argument == "--interaction-rows")
      options.interaction_rows = std::stoull(next());
    else if (argument == "--only")
      options.only = next();
    else if (argument == "--model")
      options.model = next();
    else if (argument == "--data")
      options.data = next();
    else if (argument == "--skip-speed")
      options.speed = false;
    else if (argument == "--skip-checks")
      options.checks = false;
    else if (argument == "--skip-interactions")
      options.interactions = false;
    else if (argument == "--threads")
      options.threads = std::stoll(next());
    else if (argument == "--max-points")
      options.max_points = Numbers(next());
    else if (argument == "--effort")
      effort = std::stoull(next());
    else if (argument == "--background")
      options.background = std::stoull(next());
    else if (argument == "--gpus")
      several_gpus = Numbers(next());
    else if (argument == "--share")
      options.share = Numbers(next());
    else {
      throw std::invalid_argument("unknown argument " + argument);
    }
  }
  return options;
}

std::unique_ptr<TreeExplainer> Prepared(const std::string& name, Device device,
                                        const TreeEnsemble& model, Parameters parameters = {}) {
  auto explainer = Registry<TreeExplainer>::Instance().Make(name, device, parameters);
  explainer->prepare(model);
  return explainer;
}

// Largest difference over the largest |want|; infinite where anything is NaN.
double Error(std::span<const double> got, std::span<const double> want) {
  if (got.size() != want.size()) return INFINITY;
  double most = 0;
  double scale = 1e-300;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = std::abs(got[i] - want[i]);
    if (std::isnan(e)) return INFINITY;
    most = std::max(most, e);
    scale = std::max(scale, std::abs(want[i]));
  }
  return want.empty() ? 0 : most / scale;
}

void Report(const std::string& what, double error, double tolerance) {
  const bool ok = error <= tolerance;
  failures += ok ? 0 : 1;
  std::printf("%-4s %-58s error %.2e (limit %.0e)\n", ok ? "ok" : "FAIL", what.c_str(), error,
              tolerance);
  std::fflush(stdout);
}

RowBlock Block(const TreeEnsemble& model, const std::vector<float>& values) {
  const auto columns = static_cast<std::size_t>(model.features);
  return {values, values.size() / columns, columns};
}

bool HasInteractions(const std::string& name) {
  for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
    if (method.name == name && method.device == Device::kCuda) return true;
  }
  return false;
}

void CheckRandom(const std::string& name, double tolerance, std::uint64_t seed) {
  double worst = 0;
  double worst_interactions = 0;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(3, 10 * effort); ++i) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(i % 9);
    options.groups = 1 + static_cast<int>(i % 3);
    options.depth = static_cast<int>(i % 8);
    options.trees = 5;
    options.zero_cover_probability = i % 5 == 0 ? 0.2 : 0;
    options.categorical_probability = i % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, seed + i);
    const auto values = RandomRows(model, 1 + i % 40, i % 4 == 1 ? 0.0 : 0.2, seed + i);
    const RowBlock rows = Block(model, values);
    const auto explainer = Prepared(name, Device::kCuda, model);
    worst = std::max(worst, Error(explainer->values(rows), BruteForceValues(model, rows)));
    const RowBlock few = rows.slice(0, std::min<std::size_t>(rows.rows, 3));
    worst_interactions = std::max(worst_interactions, Error(explainer->interactions(few),
                                                            BruteForceInteractions(model, few)));
  }
  Report(name + ": values against all subsets", worst, tolerance);
  Report(name + ": interactions against all subsets", worst_interactions, 4 * tolerance);
}

void CheckWide(const std::string& name, double tolerance, std::uint64_t seed) {
  const bool small = effort == 0;
  const TreeEnsemble model = RandomEnsemble({.trees = small ? 3 : 20,
                                             .features = 200,
                                             .groups = 2,
                                             .depth = small ? 6 : 9,
                                             .categorical_probability = 0.2},
                                            seed);
  const auto values = RandomRows(model, small ? 70 : 300, 0.1, seed);
  const RowBlock rows = Block(model, values);
  const auto explainer = Prepared(name, Device::kCuda, model);
  const auto cpu =
      Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
  Report(name + ": values with 200 features", Error(explainer->values(rows), cpu->values(rows)),
         tolerance);
  if (small) return;
  const RowBlock few = rows.slice(0, 20);
  Report(name + ": interactions with 200 features",
         Error(explainer->interactions(few), cpu->interactions(few)), 4 * tolerance);
}

void CheckChains() {
  for (const int depth : {16, 32, 64, 127}) {
    double worst = 0;
    for (const double cover : {0.9, 0.5, 0.1}) {
      const TreeEnsemble model = ChainEnsemble(depth, depth, cover, 5);
      const std::vector<float> values(2 * static_cast<std::size_t>(depth), 0.5f);
      const RowBlock rows = Block(model, values);
      const auto cpu =
          Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
      worst = std::max(worst, Error(Prepared("Quadrature", Device::kCuda, model)->values(rows),
                                    cpu->values(rows)));
    }
    Report("Quadrature: chain of depth " + std::to_string(depth), worst, depth > 64 ? 1e-6 : 5e-7);
  }
}

// Whether a row's bits depend neither on the run nor on its company: `explain` answers with `got`
// again, and half of the rows alone with their part of it.
template <class Explain, class Answer>
bool SameAgain(const Explain& explain, const RowBlock& rows, const Answer& got) {
  const auto head = explain(rows.slice(0, rows.rows / 2));
  return explain(rows) == got && std::equal(head.begin(), head.end(), got.begin());
}

// Units shared by rows: small and large ones, with rows that are alike and rows that are not; each
// third time in deep narrow trees of a few features, where they are split.
void CheckShared(std::uint64_t seed) {
  double worst = 0;
  bool same = true;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(2, 6 * effort); ++i) {
    RandomEnsembleOptions shape;
    shape.features = i % 4 == 3 ? 20 + 3 * static_cast<int>(i) : 2 + static_cast<int>(i % 12);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.depth = 5 + static_cast<int>(i % 6);
    shape.trees = 6;
    shape.repeats = i % 2 == 0 ? 1 + static_cast<int>(i) : 1;
    if (i % 3 == 1) {
      shape.features = 12 + static_cast<int>(i % 5);
      shape.depth = 16;
      shape.leaf_probability = 0.33;
      shape.repeats = effort == 0 ? 1 : 3;
    }
    const TreeEnsemble model = RandomEnsemble(shape, seed + i);
    const auto values =
        RandomRows(model, i % 5 == 0 && effort > 0 ? 1500 : 40 + i, i % 2 == 0 ? 0.1 : 0, seed + i);
    const RowBlock rows = Block(model, values);
    const auto cpu =
        Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
    const auto want = cpu->values(rows);
    for (const std::int64_t leaves : {5, 16, 64}) {
      const auto shared = Prepared("Quadrature", Device::kCuda, model, {{"share", leaves}});
      const auto got = shared->values(rows);
      worst = std::max(worst, Error(got, want));
      same =
          same && SameAgain([&](const RowBlock& some) { return shared->values(some); }, rows, got);
    }
  }
  Report("Quadrature: units shared by rows", worst, 5e-7);
  Report("Quadrature: the same bits again and in other company", same ? 0 : 1, 0);
}

// Interactions of parts in several levels, with units and without, rows in several blocks.
void CheckPairs(std::uint64_t seed) {
  double worst = 0;
  bool same = true;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, 3 * effort); ++i) {
    RandomEnsembleOptions shape;
    shape.features = effort == 0 ? 6 : 5 + static_cast<int>(4 * i);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.depth = effort == 0 ? 6 : 7 + static_cast<int>(i % 4);
    shape.trees = effort == 0 ? 2 : 6;
    shape.categorical_probability = i % 4 == 3 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, seed + i);
    const auto values = RandomRows(model, effort == 0 ? 40 : 150 + i, 0.1, seed + i);
    const RowBlock rows = Block(model, values);
    const auto cpu =
        Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
    const auto want = cpu->interactions(rows);
    for (const std::int64_t leaves : {-1, 0, 8, 16}) {
      const auto cuda = Prepared("Quadrature", Device::kCuda, model, {{"share", leaves}});
      const auto got = cuda->interactions(rows);
      worst = std::max(worst, Error(got, want));
      same = same &&
             SameAgain([&](const RowBlock& some) { return cuda->interactions(some); }, rows, got);
    }
  }
  Report("Quadrature: interactions of parts and units", worst, 2e-6);
  Report("Quadrature: their bits again and in other company", same ? 0 : 1, 0);
}

void CheckInterventional(std::uint64_t seed) {
  double brute = 0;
  double twin = 0;
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, 6 * effort); ++i) {
    RandomEnsembleOptions shape;
    shape.features = i % 6 == 5 ? 150 : 1 + static_cast<int>(i % 7);
    shape.depth = static_cast<int>(i % 8);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.categorical_probability = i % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, seed + i);
    const auto values = RandomRows(model, 1 + 17 * i, 0.2, seed + i);
    const auto others = RandomRows(model, 1 + 3 * i, 0.2, seed + i + 1000);
    const RowBlock rows = Block(model, values);
    const RowBlock background = Block(model, others);
    const auto cuda = Prepared("Interventional", Device::kCuda, model);
    const auto cpu = Prepared("Interventional", Device::kCpu, model);
    cuda->set_background(background);
    cpu->set_background(background);
    const auto got = cuda->values(rows);
    twin = std::max(twin, Error(got, cpu->values(rows)));
    if (got != cuda->values(rows)) twin = INFINITY;
    if (shape.features > 12) continue;
    const RowBlock few = rows.slice(0, std::min<std::size_t>(rows.rows, 4));
    const auto want = BruteForceInterventional(model, few, background);
    brute = std::max(brute, Error(std::span(got).first(want.size()), want));
  }
  Report("Interventional: values against the CPU, and again", twin, 1e-12);
  Report("Interventional: values against all subsets", brute, 1e-12);
}

// Few features, and more than there are places for sums.
void CheckDeterminism(std::uint64_t seed) {
  bool again = true;
  bool other_blocks = true;
  for (const int features : {9, 120}) {
    const TreeEnsemble model =
        RandomEnsemble({.trees = 50, .features = features, .depth = 10}, seed);
    const auto values = RandomRows(model, 5000, 0.1, seed);
    const RowBlock rows = Block(model, values);
    for (const std::int64_t share : {-1, 0}) {
      const Parameters usual = {{"share", share}};
      const Parameters narrow = {{"share", share}, {"threads", std::int64_t{32}}};
      const auto first = Prepared("Quadrature", Device::kCuda, model, usual)->values(rows);
      again = again && first == Prepared("Quadrature", Device::kCuda, model, usual)->values(rows);
      other_blocks = other_blocks &&
                     first == Prepared("Quadrature", Device::kCuda, model, narrow)->values(rows);
    }
  }
  Report("Quadrature: the same bits again", again ? 0 : 1, 0);
  Report("Quadrature: the same bits with other blocks", other_blocks ? 0 : 1, 0);
}

// Whether a call of several pieces gives what its rows give in other calls, into memory that is
// there as into new, on several GPUs as on one.
void CheckCalls(const std::string& name, const TreeEnsemble& model, std::size_t count,
                std::uint64_t seed) {
  const auto values = RandomRows(model, count, 0.01, seed);
  const RowBlock rows = Block(model, values);
  const auto explainer = Prepared("Quadrature", Device::kCuda, model);
  const Results got = explainer->values(rows);
  Results there(got.size(), NAN);
  explainer->values_to(rows, there);
  bool same = there == got;
  const std::size_t per_row = ValuesPerRow(model);
  for (const std::size_t begin : {std::size_t{0}, count / 3}) {
    const RowBlock part = rows.slice(begin, count / 2);
    const Results again = explainer->values(part);
    same = same && std::equal(again.begin(), again.end(), got.begin() + begin * per_row);
  }
  same = same && explainer->values(rows.slice(0, 0)).empty();
  const RowBlock one = rows.slice(count - 1, 1);
  const auto cpu =
      Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
  Report(name + ": a row alone", Error(explainer->values(one), cpu->values(one)), 5e-7);
  for (const std::int64_t gpus : several_gpus) {
    const auto shared = Prepared("Quadrature", Device::kCuda, model, {{"gpus", gpus}});
    same = same && shared->values(rows) == got;
  }
  Report(name + ": pieces, calls and GPUs give the same bits", same ? 0 : 1, 0);
}

void Check(std::uint64_t seed) {
  const bool few = effort == 0;
  CheckCalls("small model",
             RandomEnsemble({.trees = 10, .features = 8, .groups = 2, .depth = 5}, seed),
             few ? 3000 : 150'000, seed);
  CheckCalls("large model", RandomEnsemble({.trees = 30, .features = 20, .depth = 9}, seed),
             few ? 2500 : 40'000, seed);
  CheckRandom("GPUTreeShap", 1e-4, seed);
  CheckRandom("Quadrature", 5e-7, seed);
  if (effort == 0) {
    CheckWide("Quadrature", 5e-7, seed);
    CheckShared(seed);
    CheckPairs(seed);
    CheckInterventional(seed);
    return;
  }
  CheckWide("GPUTreeShap", 1e-4, seed);
  CheckWide("Quadrature", 5e-7, seed);
  CheckShared(seed);
  CheckPairs(seed);
  CheckInterventional(seed);
  CheckChains();
  CheckDeterminism(seed);
}

// Sum of a row's values against its margin, over the row's scale.
double Additivity(const TreeEnsemble& model, const RowBlock& rows, std::span<const double> phi,
                  std::size_t step) {
  const auto side = static_cast<std::size_t>(model.features) + 1;
  double worst = 0;
  for (std::size_t r = 0; r < rows.rows; r += step) {
    const auto margin = Predict(model, rows.row(r));
    for (std::size_t g = 0; g < margin.size(); ++g) {
      double sum = 0;
      double scale = std::abs(margin[g]);
      for (std::size_t i = 0; i < side; ++i) {
        const double v = phi[(r * margin.size() + g) * side + i];
        sum += v;
        scale += std::abs(v);
      }
      worst = std::max(worst, std::abs(sum - margin[g]) / scale);
    }
  }
  return worst;
}

using Clock = std::chrono::steady_clock;

struct Timing {
  double kernel = INFINITY;  // seconds, best
  double total = INFINITY;   // seconds of a call, median
};

template <class F>
Timing Measured(TreeExplainer& explainer, int repeats, F call) {
  Timing timing;
  std::vector<double> totals;
  for (int i = 0; i < repeats; ++i) {
    // As in a program that does something else between its calls.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto start = Clock::now();
    call();
    totals.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    timing.kernel = std::min(timing.kernel, explainer.device_seconds());
  }
  std::sort(totals.begin(), totals.end());
  timing.total = totals[totals.size() / 2];
  return timing;
}

// The last rows are the background.
void SpeedInterventional(const TreeEnsemble& model, const RowBlock& rows, std::size_t count) {
  const auto prepare_start = Clock::now();
  const auto explainer = Prepared("Interventional", Device::kCuda, model);
  explainer->set_background(rows.slice(rows.rows - count, count));
  const double prepare = std::chrono::duration<double>(Clock::now() - prepare_start).count();
  Results phi;
  const Timing time = Measured(*explainer, 2, [&] { phi = explainer->values(rows); });
  std::printf(
      "  Interventional, %zu rows, background of %zu: %.3f ms kernel, prepared in %.2f s; "
      "additivity %.1e\n",
      rows.rows, count, time.kernel * 1e3, prepare, Additivity(model, rows, phi, 100));
  std::fflush(stdout);
}

// Calls end to end on several GPUs.
void SpeedOfGpus(const TreeEnsemble& model, const RowBlock& rows) {
  if (several_gpus.size() < 2) return;
  for (const std::string name : {"GPUTreeShap", "Quadrature"}) {
    const int repeats = name == "Quadrature" ? 10 : 2;
    for (const std::int64_t gpus : several_gpus) {
      const auto explainer = Prepared(name, Device::kCuda, model, {{"gpus", gpus}});
      Results phi(rows.rows * ValuesPerRow(model), 0.0);
      const Timing time = Measured(*explainer, repeats, [&] { explainer->values_to(rows, phi); });
      std::printf("  %-12s on %lld GPUs: %.2f million rows/s, %.3f ms (%.3f kernels)\n",
                  name.c_str(), static_cast<long long>(gpus),
                  static_cast<double>(rows.rows) / time.total / 1e6, time.total * 1e3,
                  time.kernel * 1e3);
      std::fflush(stdout);
    }
  }
}

void Speed(const std::string& name, const TreeEnsemble& model, const std::vector<float>& values,
           const Options& options, std::ostream& csv) {
  const auto leaves = static_cast<double>(LeafCount(model));
  const RowBlock rows = Block(model, values);
  std::printf("\n%s: %zu trees, %.0f leaves\n", name.c_str(), model.trees.size(), leaves);
  // The published kernel on as many rows as a second or so allows.
  const double pairs = 4e9 / leaves;
  const std::size_t few =
      std::clamp<std::size_t>(static_cast<std::size_t>(pairs), 1024, options.rows);
  const RowBlock baseline_rows = rows.slice(0, std::min(few, rows.rows));
  const double scale = static_cast<double>(rows.rows) / static_cast<double>(baseline_rows.rows);
  const auto published = Prepared("GPUTreeShap", Device::kCuda, model);
  Results want(baseline_rows.rows * ValuesPerRow(model), 0.0);
  const Timing base = Measured(*published, 3, [&] { published->values_to(baseline_rows, want); });
  std::printf("  GPUTreeShap        %10.3f ms kernel for %zu rows%s, %.3f ms call\n",
              base.kernel * scale * 1e3, rows.rows, scale > 1 ? " (scaled)" : "",
              base.total * scale * 1e3);
  for (const std::int64_t max_points : options.max_points) {
    for (const std::int64_t share : options.share) {
      const Parameters parameters = {
          {"max_points", max_points}, {"threads", options.threads}, {"share", share}};
      const auto prepare_start = Clock::now();
      const auto explainer = Prepared("Quadrature", Device::kCuda, model, parameters);
      const double prepare = std::chrono::duration<double>(Clock::now() - prepare_start).count();
      Results phi = explainer->values(rows);
      const Timing fast = Measured(*explainer, 10, [&] { explainer->values_to(rows, phi); });
      const Timing fresh = Measured(*explainer, 3, [&] { phi = explainer->values(rows); });
      const std::size_t step = std::max<std::size_t>(1, static_cast<std::size_t>(leaves * 1e-4));
      const double additivity = Additivity(model, rows, phi, std::min<std::size_t>(step, 100));
      const std::span<const double> head = std::span(phi).first(want.size());
      std::printf(
          "  Quadrature (<= %lld, share %lld) %9.3f ms kernel, %9.3f ms call (%.3f "
          "into new memory), prepared in %.2f s: "
          "%.1fx, %.2f ps per row and leaf; additivity %.1e, GPUTreeShap differs by %.1e\n",
          static_cast<long long>(max_points), static_cast<long long>(share), fast.kernel * 1e3,
          fast.total * 1e3, fresh.total * 1e3, prepare, base.kernel * scale / fast.kernel,
          fast.kernel * 1e12 / (static_cast<double>(rows.rows) * leaves), additivity,
          Error(want, head));
      if (!(additivity < 1e-5)) ++failures;
      csv << name << ",values," << rows.rows << ',' << leaves << ',' << max_points << ','
          << base.kernel * scale << ',' << fast.kernel << ',' << fast.total << ',' << prepare << ','
          << base.kernel * scale / fast.kernel << '\n';
      std::fflush(stdout);
    }
  }
  SpeedOfGpus(model, rows);
  if (options.background > 0) SpeedInterventional(model, rows, options.background);
  if (!options.interactions) return;
  const RowBlock asked = rows.slice(
      0, std::min<std::size_t>(rows.rows, model.features > 100 ? 20 : options.interaction_rows));
  const RowBlock base_rows = asked.slice(0, leaves > 1e6 ? asked.rows / 4 : asked.rows);
  const Timing slow = Measured(*published, 1, [&] { want = published->interactions(base_rows); });
  const double factor = static_cast<double>(asked.rows) / static_cast<double>(base_rows.rows);
  const auto explainer = Prepared("Quadrature", Device::kCuda, model);
  Results matrices = explainer->interactions(asked);
  const Timing fast = Measured(*explainer, 5, [&] { explainer->interactions_to(asked, matrices); });
  matrices.resize(want.size());
  std::printf(
      "  interactions, %zu rows: GPUTreeShap %.3f ms, Quadrature %.3f ms (call %.3f): %.1fx, "
      "differ "
      "by %.1e\n",
      asked.rows, slow.kernel * factor * 1e3, fast.kernel * 1e3, fast.total * 1e3,
      slow.kernel * factor / fast.kernel, Error(matrices, want));
  csv << name << ",interactions," << asked.rows << ',' << leaves << ",8," << slow.kernel * factor
      << ',' << fast.kernel << ',' << fast.total << ",0," << slow.kernel * factor / fast.kernel
      << '\n';
  std::fflush(stdout);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A model file; its rows repeated to as many as were asked for, or random ones.
void SpeedOfFile(const Options& options, std::ostream& csv) {
  const TreeEnsemble model = ReadModel(ReadFile(options.model));
  std::vector<float> values = RandomRows(model, options.rows, 0, options.seed);
  if (!options.data.empty()) {
    const std::string bytes = ReadFile(options.data);
    const std::size_t count = bytes.size() / sizeof(float);
    if (count == 0) throw std::invalid_argument(options.data + " is empty");
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&values[i], bytes.data() + i % count * sizeof(float), sizeof(float));
    }
  }
  Speed(options.model, model, values, options, csv);
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = Parse(argc, argv);
  if (!HasInteractions("Quadrature")) {
    std::cerr << "this build has no CUDA methods\n";
    return 1;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  if (options.checks) Check(options.seed);
  std::ostringstream csv;
  csv << "model,what,rows,leaves,max_points,gputreeshap_seconds,quadrature_seconds,call_seconds,"
         "prepare_seconds,ratio\n";
  if (options.speed) {
    for (const auto& shape : experiments::treeshap::ModelShapes()) {
      if (!options.model.empty() || shape.name.find(options.only) == std::string::npos) continue;
      Speed(shape.name + " (synthetic shape)", SyntheticEnsemble(shape.shape, 1),
            SyntheticRows(shape.shape, options.rows, options.seed), options, csv);
    }
  }
  if (!options.model.empty()) SpeedOfFile(options, csv);
  if (!options.out.empty()) std::ofstream(options.out + "/treeshap_gpu_check.csv") << csv.str();
  std::printf("\n%d failure(s)\n", failures);
  return failures == 0 ? 0 : 3;
} catch (const std::exception& error) {
  std::cerr << "treeshap_gpu_check: " << error.what() << '\n';
  return 1;
}
