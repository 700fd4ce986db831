#include "experiments/treeshap/shap_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>

#include "algorithms/treeshap/interaction_index.hpp"
#include "algorithms/treeshap/model_io.hpp"
#include "algorithms/treeshap/top_interactions.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "datasets/atomic_file.hpp"
#include "experiments/treeshap/pieces.hpp"
#include "experiments/treeshap/row_stream.hpp"
#include "harness/csv.hpp"
#include "harness/device.hpp"
#include "harness/progress.hpp"
#include "harness/verbs.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string model, data, out, background;
  std::string device = "auto";
  std::string precision = "float";
  std::string index = "shapley";
  std::vector<std::string> ignore;
  bool interactions = false;
  std::int64_t top_k = 0;
  std::int64_t order = 0;
  std::int64_t threads = 0;
  std::int64_t chunk_rows = 0;
};

// Memory for the results of one chunk.
constexpr std::size_t kChunkBytes = std::size_t{256} << 20;
constexpr std::size_t kMostChunkRows = 1 << 16;

TreeEnsemble LoadModelFile(const std::string& path) {
  const std::string bytes = datasets::ReadWhole(path);
  try {
    return ReadModel(bytes);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

// Where results go: a file that appears when it is complete, or a stream.
class Sink {
 public:
  Sink(const std::string& path, std::ostream& out) : out_(out) {
    if (!path.empty()) file_ = std::make_unique<datasets::AtomicFile>(path);
  }
  void Write(const fmt::memory_buffer& text) {
    const std::string_view view(text.data(), text.size());
    if (file_) {
      file_->Write(view);
    } else if (!out_.write(view.data(), static_cast<std::streamsize>(view.size()))) {
      throw std::runtime_error("cannot write the results");
    }
  }
  void Commit() {
    if (file_) file_->Commit();
  }

 private:
  std::ostream& out_;
  std::unique_ptr<datasets::AtomicFile> file_;
};

// One line on a terminal, nothing elsewhere.
class Bar {
 public:
  explicit Bar(std::ostream& err) : err_(err), shown_(isatty(STDERR_FILENO) == 1) {}
  ~Bar() {
    if (shown_) err_ << "\r\033[K" << std::flush;
  }
  void Show(double done, std::size_t rows) {
    if (!shown_) return;
    constexpr int width = 30;
    const int full = static_cast<int>(done * width);
    const double seconds = Seconds();
    err_ << "\r\033[K"
         << harness::OneLine(
                fmt::format("{:3.0f} %  {} left  {} rows  {:.0f} rows/s  [{}{}]", 100 * done,
                            done > 0 ? harness::DurationText(seconds * (1 - done) / done) : "?",
                            rows, static_cast<double>(rows) / seconds,
                            std::string(static_cast<std::size_t>(full), '#'),
                            std::string(static_cast<std::size_t>(width - full), '.')))
         << std::flush;
  }
  double Seconds() const {
    return std::max(1e-9, std::chrono::duration<double>(Clock::now() - begun_).count());
  }

 private:
  std::ostream& err_;
  bool shown_;
  Clock::time_point begun_ = Clock::now();
};

// What is written for a chunk.
using Explain = std::function<void(const RowBlock&, std::size_t first_row, fmt::memory_buffer&)>;

template <class... T>
void Print(fmt::memory_buffer& to, fmt::format_string<T...> format, T&&... values) {
  fmt::format_to(std::back_inserter(to), format, std::forward<T>(values)...);
}

struct Job {
  TreeEnsemble model;
  std::vector<std::string> columns;  // names of the features, as CSV fields
  std::string method, device;
  std::size_t per_row = 1;  // values a row
  std::string header;
  Explain explain;
};

// The method on the device asked for; "auto" takes a GPU where the method has a twin and there is
// one.
std::unique_ptr<TreeExplainer> Make(const std::string& method, const Arguments& a, Job& job) {
  const auto& registry = Registry<TreeExplainer>::Instance();
  std::string why;
  const bool twin = registry.Find(method, Device::kCuda) != nullptr;
  const bool shapley = a.index == "shapley";
  const bool gpu = a.device != "cpu" && twin && shapley && harness::CudaDevicePresent(&why);
  if (a.device == "cuda" && !gpu) {
    throw std::invalid_argument(!twin      ? method + " has no CUDA twin in this program"
                                : !shapley ? "Banzhaf values are computed on the processor"
                                           : "no CUDA device: " + why);
  }
  Parameters parameters;
  const auto* info = registry.Find(method, gpu ? Device::kCuda : Device::kCpu);
  const auto set = [&](const char* name, const ParameterValue& value) {
    for (const auto& p : info->parameters) {
      if (p.name == name) parameters[name] = value;
    }
  };
  set("threads", gpu ? ParameterValue{std::int64_t{0}} : ParameterValue{a.threads});
  set("precision", a.precision);
  if (!gpu) set("index", a.index);
  job.method = method;
  job.device = gpu ? "cuda" : "cpu";
  return registry.Make(method, gpu ? Device::kCuda : Device::kCpu, parameters);
}

void ValuesJob(const Arguments& a, std::shared_ptr<TreeExplainer> explainer, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const auto side = static_cast<std::size_t>(job.model.features) + 1;
  job.per_row = ValuesPerRow(job.model);
  job.header = "row,output";
  for (const std::string& name : job.columns) job.header += "," + name;
  job.header += ",expected\n";
  const int digits = a.precision == "double" ? 17 : 9;
  job.explain = [=](const RowBlock& rows, std::size_t first, fmt::memory_buffer& to) {
    const auto phi = explainer->values(rows);
    for (std::size_t r = 0; r < rows.rows; ++r) {
      for (std::size_t g = 0; g < groups; ++g) {
        Print(to, "{},{}", first + r, g);
        for (std::size_t i = 0; i < side; ++i) {
          Print(to, ",{:.{}g}", phi[(r * groups + g) * side + i], digits);
        }
        Print(to, "\n");
      }
    }
  };
}

constexpr const char* kPairHeader = "row,output,feature,with,value\n";

void InteractionsJob(const Arguments& a, std::shared_ptr<TreeExplainer> explainer, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const auto side = static_cast<std::size_t>(job.model.features) + 1;
  job.per_row = InteractionsPerRow(job.model);
  job.header = kPairHeader;
  std::vector<std::string> names = job.columns;
  names.push_back("expected");
  const int digits = a.precision == "double" ? 17 : 9;
  job.explain = [=](const RowBlock& rows, std::size_t first, fmt::memory_buffer& to) {
    const auto matrices = explainer->interactions(rows);
    for (std::size_t m = 0; m < rows.rows * groups; ++m) {
      const double* matrix = matrices.data() + m * side * side;
      for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = i; j < side; ++j) {
          const double value = matrix[i * side + j];
          if (value == 0 && j + 1 < side) continue;
          if (value == 0 && i != j) continue;
          Print(to, "{},{},{},{},{:.{}g}\n", first + m / groups, m % groups, names[i], names[j],
                value, digits);
        }
      }
    }
  };
}

void TopJob(const Arguments& a, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const auto k = static_cast<std::size_t>(a.top_k);
  TopInteractionsOptions options;
  options.k = k;
  options.threads = static_cast<int>(a.threads);
  const auto search = std::make_shared<TopInteractions>(job.model, options);
  job.method = "top-k";
  job.device = "cpu";
  job.per_row = groups * k * 2;
  job.header = kPairHeader;
  const std::vector<std::string> names = job.columns;
  job.explain = [=](const RowBlock& rows, std::size_t first, fmt::memory_buffer& to) {
    const auto pairs = search->find(rows);
    for (std::size_t m = 0; m < pairs.size(); ++m) {
      for (const InteractionPair& pair : pairs[m]) {
        Print(to, "{},{},{},{},{:.9g}\n", first + m / groups, m % groups,
              names[static_cast<std::size_t>(pair.first)],
              names[static_cast<std::size_t>(pair.second)], pair.value);
      }
    }
  };
}

void OrderJob(const Arguments& a, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  InteractionIndexOptions options;
  options.order = static_cast<int>(a.order);
  options.banzhaf = a.index == "banzhaf";
  options.threads = static_cast<int>(a.threads);
  const auto index = std::make_shared<InteractionIndex>(job.model, options);
  job.method = "order " + std::to_string(a.order);
  job.device = "cpu";
  job.per_row = std::max<std::size_t>(1, index->sets() * 8);  // a set is a list on its own
  job.header = "row,output";
  for (std::int64_t i = 1; i <= a.order; ++i) job.header += fmt::format(",feature_{}", i);
  job.header += ",value\n";
  const std::vector<std::string> names = job.columns;
  const int digits = a.precision == "double" ? 17 : 9;
  job.explain = [=](const RowBlock& rows, std::size_t first, fmt::memory_buffer& to) {
    const auto found = index->find(rows);
    for (std::size_t m = 0; m < found.size(); ++m) {
      for (const SetValue& set : found[m]) {
        Print(to, "{},{}", first + m / groups, m % groups);
        for (const std::int32_t f : set.features) {
          Print(to, ",{}", names[static_cast<std::size_t>(f)]);
        }
        Print(to, ",{:.{}g}\n", set.value, digits);
      }
    }
  };
}

std::vector<float> ReadBackground(const std::string& path, const WantedColumns& wanted) {
  RowStream stream(path, wanted);
  std::vector<float> values;
  while (stream.Read(kMostChunkRows, values) > 0) {
  }
  return values;
}

Job Plan(const Arguments& a, TreeEnsemble model, const std::vector<std::string>& names) {
  Job job;
  job.model = std::move(model);
  for (const std::string& name : names) job.columns.push_back(harness::CsvField(name));
  if (a.top_k > 0) {
    if (a.device == "cuda") {
      throw std::invalid_argument("--top-k runs on the processor; use --device cpu or auto");
    }
    TopJob(a, job);
    return job;
  }
  if (a.order > 0) {
    if (a.device == "cuda") {
      throw std::invalid_argument("--order runs on the processor; use --device cpu or auto");
    }
    OrderJob(a, job);
    return job;
  }
  const bool interventional = !a.background.empty();
  std::shared_ptr<TreeExplainer> explainer =
      Make(interventional ? "Interventional" : "Quadrature", a, job);
  explainer->prepare(job.model);
  if (interventional) {
    const auto features = static_cast<std::size_t>(job.model.features);
    const auto values = ReadBackground(a.background, {features, job.model.feature_names, a.ignore});
    if (values.empty()) throw std::invalid_argument(a.background + " has no rows");
    explainer->set_background({values, values.size() / features, features});
  }
  if (a.interactions) {
    InteractionsJob(a, std::move(explainer), job);
  } else {
    ValuesJob(a, std::move(explainer), job);
  }
  return job;
}

int Run(const Arguments& a, std::ostream& out, std::ostream& err) {
  TreeEnsemble model = LoadModelFile(a.model);
  const auto features = static_cast<std::size_t>(model.features);
  RowStream stream(a.data, {features, model.feature_names, a.ignore});
  Job job = Plan(a, std::move(model), stream.names());
  Sink sink(a.out, out);
  Bar bar(err);
  fmt::memory_buffer text;
  text.append(job.header);
  std::size_t piece =
      a.chunk_rows > 0 ? static_cast<std::size_t>(a.chunk_rows)
                       : std::clamp<std::size_t>(kChunkBytes / 8 / job.per_row, 1, kMostChunkRows);
  std::size_t rows = 0;
  std::vector<float> values;
  for (;;) {
    values.clear();
    const std::size_t count = stream.Read(piece, values);
    if (count == 0) break;
    const RowBlock block{values, count, features};
    InPieces(count, piece, [&](std::size_t first, std::size_t part) {
      const std::size_t written = text.size();
      try {
        job.explain(block.slice(first, part), rows + first, text);
      } catch (...) {
        text.resize(written);
        throw;
      }
    });
    rows += count;
    sink.Write(text);
    text.clear();
    bar.Show(stream.done(), rows);
  }
  sink.Write(text);
  sink.Commit();
  if (!a.out.empty()) {
    out << fmt::format("{} rows explained in {} by {} ({}), written to {}\n", rows,
                       harness::DurationText(bar.Seconds()), job.method, job.device, a.out);
  }
  return 0;
}

void Declare(CLI::App& app, Arguments& a) {
  app.add_option("--model", a.model, "XGBoost JSON or UBJ, LightGBM text, or a retable-forest JSON")
      ->required();
  app.add_option("--data", a.data, "rows to explain: .csv with a header line, or .arff")
      ->required();
  app.add_option("--out", a.out, "CSV; default: standard output");
  app.add_option("--ignore", a.ignore, "columns of the data to leave out, as the target")
      ->delimiter(',');
  auto* pairs = app.add_flag("--interactions", a.interactions, "all pairs that are not zero");
  auto* top = app.add_option("--top-k", a.top_k, "the K strongest pairs of each row alone")
                  ->check(CLI::Range(1, 1000000000));
  auto* order =
      app.add_option("--order", a.order, "the interaction index of every set of this many features")
          ->check(CLI::Range(1, 64));
  auto* background = app.add_option("--background", a.background,
                                    "interventional values against the rows of this .csv or .arff");
  auto* index = app.add_option("--index", a.index, "shapley (default) or banzhaf")
                    ->check(CLI::IsMember({"shapley", "banzhaf"}));
  top->excludes(pairs)->excludes(background)->excludes(index);
  background->excludes(pairs)->excludes(index);
  order->excludes(pairs)->excludes(top)->excludes(background);
  app.add_option("--device", a.device, "auto (default), cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  app.add_option("--precision", a.precision, "float (default) or double, on the processor")
      ->check(CLI::IsMember({"float", "double"}));
  app.add_option("--threads", a.threads, "processor threads; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--chunk-rows", a.chunk_rows, "rows at a time; 0: as 256 MB of results allow")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace

int ShapMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments arguments;
  CLI::App app{"retable shap: exact SHAP values of tree ensembles", "retable shap"};
  Declare(app, arguments);
  return harness::RunVerb(app, args, out, err, [&] { return Run(arguments, out, err); });
}

static const harness::VerbRegistration registered_shap(
    {"shap", "explain the rows of a file by an XGBoost, LightGBM or scikit-learn model", ShapMain});

}  // namespace retable::experiments::treeshap
