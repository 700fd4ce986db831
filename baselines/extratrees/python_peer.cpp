#include "baselines/extratrees/python_peer.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/temporary_folder.hpp"

namespace retable::extratrees {
namespace {

namespace fs = std::filesystem;

// Reads task.json, x.bin, y.bin, w.bin beside itself; writes trees.bin and answer.json.
constexpr const char* kScript = R"PY(
import json, os, sys, time
import numpy, sklearn
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
os.chdir(os.path.dirname(os.path.abspath(__file__)))
task = json.load(open("task.json"))
x = numpy.fromfile("x.bin", numpy.float32).reshape(task["rows"], task["columns"])
if task["column_major"]:
    x = numpy.asfortranarray(x)
y = numpy.fromfile("y.bin", numpy.float64)
w = numpy.fromfile("w.bin", numpy.float64) if task["weighted"] else None
kind = ExtraTreesRegressor if task["regression"] else ExtraTreesClassifier
kind(n_estimators=os.cpu_count(), n_jobs=task["jobs"]).fit(x[:64], y[:64])  # wakes the workers
model = kind(n_jobs=task["jobs"], **task["options"])
start = time.perf_counter()
model.fit(x, y, sample_weight=w)
seconds = time.perf_counter() - start
sizes = []
with open("trees.bin", "wb") as out:
    for estimator in model.estimators_:
        tree = estimator.tree_
        sizes.append(int(tree.node_count))
        tree.children_left.astype(numpy.int32).tofile(out)
        tree.children_right.astype(numpy.int32).tofile(out)
        tree.feature.astype(numpy.int32).tofile(out)
        tree.n_node_samples.astype(numpy.uint32).tofile(out)
        tree.missing_go_to_left.astype(numpy.uint8).tofile(out)
        tree.threshold.astype(numpy.float64).tofile(out)
        tree.impurity.astype(numpy.float64).tofile(out)
        tree.weighted_n_node_samples.astype(numpy.float64).tofile(out)
        tree.value.reshape(tree.node_count, -1).astype(numpy.float64).tofile(out)
json.dump({"seconds": seconds, "version": sklearn.__version__, "sizes": sizes},
          open("answer.json", "w"))
)PY";

// For the shell, which takes it as one word.
constexpr const char* kPython = "\"${RETABLE_PYTHON:-python3}\"";

std::string Python() {
  const char* named = std::getenv("RETABLE_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

template <class T>
void WriteArray(const std::string& path, const T* values, std::size_t count) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

template <class T>
std::vector<T> ReadArray(std::istream& in, std::size_t count) {
  std::vector<T> values(count);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!in) throw std::runtime_error("the trees from scikit-learn end too early");
  return values;
}

Tree ReadTree(std::istream& in, std::size_t n, const Forest& forest) {
  const auto left = ReadArray<std::int32_t>(in, n);
  const auto right = ReadArray<std::int32_t>(in, n);
  const auto feature = ReadArray<std::int32_t>(in, n);
  const auto samples = ReadArray<std::uint32_t>(in, n);
  const auto missing_left = ReadArray<std::uint8_t>(in, n);
  const auto threshold = ReadArray<double>(in, n);
  const auto impurity = ReadArray<double>(in, n);
  const auto weight = ReadArray<double>(in, n);
  const auto value = ReadArray<double>(in, n * forest.classes);
  Tree tree;
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node;
    node.left = left[i];
    node.right = right[i];
    node.samples = samples[i];
    node.impurity = impurity[i];
    node.weight = weight[i];
    if (left[i] >= 0) {
      node.feature = feature[i];
      node.threshold = threshold[i];
      node.missing_left = missing_left[i] != 0;
    } else {
      node.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size() / forest.classes);
      for (std::uint32_t c = 0; c < forest.classes; ++c) {
        tree.leaf_values.push_back(value[i * forest.classes + c]);
      }
    }
    tree.nodes.push_back(node);
  }
  return tree;
}

nlohmann::json Task(const FeatureMatrix& data, const Targets& targets, const ForestOptions& options,
                    Layout layout, int jobs) {
  nlohmann::json model{{"n_estimators", options.n_trees},
                       {"min_samples_split", options.min_samples_split},
                       {"min_samples_leaf", options.min_samples_leaf},
                       {"min_impurity_decrease", options.min_impurity_decrease},
                       {"bootstrap", options.bootstrap},
                       {"random_state", options.seed}};
  if (options.max_depth > 0) model["max_depth"] = options.max_depth;
  if (options.max_features > 0) model["max_features"] = options.max_features;
  return {{"rows", data.rows},
          {"columns", data.columns},
          {"column_major", layout == Layout::kColumns},
          {"weighted", !targets.weights.empty()},
          {"regression", targets.regression()},
          {"jobs", jobs > 0 ? jobs : -1},
          {"options", model}};
}

// The status of a command of the shell, which does not outlive this process.
int Status(const std::string& command) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void Run(const fs::path& folder) {
  // What it says goes to the standard error: the last words of the cell.
  const int status = Status(std::string(kPython) + " '" + (folder / "peer.py").string() + "' 1>&2");
  if (status == 0) return;
  throw std::runtime_error(Python() + " with scikit-learn ended with " +
                           (WIFSIGNALED(status)
                                ? "signal " + std::to_string(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status))));
}

}  // namespace

const std::string& WhyNoScikitLearn() {
  static std::map<std::string, std::string> known;
  const auto [found, fresh] = known.try_emplace(Python());
  // A Python that does not start is no reason: its cell tells what it said.
  const std::string command = std::string(kPython) +
                              " -c 'import importlib.util, sys; "
                              "sys.exit(0 if importlib.util.find_spec(\"sklearn\") else 3)'"
                              " > /dev/null 2>&1";
  const int status = fresh ? Status(command) : 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
    found->second = Python() +
                    " has no scikit-learn: install it (pip install scikit-learn), or name a "
                    "Python that has it in RETABLE_PYTHON";
  }
  return found->second;
}

std::unique_ptr<FittedForest> ScikitLearnPython::fit(const FeatureMatrix& data,
                                                     const Targets& targets,
                                                     const ForestOptions& options) {
  const std::uint32_t classes = CheckTraining(data, targets, options);
  if (options.constant_rule != ConstantRule::kScikitLearn) {
    throw std::invalid_argument("scikit-learn knows its own rule alone");
  }
  if (!WhyNoScikitLearn().empty()) throw std::runtime_error(WhyNoScikitLearn());
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  std::ofstream(folder / "peer.py") << kScript;
  std::ofstream(folder / "task.json") << Task(data, targets, options, layout_, jobs_);
  const std::vector<double> y =
      targets.regression() ? std::vector<double>(targets.values.begin(), targets.values.end())
                           : std::vector<double>(targets.labels.begin(), targets.labels.end());
  WriteArray(folder / "x.bin", data.values, data.rows * data.columns);
  WriteArray(folder / "y.bin", y.data(), y.size());
  WriteArray(folder / "w.bin", targets.weights.data(), targets.weights.size());
  Run(folder);

  const nlohmann::json answer = nlohmann::json::parse(std::ifstream(folder / "answer.json"));
  std::ifstream trees(folder / "trees.bin", std::ios::binary);
  Forest forest = EmptyForest(data, targets, classes, options);
  for (const auto& size : answer.at("sizes")) {
    forest.trees.push_back(ReadTree(trees, size.get<std::size_t>(), forest));
  }
  auto fitted = std::make_unique<HostForest>(std::move(forest));
  fitted->own_seconds = answer.at("seconds").get<double>();
  fitted->parts = {
      {"fit by scikit-learn " + answer.at("version").get<std::string>(), 1, *fitted->own_seconds}};
  return fitted;
}

RETABLE_REGISTER(ForestTrainer, scikit_learn_python,
                 {.name = "scikit-learn-python",
                  .device = Device::kCpu,
                  .summary = "scikit-learn's ExtraTrees in a Python process",
                  .citation = "Pedregosa et al. 2011",
                  .parameters = {{"layout", std::string("rows"), "rows or columns"},
                                 {"threads", std::int64_t{0}, "n_jobs; 0: all cores"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<ForestTrainer> {
                    return std::make_unique<ScikitLearnPython>(
                        ParseLayout(TextParameter(p, "layout", "rows")),
                        static_cast<int>(IntegerParameter(p, "threads", 0)));
                  }});

}  // namespace retable::extratrees
