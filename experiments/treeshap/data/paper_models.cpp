#include "experiments/treeshap/data/paper_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/common/philox.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "baselines/treeshap/xgboost.hpp"
#include "datasets/openml/cache.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/resident_program.hpp"
#include "experiments/treeshap/data/model_shapes.hpp"

namespace retable::experiments::treeshap {
namespace {

namespace fs = std::filesystem;
using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;

constexpr const char* kSynthetic = "synthetic ";

struct PaperModel {
  std::string name;
  std::string data;   // name in the catalogue
  std::string shape;  // name in data/model_shapes.hpp; empty: nothing stands in for it
  int rounds, depth;
  int classes;     // 0: regression; as the paper counts them
  int leaves = 0;  // 0: trees grow level by level
  double eta = 0.01;
  std::string trainer = {};  // as TrainedShape has it

  std::string Trainer() const {
    return R"("${RETABLE_PYTHON:-python3}" baselines/treeshap/train.py )" + trainer;
  }
};

// Boosting 10,000 trees of 784 features takes hours on all 70,000 images: the larger fashion models
// learn from fewer. RETABLE_TRAINING_ROWS sets another bound for every model; 0 lifts it.
std::int64_t DefaultBound(const PaperModel& model) {
  if (model.data != "fashion_mnist") return 0;
  return model.rounds < 1000 ? 10000 : 2000;
}

std::int64_t TrainingRows(const PaperModel& model, std::int64_t rows) {
  std::int64_t bound = DefaultBound(model);
  if (const char* given = std::getenv("RETABLE_TRAINING_ROWS"); given != nullptr) {
    char* end = nullptr;
    bound = std::strtoll(given, &end, 10);
    if (end == given || *end != '\0' || bound < 0) {
      throw std::invalid_argument("RETABLE_TRAINING_ROWS is \"" + std::string(given) +
                                  "\"; give a number of rows, 0 for all");
    }
  }
  return bound == 0 ? rows : std::min(bound, rows);
}

// Table 2 is about the data: it is shown by their small models.
const std::vector<PaperModel>& DataSets() {
  static const std::vector<PaperModel> data = {
      {"Covtype", "covertype", "covtype-small", 10, 3, 8},
      {"Cal_housing", "cal_housing", "cal_housing-small", 10, 3, 0},
      {"Fashion_mnist", "fashion_mnist", "fashion_mnist-small", 10, 3, 10},
      {"Adult", "adult", "adult-small", 10, 3, 2},
  };
  return data;
}

const std::vector<PaperModel>& Models() {
  static const std::vector<PaperModel> models = {
      {"Covtype-small", "covertype", "covtype-small", 10, 3, 8},
      {"Covtype-med", "covertype", "covtype-med", 100, 8, 8},
      {"Covtype-large", "covertype", "covtype-large", 1000, 16, 8},
      {"Cal_housing-small", "cal_housing", "cal_housing-small", 10, 3, 0},
      {"Cal_housing-med", "cal_housing", "cal_housing-med", 100, 8, 0},
      {"Cal_housing-large", "cal_housing", "cal_housing-large", 1000, 16, 0},
      {"Fashion_mnist-small", "fashion_mnist", "fashion_mnist-small", 10, 3, 10},
      {"Fashion_mnist-med", "fashion_mnist", "fashion_mnist-med", 100, 8, 10},
      {"Fashion_mnist-large", "fashion_mnist", "fashion_mnist-large", 1000, 16, 10},
      {"Adult-small", "adult", "adult-small", 10, 3, 2},
      {"Adult-med", "adult", "adult-med", 100, 8, 2},
      {"Adult-large", "adult", "adult-large", 1000, 16, 2},
  };
  return models;
}

const std::vector<PaperModel>& ZooModels() {
  static const std::vector<PaperModel> models = [] {
    std::vector<PaperModel> made;
    for (const TrainedShape& zoo : TrainedZoo()) {
      made.push_back({zoo.name, zoo.data, "", zoo.rounds, zoo.depth, zoo.classes, zoo.leaves, 0.1,
                      zoo.trainer});
    }
    return made;
  }();
  return models;
}

const PaperModel* Find(const std::string& name) {
  for (const auto* models : {&Models(), &DataSets(), &ZooModels()}) {
    for (const PaperModel& model : *models) {
      if (name == model.name) return &model;
    }
  }
  return nullptr;
}

// The shape of a paper's model, of the zoo, or of the calls of millions; null for an unknown name.
const ModelShape* ShapeOf(const std::string& name) {
  const PaperModel* model = Find(name);
  const std::string wanted = model != nullptr ? model->shape : name;
  if (wanted == MillionShape().name) return &MillionShape();
  for (const auto* shapes : {&ModelShapes(), &ZooShapes()}) {
    for (const ModelShape& shape : *shapes) {
      if (shape.name == wanted) return &shape;
    }
  }
  return nullptr;
}

// "XGBoost 1.7.4"
std::string TrainedBy(const PaperModel& model) {
  return model.trainer.empty() ? "XGBoost " + baselines::treeshap::XgboostVersion()
                               : StateOfResident(model.Trainer()).description;
}

// The key of a trained model: the data, the settings and the trainer's version.
std::string TrainingKey(const PaperModel& model, const std::string& data_sha256,
                        std::int64_t rows) {
  const std::string leaves = model.leaves > 0 ? fmt::format(" leaves {}", model.leaves) : "";
  return Sha256(fmt::format("{} {} first {} hist eta {} rounds {} depth {}{} {}", model.data,
                            data_sha256, rows, model.eta, model.rounds, model.depth, leaves,
                            TrainedBy(model)));
}

fs::path CachePath(const PaperModel& model, const std::string& key) {
  const char* kind = model.trainer.empty() ? ".ubj" : ".model";
  return datasets::Cache::DefaultRoot() / "models" / (key + kind);
}

harness::DatasetInfo DescribeSynthetic(const std::string& name) {
  const auto& shape = ShapeOf(name)->shape;
  return {.name = kSynthetic + name,
          .sha256 = Sha256(kSynthetic + name + " 1"),
          .present = true,
          .rows = shape.rows,
          .columns = shape.features,
          .origin = "generator"};
}

// The synthetic stand-in of a trained model, and how to get the trained one.
harness::DatasetInfo StandIn(const PaperModel& model, const std::string& lack) {
  if (model.shape.empty()) return {.name = model.name, .reason = "needs " + lack};
  harness::DatasetInfo info = DescribeSynthetic(model.name);
  info.reason = "stands in for " + model.name + ", which needs " + lack;
  return info;
}

harness::DatasetInfo Describe(const PaperModel& model) {
  if (!model.trainer.empty()) {
    const ResidentState trainer = StateOfResident(model.Trainer());
    if (trainer.description.empty()) {
      return {.name = model.name,
              .reason = trainer.lack.value_or(model.Trainer() + " does not start")};
    }
  } else if (!baselines::treeshap::XgboostIsHere()) {
    return StandIn(model, "XGBoost in the build");
  }
  harness::DatasetInfo info = ResolveData(model.data).front();
  if (!info.present) {
    harness::DatasetInfo stand_in =
        StandIn(model, "data set " + model.data + ": build/retable datasets fetch " + model.data);
    stand_in.fetch = info.fetch;
    stand_in.fetch_megabytes = info.fetch_megabytes;
    return stand_in;
  }
  const std::int64_t rows = TrainingRows(model, info.rows);
  info.sha256 = TrainingKey(model, info.sha256, rows);
  info.name = model.name;
  info.complete = info.complete && rows == info.rows;
  info.rows = rows;
  return info;
}

// Positions 0, 1, ... of the distinct targets, in ascending order.
std::vector<float> ClassLabels(std::span<const float> target, int first) {
  std::vector<float> levels(target.begin(), target.end());
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<float> labels;
  for (const float t : target) {
    const auto at = std::lower_bound(levels.begin(), levels.end(), t) - levels.begin();
    labels.push_back(static_cast<float>(at + first));
  }
  return labels;
}

std::string TrainInPython(const PaperModel& model, const datasets::Frame& frame,
                          const RowBlock& rows, const std::vector<float>& labels) {
  nlohmann::json categories = nlohmann::json::array();
  for (std::size_t c = 0; c < frame.columns.size(); ++c) {
    if (!frame.columns[c].levels.empty()) categories.push_back(c);
  }
  ResidentProgram trainer(model.Trainer());
  trainer.Load({{"task", "train"},
                {"rounds", model.rounds},
                {"depth", model.depth},
                {"leaves", model.leaves},
                {"eta", model.eta},
                {"classes", model.classes},
                {"categories", categories},
                {"threads", 0}},
               {{"rows", "float32", {rows.rows, rows.columns}, std::as_bytes(rows.values)},
                {"labels", "float32", {rows.rows}, std::as_bytes(std::span(labels))}});
  trainer.Run();
  const auto answer = trainer.Answer({});
  if (answer.size() != 1) throw std::runtime_error(model.Trainer() + " answered no model");
  return {reinterpret_cast<const char*>(answer[0].bytes.data()), answer[0].bytes.size()};
}

// Trains on the first `rows` rows.
std::string Train(const PaperModel& model, const datasets::Frame& frame,
                  const std::vector<float>& values, std::size_t rows) {
  const auto target = std::span<const float>(frame.target->values).first(rows);
  // The paper counts eight classes of covertype, whose labels are 1 to 7.
  const int first = model.classes == 8 ? 1 : 0;
  const std::vector<float> labels = model.classes > 0
                                        ? ClassLabels(target, first)
                                        : std::vector<float>(target.begin(), target.end());
  const std::size_t columns = frame.columns.size();
  const RowBlock training{std::span(values).first(rows * columns), rows, columns};
  if (!model.trainer.empty()) return TrainInPython(model, frame, training, labels);
  return baselines::treeshap::TrainXgboost(
      training, labels, {model.rounds, model.depth, model.leaves, model.eta, model.classes});
}

TreeEnsemble LoadOrTrain(const PaperModel& model, const datasets::Frame& frame,
                         const std::vector<float>& values, std::int64_t rows) {
  const fs::path path = CachePath(model, TrainingKey(model, frame.sha256, rows));
  if (!fs::exists(path)) {
    // A trainer takes all processors, and several beside each other wait for one another's threads:
    // docs/lab/harness/006-training-side-by-side.md.
    const FileLock one_at_a_time(path.parent_path() / "training.lock");
    if (!fs::exists(path)) {
      AtomicFile file(path);
      file.Write(Train(model, frame, values, static_cast<std::size_t>(rows)));
      file.Commit();
    }
  }
  const std::string bytes = ReadWhole(path);
  return model.trainer.empty() ? retable::treeshap::ReadXgboostUbj(bytes)
                               : retable::treeshap::ReadModel(bytes);
}

// `count` rows in a fixed random order, again from the start when there are not enough.
std::vector<float> PickRows(const std::vector<float>& values, std::size_t columns,
                            std::size_t count) {
  const std::size_t rows = values.size() / columns;
  const Philox4x32 philox = Philox4x32::FromSeed(20220405);
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = rows; i > 1; --i) {
    std::swap(order[i - 1], order[UniformBelow(philox.Block(i).half(0), i)]);
  }
  std::vector<float> picked(count * columns);
  for (std::size_t r = 0; r < count; ++r) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(order[r % rows] * columns);
    std::copy_n(from, columns, picked.begin() + static_cast<std::ptrdiff_t>(r * columns));
  }
  return picked;
}

ModelProblem MakeSynthetic(const ModelShape& made, std::size_t rows) {
  const auto& shape = made.shape;
  ModelProblem problem;
  problem.model = SyntheticEnsemble(shape, 1);
  problem.rows = SyntheticRows(shape, rows, 2);
  const Philox4x32 philox = Philox4x32::FromSeed(3);
  for (std::size_t i = 0; made.missing > 0 && i < problem.rows.size(); ++i) {
    if (UniformDouble(philox.Block(i).half(0)) < made.missing) problem.rows[i] = NAN;
  }
  problem.columns = static_cast<std::size_t>(shape.features);
  problem.data_rows = problem.training_rows = shape.rows;
  problem.classes = shape.groups > 1 ? shape.groups : 0;
  problem.origin =
      fmt::format("synthetic: {} trees of {} {}, {} features, {} outputs, by random splits",
                  shape.trees, shape.leaves > 0 ? "leaves" : "depth",
                  shape.leaves > 0 ? shape.leaves : shape.depth, shape.features, shape.groups);
  return problem;
}

// Whether a name is that of all models of a zoo, or of this one.
bool AsksFor(const std::string& name, const std::string& all, const std::string& model) {
  return name == all || name == model || name + " unseen" == model;
}

}  // namespace

std::vector<harness::DatasetInfo> ResolveModels(const std::string& name) {
  std::vector<harness::DatasetInfo> infos;
  const bool synthetic = name.rfind(kSynthetic, 0) == 0;
  const std::string bare = synthetic ? name.substr(std::string(kSynthetic).size()) : name;
  std::vector<std::string> candidates = {"paper"};
  for (const auto* models : {&Models(), &DataSets()}) {
    for (const PaperModel& model : *models) {
      candidates.push_back(model.name);
      if (bare != model.name && !(bare == "paper" && models == &Models())) continue;
      infos.push_back(synthetic ? DescribeSynthetic(model.name) : Describe(model));
    }
  }
  candidates.push_back(kSynthetic + MillionShape().name);
  if (name == candidates.back()) infos.push_back(DescribeSynthetic(bare));
  for (const ModelShape& zoo : ZooShapes()) {
    candidates.push_back(kSynthetic + zoo.name);
    if (synthetic && AsksFor(bare, "zoo", zoo.name)) {
      infos.push_back(DescribeSynthetic(zoo.name));
    }
  }
  for (const PaperModel& zoo : ZooModels()) {
    candidates.push_back(zoo.name);
    if (!synthetic && AsksFor(name, "trained zoo", zoo.name)) infos.push_back(Describe(zoo));
  }
  if (infos.empty()) {
    throw harness::UnknownName("unknown model \"" + name + "\"", name, candidates);
  }
  return infos;
}

ModelProblem LoadModel(const std::string& name, std::size_t rows) {
  if (name.rfind(kSynthetic, 0) == 0) {
    const std::string bare = name.substr(std::string(kSynthetic).size());
    const ModelShape* shape = ShapeOf(bare);
    if (shape == nullptr) throw std::invalid_argument("unknown model \"" + name + "\"");
    ModelProblem problem = MakeSynthetic(*shape, rows);
    if (const PaperModel* model = Find(bare); model != nullptr) {
      problem.classes = model->classes;
      problem.origin = "synthetic ensemble of the model's shape, grown by random splits";
    }
    return problem;
  }
  ModelProblem problem;
  const PaperModel* model = Find(name);
  if (model == nullptr) throw std::invalid_argument("unknown model \"" + name + "\"");
  const datasets::Frame frame = LoadData(model->data);
  if (!frame.target) throw std::invalid_argument(model->data + " has no target");
  std::vector<float> values = frame.RowMajor();
  problem.data_rows = frame.rows;
  problem.training_rows = TrainingRows(*model, frame.rows);
  problem.model = LoadOrTrain(*model, frame, values, problem.training_rows);
  problem.columns = frame.columns.size();
  if (!problem.model.encodings.empty()) {
    const std::vector<double> table(values.begin(), values.end());
    values = retable::treeshap::EncodeRows(problem.model, table);
  }
  problem.rows = PickRows(values, problem.columns, rows);
  problem.classes = model->classes;
  problem.origin = fmt::format("trained by {} on {} rows of {}", TrainedBy(*model),
                               problem.training_rows, model->data);
  return problem;
}

}  // namespace retable::experiments::treeshap
