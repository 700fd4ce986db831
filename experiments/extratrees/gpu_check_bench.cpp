//! @file
//! The device check of the family: forests grown on the GPU are compared with their CPU twins node
//! by node, then timed. Usage:
//!   extratrees_gpu_check [--small | --tiny | --tiniest] [--devices N] [--pixels FILE]
//!                        [--dataset NAME] [--repeats N] [--out DIR]
//! --pixels: gzip of uint32 {rows, columns, classes, training rows}, uint8 pixels row by row, uint8
//! labels; without it mnist_784 of the catalogue, or "synthetic strokes" in its place. --small: the
//! comparisons alone; --tiny, --tiniest: fewer of them, for a memory or race checker. --devices:
//! the comparisons and times of 1, 2, 4, ... N GPUs that share a forest, alone. Exit 3 when a tree
//! differs.

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/frontier_cuda.hpp"
#include "algorithms/extratrees/report.hpp"
#include "datasets/catalog.hpp"
#include "experiments/extratrees/forest_data.hpp"

namespace {

using namespace retable;
using namespace retable::extratrees;
using namespace retable::experiments::forests;

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Supervised ReadPixels(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::uint32_t head[4];
  std::vector<std::uint8_t> bytes;
  bool ok = gzread(file, head, sizeof(head)) == static_cast<int>(sizeof(head));
  if (ok) bytes.resize(std::size_t{head[0]} * (head[1] + 1));
  ok = ok && gzread(file, bytes.data(), static_cast<unsigned>(bytes.size())) ==
                 static_cast<int>(bytes.size());
  gzclose(file);
  if (!ok) throw std::runtime_error(path + " is shorter than its header says");
  Supervised data;
  data.name = "pixels";
  data.columns = head[1];
  data.classes = head[2];
  data.train_rows = head[3];
  const std::size_t cells = std::size_t{head[0]} * head[1];
  data.values.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cells));
  data.labels.assign(bytes.begin() + static_cast<std::ptrdiff_t>(cells), bytes.end());
  return data;
}

// Real-valued features with `distinct` values a column: one, two or four bytes a code.
Supervised SyntheticTable(std::size_t rows, std::size_t columns, std::uint32_t classes,
                          std::uint32_t distinct) {
  Supervised data;
  data.name = "synthetic table";
  data.columns = columns;
  data.classes = classes;
  data.train_rows = rows - rows / 5;
  const Philox4x32 philox = Philox4x32::FromSeed(77);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label =
        static_cast<std::uint32_t>(UniformBelow(philox.Block(i, 1).half(0), classes));
    data.labels.push_back(label);
    for (std::size_t f = 0; f < columns; ++f) {
      const auto k = static_cast<std::uint32_t>(
          UniformBelow(philox.Block(i, 2 + f).half(0), f % 5 == 4 ? 1 : distinct));
      data.values.push_back(0.37f * static_cast<float>(k) +
                            (f % 3 == 0 ? 0.5f : 0.0f) * static_cast<float>(label % 7));
    }
  }
  return data;
}

int failures = 0;
std::FILE* csv = nullptr;

void Row(const std::string& data, const std::string& what, const std::string& unit, double value) {
  std::printf("%-18s %-44s %12.6g %s\n", data.c_str(), what.c_str(), value, unit.c_str());
  if (csv != nullptr) {
    std::fprintf(csv, "%s,%s,%s,%.9g\n", data.c_str(), what.c_str(), unit.c_str(), value);
  }
  std::fflush(stdout);
}

void Expect(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  std::printf("DIFFERS: %s\n", what.c_str());
}

std::unique_ptr<ForestTrainer> Make(const std::string& name, Device device,
                                    const Parameters& parameters = {}) {
  return Registry<ForestTrainer>::Instance().Make(name, device, parameters);
}

bool SameTrees(const Forest& a, const Forest& b) {
  return a.trees == b.trees;
}

void CompareOne(const Supervised& data, const ForestOptions& options, const Parameters& parameters,
                const std::string& what) {
  const auto cpu = Make("frontier", Device::kCpu)->fit(data.Train(), data.TrainLabels(), options);
  const auto gpu =
      Make("frontier", Device::kCuda, parameters)->fit(data.Train(), data.TrainLabels(), options);
  Expect(SameTrees(cpu->host(), gpu->host()), data.name + ": " + what + " (trees)");
  const std::size_t n = data.test_rows();
  // The training rows may lack the last classes; the forest's own number counts.
  std::vector<double> a(n * cpu->host().classes, -1.0);
  std::vector<double> b(n * gpu->host().classes, -2.0);
  cpu->predict_proba(data.Test(), n, a.data());
  gpu->predict_proba(data.Test(), n, b.data());
  Expect(a == b, data.name + ": " + what + " (probabilities)");
}

void CompareAll(const Supervised& data, int trees) {
  ForestOptions base;
  base.n_trees = trees;
  base.seed = 5;
  for (const char* steps : {"frontier", "class-sorted", "subtrees", "on-chip", "columns"}) {
    CompareOne(data, base, {{"steps", std::string(steps)}}, std::string("steps ") + steps);
  }
  CompareOne(data, base, {{"batch_trees", std::int64_t{3}}}, "batches of 3");
  CompareOne(data, base, {{"memory_mb", std::int64_t{200}}}, "200 MiB of memory");
  bool refused = false;
  try {
    Make("frontier", Device::kCuda, {{"memory_mb", std::int64_t{1}}})
        ->fit(data.Train(), data.TrainLabels(), base);
  } catch (const std::runtime_error& error) {
    refused = std::string(error.what()).find("bytes to spare") != std::string::npos;
  }
  Expect(refused, data.name + ": data larger than the memory are refused");
  const auto with = [&](const char* what, auto change) {
    ForestOptions options = base;
    change(options);
    CompareOne(data, options, {}, what);
  };
  with("geurts", [](ForestOptions& o) { o.constant_rule = ConstantRule::kGeurts; });
  with("report", [](ForestOptions& o) { o.constant_rule = ConstantRule::kReport; });
  with("max_depth 4", [](ForestOptions& o) { o.max_depth = 4; });
  with("min_samples_leaf 5", [](ForestOptions& o) { o.min_samples_leaf = 5; });
  with("min_samples_split 9", [](ForestOptions& o) { o.min_samples_split = 9; });
  with("min_impurity_decrease", [](ForestOptions& o) { o.min_impurity_decrease = 1e-3; });
  with("bootstrap", [](ForestOptions& o) { o.bootstrap = true; });
  with("max_features 1", [](ForestOptions& o) { o.max_features = 1; });
  with("all features", [&](ForestOptions& o) { o.max_features = static_cast<int>(data.columns); });
  std::printf("compared %s\n", data.name.c_str());
  std::fflush(stdout);
}

// Rows with weights, targets and holes made by arithmetic.
struct Targeted {
  std::string name;
  Supervised data;
  std::vector<double> values, weights;

  explicit Targeted(Supervised from) : name(from.name), data(std::move(from)) {
    const Philox4x32 philox = Philox4x32::FromSeed(78);
    for (std::size_t i = 0; i < data.train_rows; ++i) {
      const PhiloxBlock bits = philox.Block(i);
      const float x = data.values[i * data.columns];
      values.push_back(1e3 + x + 0.01 * static_cast<double>(UniformBelow(bits.half(0), 50)));
      weights.push_back(0.3 * static_cast<double>(UniformBelow(bits.half(1), 6)));
    }
  }
  void MakeHoles() {
    for (std::size_t i = 0; i < data.rows(); ++i) {
      for (std::size_t f = 1; f < data.columns; f += 2) {
        if ((7 * i + 5 * f) % 11 == 3) data.values[i * data.columns + f] = std::nanf("");
      }
    }
    name += " with holes";
  }
  Targets Classes(bool weighted) const {
    Targets targets(data.TrainLabels());
    if (weighted) targets.weights = weights;
    return targets;
  }
  Targets Values(bool weighted) const {
    Targets targets = Targets::Regression(values);
    if (weighted) targets.weights = weights;
    return targets;
  }
};

void CompareTargets(const Targeted& given, const Targets& targets, const ForestOptions& options,
                    const std::string& what) {
  const Supervised& data = given.data;
  const auto cpu = Make("frontier", Device::kCpu)->fit(data.Train(), targets, options);
  const auto gpu = Make("frontier", Device::kCuda)->fit(data.Train(), targets, options);
  Expect(SameTrees(cpu->host(), gpu->host()), given.name + ": " + what + " (trees)");
  const std::size_t n = data.test_rows();
  std::vector<double> a(n * cpu->host().classes, -1.0);
  std::vector<double> b(n * gpu->host().classes, -2.0);
  cpu->predict_proba(data.Test(), n, a.data());
  gpu->predict_proba(data.Test(), n, b.data());
  Expect(a == b, given.name + ": " + what + " (answers)");
}

void CompareAllTargets(Supervised data, int trees) {
  Targeted given(std::move(data));
  ForestOptions base;
  base.n_trees = trees;
  base.seed = 6;
  for (const bool holes : {false, true}) {
    if (holes) given.MakeHoles();
    for (const bool weighted : {false, true}) {
      const std::string how = weighted ? "weighted " : "";
      for (const bool real : {false, true}) {
        const Targets targets = real ? given.Values(weighted) : given.Classes(weighted);
        const auto with = [&](const std::string& what, auto change) {
          ForestOptions options = base;
          change(options);
          CompareTargets(given, targets, options, how + (real ? "regression " : "classes ") + what);
        };
        with("", [](ForestOptions&) {});
        with("geurts, 3 features", [](ForestOptions& o) {
          o.constant_rule = ConstantRule::kGeurts;
          o.max_features = 3;
        });
        with("report, 3 features", [](ForestOptions& o) {
          o.constant_rule = ConstantRule::kReport;
          o.max_features = 3;
        });
        with("limits", [](ForestOptions& o) {
          o.max_depth = 9;
          o.min_samples_leaf = 3;
          o.min_samples_split = 11;
          o.min_impurity_decrease = 1e-4;
        });
        with("bootstrap", [](ForestOptions& o) { o.bootstrap = true; });
      }
    }
  }
  std::printf("compared targets on %s\n", given.name.c_str());
  std::fflush(stdout);
}

void CompareReport(const Supervised& data, int trees) {
  ForestOptions options;
  options.n_trees = trees;
  options.seed = 5;
  for (const char* sampling : {"uniform", "binomial"}) {
    const Parameters parameters{{"sampling", std::string(sampling)}};
    const auto cpu =
        Make("report", Device::kCpu, parameters)->fit(data.Train(), data.TrainLabels(), options);
    const auto gpu =
        Make("report", Device::kCuda, parameters)->fit(data.Train(), data.TrainLabels(), options);
    Expect(SameTrees(cpu->host(), gpu->host()), data.name + ": report, " + sampling);
  }
  std::printf("compared the report's on %s\n", data.name.c_str());
}

void Small() {
  CompareReport(LoadSupervised("iris", 1), 16);
  CompareReport(LoadSupervised("digits", 1, 400), 4);
  CompareAll(LoadSupervised("iris", 1), 16);
  CompareAll(LoadSupervised("digits", 1), 8);
  CompareAll(SyntheticTable(6000, 40, 3, 200), 4);
  CompareAll(SyntheticTable(6000, 40, 600, 2000), 4);
  CompareAll(SyntheticTable(90000, 7, 4, 80000), 3);
  CompareAllTargets(LoadSupervised("iris", 1), 16);
  CompareAllTargets(LoadSupervised("digits", 1), 4);
  CompareAllTargets(SyntheticTable(9000, 40, 3, 200), 2);
  CompareAllTargets(SyntheticTable(9000, 12, 300, 2000), 2);
  CompareAllTargets(SyntheticTable(90000, 7, 4, 80000), 1);
}

// For a memory checker, under which kernels run a hundred times slower: every queue, one tree.
void Tiny() {
  CompareReport(LoadSupervised("iris", 1), 2);
  CompareAll(SyntheticTable(5000, 9, 3, 250), 1);
  CompareAll(SyntheticTable(1700, 9, 520, 2000), 1);
  CompareAllTargets(SyntheticTable(4000, 9, 3, 200), 1);
  CompareAllTargets(SyntheticTable(700, 9, 140, 500), 1);
}

// For a race checker, slower still: both kernels that keep sums, and the others once.
void Tiniest() {
  CompareOne(SyntheticTable(3000, 5, 3, 250), {.n_trees = 1}, {}, "once");
  CompareAllTargets(SyntheticTable(340, 5, 3, 100), 1);
}

// Best of `repeats` fits after one to warm up; also the parts of the best.
double TimeFit(ForestTrainer& trainer, const Supervised& data, const ForestOptions& options,
               int repeats, std::vector<PartTime>* parts = nullptr) {
  double best = 1e30;
  for (int r = 0; r <= repeats; ++r) {
    std::unique_ptr<FittedForest> fitted;
    const double time =
        Seconds([&] { fitted = trainer.fit(data.Train(), data.TrainLabels(), options); });
    if ((r == 0 && repeats > 0) || time >= best) continue;
    best = time;
    if (parts != nullptr) *parts = fitted->parts;
  }
  return best;
}

// Nodes that a row reads of a tree.
double Visits(const Tree& tree, const float* row) {
  double visits = 1;
  for (std::size_t at = 0; tree.nodes[at].feature >= 0; ++visits) {
    const TreeNode& node = tree.nodes[at];
    const bool left = static_cast<double>(row[node.feature]) <= node.threshold;
    at = static_cast<std::size_t>(left ? node.left : node.right);
  }
  return visits;
}

// Rows enough to fill the device: the kernel alone, and the nodes it visits in a second.
void PredictionSpeed(FittedForest& fitted, const Supervised& data) {
  const std::size_t n = std::min<std::size_t>(data.rows(), 1u << 17);
  std::vector<double> proba(n * data.classes);
  double kernel = 1e30;
  double whole = 1e30;
  for (int r = 0; r < 3; ++r) {
    whole = std::min(whole,
                     Seconds([&] { fitted.predict_proba(data.values.data(), n, proba.data()); }));
    kernel = std::min(kernel, fitted.predict_seconds);
  }
  const Forest& forest = fitted.host();
  double visits = 0;
  constexpr std::size_t kSample = 500;
  for (std::size_t i = 0; i < kSample; ++i) {
    const float* row = data.values.data() + i * (n / kSample) * data.columns;
    for (const Tree& tree : forest.trees) visits += Visits(tree, row);
  }
  visits *= static_cast<double>(n) / kSample;
  Row(data.name, "predict; rows", "rows", static_cast<double>(n));
  Row(data.name, "predict; end to end", "s", whole);
  Row(data.name, "predict; kernel", "s", kernel);
  Row(data.name, "predict; nodes visited", "G/s", 1e-9 * visits / kernel);
  Row(data.name, "predict; 16 bytes a visit", "GB/s", 16e-9 * visits / kernel);
}

void Timings(const Supervised& data, int repeats) {
  ForestOptions options;
  options.n_trees = 256;
  options.seed = 11;
  std::unique_ptr<FittedForest> cpu;
  const double cpu_time = Seconds([&] {
    cpu = Make("frontier", Device::kCpu)->fit(data.Train(), data.TrainLabels(), options);
  });
  Row(data.name, "cpu twin; 256 trees", "s", cpu_time);
  double baseline_time = 1e30;
  for (const char* layout : {"rows", "columns"}) {
    const double time = Seconds([&] {
      Make("scikit-learn", Device::kCpu, {{"layout", std::string(layout)}})
          ->fit(data.Train(), data.TrainLabels(), options);
    });
    Row(data.name, std::string("baseline; 256 trees; ") + layout, "s", time);
    baseline_time = std::min(baseline_time, time);
  }
  Row(data.name, "baseline / cpu twin", "1", baseline_time / cpu_time);

  const auto trainer = Make("frontier", Device::kCuda);
  std::vector<PartTime> parts;
  const double gpu_time = TimeFit(*trainer, data, options, repeats, &parts);
  Row(data.name, "frontier; 256 trees; end to end", "s", gpu_time);
  for (const PartTime& part : parts) Row(data.name, "  " + part.name, "s", part.seconds);
  Row(data.name, "cpu twin / frontier", "1", cpu_time / gpu_time);
  Row(data.name, "baseline / frontier", "1", baseline_time / gpu_time);

  const auto fitted = trainer->fit(data.Train(), data.TrainLabels(), options);
  std::vector<std::uint32_t> labels;
  const double predict_time =
      Seconds([&] { labels = fitted->predict(data.Test(), data.test_rows()); });
  Row(data.name, "predict; test rows; end to end", "s", predict_time);
  PredictionSpeed(*fitted, data);
  Row(data.name, "test accuracy", "1", Accuracy(labels, data.TestLabels()));
  const double export_time = Seconds([&] { fitted->host(); });
  Row(data.name, "export to the host", "s", export_time);
  Row(data.name, "nodes a tree", "1", static_cast<double>(fitted->host().NodeCount()) / 256);
  Row(data.name, "depth", "1", fitted->host().MeanDepth());
  Expect(SameTrees(cpu->host(), fitted->host()), data.name + ": 256 trees");

  for (const char* steps : {"frontier", "class-sorted", "subtrees", "on-chip", "columns"}) {
    const auto rung =
        Make("frontier", Device::kCuda, {{"steps", std::string(steps)}, {"time_parts", true}});
    TimeFit(*rung, data, options, 1, &parts);
    for (const PartTime& part : parts) {
      if (part.name == "encode" || part.name == "upload") continue;
      Row(data.name, std::string("  ladder ") + steps + "; " + part.name, "s", part.seconds);
    }
  }
  options.n_trees = 1024;
  TimeFit(*trainer, data, options, 1, &parts);
  for (const PartTime& part : parts) Row(data.name, "1024 trees; " + part.name, "s", part.seconds);
}

// Regression on the labels as numbers, and weighted classes: the kernels that keep sums.
void TimeTargets(const Supervised& data, int repeats) {
  const std::vector<double> values(
      data.labels.begin(), data.labels.begin() + static_cast<std::ptrdiff_t>(data.train_rows));
  const std::vector<double> weights(data.train_rows, 1.5);
  ForestOptions options;
  options.n_trees = 64;
  options.max_features = static_cast<int>(ResolveMaxFeatures(0, data.columns));
  const auto time = [&](const char* what, const Targets& targets) {
    const auto seconds_of = [&](ForestTrainer& trainer, int times) {
      double best = 1e30;
      for (int r = 0; r <= times; ++r) {
        best = std::min(best, Seconds([&] { trainer.fit(data.Train(), targets, options); }));
      }
      return best;
    };
    const double cpu = seconds_of(*Make("frontier", Device::kCpu), 0);
    const double gpu = seconds_of(*Make("frontier", Device::kCuda), repeats);
    const double baseline = seconds_of(*Make("scikit-learn", Device::kCpu), 0);
    Row(data.name, std::string(what) + "; 64 trees; cpu twin", "s", cpu);
    Row(data.name, std::string(what) + "; 64 trees; frontier", "s", gpu);
    Row(data.name, std::string(what) + "; 64 trees; baseline", "s", baseline);
    Row(data.name, std::string(what) + "; baseline / frontier", "1", baseline / gpu);
  };
  time("regression", Targets::Regression(values));
  time("weighted classes", Targets(data.TrainLabels(), weights));
}

// The report's kernels, 10 trees: a full fit takes minutes, so the first steps stand for it.
void ReportSteps(const Supervised& data, std::int64_t steps) {
  ForestOptions options;
  options.n_trees = 10;
  const auto trainer = Make("report", Device::kCuda, {{"max_steps", steps}});
  const auto fitted = trainer->fit(data.Train(), data.TrainLabels(), options);
  for (const PartTime& part : fitted->parts) {
    Row(data.name, "report; 10 trees; first steps; " + part.name, "s", part.seconds);
  }
}

// The same forest from 1, 2, 4, ... GPUs: trees compared, fits timed.
void SeveralDevices(const Supervised& data, int most, int repeats) {
  ForestOptions options;
  options.seed = 11;
  for (const int trees : {256, 1024}) {
    options.n_trees = trees;
    std::unique_ptr<FittedForest> one;
    double single = 0;
    for (int devices = 1; devices <= most; devices *= 2) {
      const auto trainer = Make("frontier", Device::kCuda, {{"devices", std::int64_t{devices}}});
      std::vector<PartTime> parts;
      const double time = TimeFit(*trainer, data, options, repeats, &parts);
      if (devices == 1) single = time;
      const std::string what =
          std::to_string(trees) + " trees on " + std::to_string(devices) + " GPUs";
      Row(data.name, what, "s", time);
      for (const PartTime& part : parts) Row(data.name, "  " + part.name, "s", part.seconds);
      Row(data.name, what + "; against one", "1", single / time);
      auto fitted = trainer->fit(data.Train(), data.TrainLabels(), options);
      if (devices == 1) {
        if (trees == 256) PredictionSpeed(*fitted, data);
        one = std::move(fitted);
        continue;
      }
      Expect(SameTrees(one->host(), fitted->host()), what + " (trees)");
      std::vector<double> a(data.test_rows() * data.classes, -1.0);
      std::vector<double> b(a.size(), -2.0);
      one->predict_proba(data.Test(), data.test_rows(), a.data());
      fitted->predict_proba(data.Test(), data.test_rows(), b.data());
      Expect(a == b, what + " (probabilities)");
    }
  }
}

// MNIST from the file or the catalogue; where neither has it, a stand-in that says so.
Supervised Images(const std::string& pixels) {
  if (!pixels.empty()) return ReadPixels(pixels);
  const auto members = datasets::Catalog().Resolve("mnist_784");
  if (members.size() == 1 && members[0].present) return LoadSupervised("mnist_784", 1);
  return SyntheticStrokes(60000, 10000, 3);
}

void Iris(int repeats) {
  const Supervised iris = LoadSupervised("iris", 1);
  ForestOptions options;
  options.n_trees = 1024;
  for (const char* name : {"frontier", "report"}) {
    const auto trainer = Make(name, Device::kCuda);
    Row("iris", std::string(name) + "; 1024 trees", "s",
        TimeFit(*trainer, iris, options, 2 * repeats));
  }
  for (const char* name : {"frontier", "report", "scikit-learn"}) {
    const auto trainer = Make(name, Device::kCpu);
    Row("iris", std::string(name) + " (cpu); 1024 trees", "s",
        TimeFit(*trainer, iris, options, repeats));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool small = false;
  bool tiny = false;
  bool tiniest = false;
  int repeats = 3;
  int devices = 0;
  std::string pixels;
  std::string dataset;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--small") small = true;
    if (word == "--tiny") tiny = true;
    if (word == "--tiniest") tiny = tiniest = true;
    if (word == "--pixels" && more) pixels = argv[++i];
    if (word == "--dataset" && more) dataset = argv[++i];
    if (word == "--devices" && more) devices = std::atoi(argv[++i]);
    if (word == "--repeats" && more) repeats = std::atoi(argv[++i]);
    if (word == "--out" && more) {
      const std::filesystem::path folder = argv[++i];
      std::filesystem::create_directories(folder);
      csv = std::fopen((folder / "extratrees_gpu_check.csv").c_str(), "w");
      if (csv != nullptr) std::fputs("data,what,unit,value\n", csv);
    }
  }
  if (!HasCudaDevice()) {
    std::puts("no CUDA device: nothing checked");
    return 6;
  }
  if (devices > 0) {
    SeveralDevices(Images(pixels), std::min(devices, CudaDeviceCount()), repeats);
  } else if (tiniest) {
    Tiniest();
  } else if (tiny) {
    Tiny();
  } else {
    Small();
  }
  if (!small && !tiny && devices == 0) {
    Iris(repeats);
    const Supervised images = Images(pixels);
    Timings(images, repeats);
    TimeTargets(images, repeats);
    ReportSteps(images, 200);
    if (!dataset.empty()) {
      datasets::Catalog().Resolve(dataset, {.policy = datasets::FetchPolicy::kAll});
      Timings(LoadSupervised(dataset, 1), repeats);
    }
  }
  if (csv != nullptr) std::fclose(csv);
  std::printf("%d comparisons differ\n", failures);
  return failures == 0 ? 0 : 3;
}
