//! @file
//! `retable shap`: attributions of any XGBoost, LightGBM or exported forest, for rows of a CSV or
//! ARFF file, written as CSV.
//!
//! Rows are read, explained and written a chunk at a time, so neither file need fit into memory; a
//! chunk that does not fit into a device's memory is halved.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>

#include "algorithms/treeshap/host/fallback_explainer.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/interaction_index.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"
#include "apps/shap/halving.hpp"
#include "apps/shap/pieces.hpp"
#include "apps/shap/row_stream.hpp"
#include "base/atomic_file.hpp"
#include "base/files/output_paths.hpp"
#include "base/files/table_format.hpp"
#include "base/npy/writer.hpp"
#include "base/parallel.hpp"
#include "base/sha256.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/machine/device.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/csv.hpp"
#include "harness/run/progress.hpp"

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
  std::optional<std::string> shard;
  bool resume = false;
  bool interactions = false;
  bool all_trees = false;
  std::int64_t top_k = 0;
  std::int64_t order = 0;
  std::int64_t threads = 0;
  std::int64_t gpus = 1;
  std::int64_t chunk_rows = 0;
};

// Memory for the results of one chunk.
constexpr std::size_t kChunkBytes = std::size_t{256} << 20;
constexpr std::size_t kMostChunkRows = 1 << 16;

// @param hash receives that of the file's bytes, where it is not null
TreeEnsemble LoadModelFile(const std::string& path, const ReadOptions& options, std::string* hash) {
  const std::string bytes = ReadWhole(path);
  if (hash != nullptr) *hash = Sha256(bytes);
  try {
    return ReadModel(bytes, options);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what());
  }
}

// The destination of results: a file that appears when it is complete, or a stream.
class Sink {
 public:
  Sink(const std::string& path, std::ostream& out) : out_(out) {
    if (!path.empty()) file_ = std::make_unique<AtomicFile>(path);
  }
  void Write(std::string_view view) {
    if (file_) {
      file_->Write(view);
    } else if (!out_.write(view.data(), static_cast<std::streamsize>(view.size()))) {
      throw std::runtime_error("cannot write the results");
    }
  }
  void Rewrite(std::string_view start) { file_->Rewrite(start); }
  void Commit() {
    if (file_) file_->Commit();
  }

 private:
  std::ostream& out_;
  std::unique_ptr<AtomicFile> file_;
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

// The output for a block of rows: texts, one after the other.
using Texts = std::vector<fmt::memory_buffer>;
using Explain = std::function<Texts(const RowBlock&, std::size_t first_row)>;

template <class... T>
void Print(fmt::memory_buffer& to, fmt::format_string<T...> format, T&&... values) {
  fmt::format_to(std::back_inserter(to), format, std::forward<T>(values)...);
}

// Calls line(row, text) for all rows on all threads; returns one text a thread.
template <class Line>
Texts Lines(std::size_t rows, std::int64_t threads, const Line& line) {
  Texts texts(std::clamp<std::size_t>(rows / 64, 1, 64));
  ParallelFor(texts.size(), static_cast<int>(threads), [&](std::size_t t) {
    const std::size_t last = rows * (t + 1) / texts.size();
    for (std::size_t r = rows * t / texts.size(); r < last; ++r) line(r, texts[t]);
  });
  return texts;
}

struct Job {
  TreeEnsemble model;
  std::vector<std::string> columns;  // names of the features, as CSV fields
  std::string method, device;
  std::shared_ptr<FallbackExplainer> explainer;  // computes values and matrices
  std::vector<float> background;
  std::size_t per_row = 1;  // values a row
  std::string header;
  std::vector<std::size_t> row_shape;  // of an array's row, where there is one
  Explain explain;
  std::vector<std::string> notes;  // for the user
};

// The header of an array of so many rows: (rows, outputs, ...), without `outputs` where it is 1.
std::string ArrayHeader(const Arguments& a, const Job& job, std::size_t rows) {
  std::vector<std::size_t> shape = {rows};
  if (job.model.groups > 1) shape.push_back(static_cast<std::size_t>(job.model.groups));
  shape.insert(shape.end(), job.row_shape.begin(), job.row_shape.end());
  return NpyHeader(a.precision == "double" ? "<f8" : "<f4", shape);
}

Texts ArrayBytes(const Results& values, bool doubles) {
  Texts bytes(1);
  const auto append = [&](const auto* items, std::size_t count) {
    const auto* from = reinterpret_cast<const char*>(items);
    bytes[0].append(from, from + count * sizeof(*items));
  };
  if (doubles) {
    append(values.data(), values.size());
    return bytes;
  }
  RequireFinite(values, doubles, std::numeric_limits<float>::max());
  const std::vector<float> floats(values.begin(), values.end());
  append(floats.data(), floats.size());
  return bytes;
}

constexpr const char* kPairHeader = "row,output,feature,with,value\n";

// Digits from which a reader has the number back.
int Digits(const Arguments& a) {
  return a.precision == "double" ? 17 : 9;
}

// Values, a line for each row and output, or interactions, a line for each pair that is not zero.
void ValuesJob(const Arguments& a, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const auto side = static_cast<std::size_t>(job.model.features) + 1;
  std::vector<std::string> names = job.columns;
  names.push_back("expected");
  job.row_shape.assign(a.interactions ? 2 : 1, side);
  job.per_row = a.interactions ? InteractionsPerRow(job.model) : ValuesPerRow(job.model);
  job.header = a.interactions ? kPairHeader : fmt::format("row,output,{}\n", fmt::join(names, ","));
  const bool pairs = a.interactions, doubles = a.precision == "double";
  const bool array = IsArrayOutput(a.out);
  const int digits = Digits(a);
  job.explain = [=, threads = a.threads, per_row = job.per_row, explainer = job.explainer](
                    const RowBlock& rows, std::size_t first) {
    const auto results = pairs ? explainer->interactions(rows) : explainer->values(rows);
    RequireFinite(results, doubles);
    if (array) return ArrayBytes(results, doubles);
    return Lines(rows.rows * groups, threads, [&](std::size_t m, fmt::memory_buffer& to) {
      const double* own = results.data() + m * per_row / groups;
      const auto place = fmt::format("{},{}", first + m / groups, m % groups);
      if (!pairs) {
        Print(to, "{}", place);
        for (std::size_t i = 0; i < side; ++i) Print(to, ",{:.{}g}", own[i], digits);
        Print(to, "\n");
        return;
      }
      for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = i; j < side; ++j) {
          const double value = own[i * side + j];
          const bool corner = i + 1 == side;  // the expected value, zero or not
          if (value == 0 && !corner) continue;
          Print(to, "{},{},{},{:.{}g}\n", place, names[i], names[j], value, digits);
        }
      }
    });
  };
}

void TopJob(const Arguments& a, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const auto k = static_cast<std::size_t>(a.top_k);
  const TopInteractionsOptions options{.k = k, .threads = static_cast<int>(a.threads)};
  const auto search = std::make_shared<TopInteractions>(job.model, options);
  job.method = "top-k";
  job.device = "cpu";
  job.per_row = groups * k * 2;
  job.header = kPairHeader;
  job.explain = [=, threads = a.threads, names = job.columns](const RowBlock& rows,
                                                              std::size_t first) {
    const auto pairs = search->find(rows);
    return Lines(pairs.size(), threads, [&](std::size_t m, fmt::memory_buffer& to) {
      for (const InteractionPair& pair : pairs[m]) {
        Print(to, "{},{},{},{},{:.9g}\n", first + m / groups, m % groups,
              names[static_cast<std::size_t>(pair.first)],
              names[static_cast<std::size_t>(pair.second)], pair.value);
      }
    });
  };
}

void OrderJob(const Arguments& a, Job& job) {
  const auto groups = static_cast<std::size_t>(job.model.groups);
  const InteractionIndexOptions options{.order = static_cast<int>(a.order),
                                        .banzhaf = a.index == "banzhaf",
                                        .threads = static_cast<int>(a.threads)};
  const auto index = std::make_shared<InteractionIndex>(job.model, options);
  job.method = "order " + std::to_string(a.order);
  job.device = "cpu";
  job.per_row = std::max<std::size_t>(1, index->sets() * 8);  // a set is a list on its own
  job.header = "row,output";
  for (std::int64_t i = 1; i <= a.order; ++i) job.header += fmt::format(",feature_{}", i);
  job.header += ",value\n";
  const int digits = Digits(a);
  job.explain = [=, threads = a.threads, names = job.columns](const RowBlock& rows,
                                                              std::size_t first) {
    const auto found = index->find(rows);
    return Lines(found.size(), threads, [&](std::size_t m, fmt::memory_buffer& to) {
      for (const SetValue& set : found[m]) {
        Print(to, "{},{}", first + m / groups, m % groups);
        for (const std::int32_t f : set.features) {
          Print(to, ",{}", names[static_cast<std::size_t>(f)]);
        }
        Print(to, ",{:.{}g}\n", set.value, digits);
      }
    });
  };
}

struct Chunk {
  std::size_t number = 0;     // of the file's chunks
  std::size_t first_row = 0;  // of the file's rows
  std::size_t rows = 0;       // 0: the end of the file; number and first_row are how many there are
  double done = 0;            // fraction of the file
  std::vector<float> values;
};

// The chunks of a file that are wanted, each read while the one before is explained. Where a chunk
// begins does not depend on which are wanted.
class Chunks {
 public:
  using Wanted = std::function<bool(std::size_t number)>;
  Chunks(RowStream& stream, std::size_t rows, Wanted wanted)
      : stream_(stream), rows_(rows), wanted_(std::move(wanted)) {
    Begin();
  }
  Chunk Next() {
    Chunk chunk = next_.get();
    if (chunk.rows > 0) Begin();
    return chunk;
  }

 private:
  void Begin() {
    next_ = std::async(std::launch::async, [this] { return Read(); });
  }
  Chunk Read() {
    Chunk chunk;
    for (bool wanted = false; !wanted; ++number_) {
      chunk.number = number_;
      chunk.first_row = row_;
      wanted = wanted_(number_);
      const std::size_t rows = wanted ? stream_.Read(rows_, chunk.values) : stream_.Skip(rows_);
      row_ += rows;
      if (wanted) chunk.rows = rows;
      if (rows == 0) break;
    }
    chunk.done = stream_.done();
    return chunk;
  }

  RowStream& stream_;
  const std::size_t rows_;
  const Wanted wanted_;
  std::size_t number_ = 0, row_ = 0;
  std::future<Chunk> next_;  // waited for before the others go
};

std::vector<float> ReadBackground(const Arguments& a, Job& job) {
  RowStream stream(a.background, job.model, a.ignore, static_cast<int>(a.threads));
  std::vector<float> values;
  while (stream.Read(kMostChunkRows, values) > 0) {
  }
  if (values.empty()) throw std::invalid_argument(a.background + " has no rows");
  job.notes = stream.notes();
  return values;
}

// Jobs that only the processor does.
void RequireProcessor(const Arguments& a, const char* option) {
  if (a.device != "cuda" && a.gpus == 1) return;
  throw std::invalid_argument(
      fmt::format("{} runs on the processor; use --device cpu or auto", option));
}

// Floats below 1e-38 have fewer digits, and sums hold parts that are smaller than the leaves.
void NoteSmallLeaves(const Arguments& a, Job& job) {
  double largest = 0;
  for (const Tree& tree : job.model.trees) largest = std::max(largest, LargestLeaf(tree));
  if (a.precision == "double" || largest == 0 || largest >= 1e-34) return;
  job.notes.push_back(
      fmt::format("{}: no leaf is larger than {:.3g}, where 32 bits lose digits; use --precision "
                  "double",
                  a.model, largest));
}

void PlanExplainer(const Arguments& a, Job& job) {
  const bool interventional = !a.background.empty();
  job.method = interventional ? "Interventional" : "Quadrature";
  std::string why_not_gpu;
  job.explainer = MakeExplainer(job.method,
                                {.device = a.device,
                                 .precision = a.precision,
                                 .index = a.index,
                                 .threads = a.threads,
                                 .gpus = a.gpus},
                                why_not_gpu);
  job.device = why_not_gpu.empty() ? "cuda" : "cpu";
  job.explainer->prepare(job.model);
  if (interventional) {
    const auto features = static_cast<std::size_t>(job.model.features);
    job.background = ReadBackground(a, job);
    job.explainer->set_background({job.background, job.background.size() / features, features});
  } else {
    NoteSmallLeaves(a, job);
  }
  ValuesJob(a, job);
}

void Plan(const Arguments& a, const std::vector<std::string>& names, Job& job) {
  for (const std::string& name : names) {
    job.columns.push_back(harness::CsvField(name));
    if (IsArrayOutput(a.out) || (name != "row" && name != "output" && name != "expected")) continue;
    job.notes.push_back(fmt::format(
        "a feature is called \"{}\", as a column of the result is: tell them by their place",
        name));
  }
  if (IsArrayOutput(a.out) && (a.top_k > 0 || a.order > 0)) {
    throw std::invalid_argument(
        "--top-k and --order give lists of sets, which are no array: write "
        "them to a .csv file");
  }
  if (a.top_k > 0) {
    RequireProcessor(a, "--top-k");
    if (a.precision == "double") {
      throw std::invalid_argument(
          "--top-k computes in 32 bits; --interactions --precision double gives all pairs in 64");
    }
    TopJob(a, job);
  } else if (a.order > 0) {
    RequireProcessor(a, "--order");
    OrderJob(a, job);
  } else {
    PlanExplainer(a, job);
  }
}

// Explains a chunk in batches that memory suffices for.
void ExplainChunk(const Job& job, const Chunk& chunk, std::size_t& batch_rows,
                  const std::function<void(std::string_view)>& write) {
  const RowBlock block{chunk.values, chunk.rows, static_cast<std::size_t>(job.model.features)};
  ForEachBatch(chunk.rows, batch_rows, [&](std::size_t first, std::size_t count) {
    for (const auto& text : job.explain(block.slice(first, count), chunk.first_row + first)) {
      write({text.data(), text.size()});
    }
  });
}

// What a call did: rows explained here, all rows of the file, chunks that are still missing.
struct Totals {
  std::size_t rows = 0, of = 0, missing = 0;
  bool was_complete = false;
};

std::string ResultStart(const Arguments& a, const Job& job, std::size_t rows) {
  return IsArrayOutput(a.out) ? ArrayHeader(a, job, rows) : job.header;
}

Totals ExplainAll(const Arguments& a, const Job& job, RowStream& stream, std::size_t chunk_rows,
                  std::ostream& out, Bar& bar) {
  Sink sink(a.out, out);
  sink.Write(ResultStart(a, job, 0));
  Totals totals;
  std::size_t batch_rows = chunk_rows;
  Chunks chunks(stream, chunk_rows, [](std::size_t) { return true; });
  for (Chunk chunk = chunks.Next(); chunk.rows > 0; chunk = chunks.Next()) {
    ExplainChunk(job, chunk, batch_rows, [&](std::string_view text) { sink.Write(text); });
    totals.rows += chunk.rows;
    bar.Show(chunk.done, totals.rows);
  }
  if (IsArrayOutput(a.out)) sink.Rewrite(ResultStart(a, job, totals.rows));
  sink.Commit();
  return totals;
}

// Processes that share the work write pieces, each a chunk; the last one joins them.
Totals ExplainPieces(const Arguments& a, const Job& job, RowStream& stream, std::size_t chunk_rows,
                     const ResultPieces& pieces, const harness::Shard& shard, Bar& bar) {
  if (pieces.complete()) {
    pieces.Join(0, "");  // removes what a killed process left
    return {.was_complete = true};
  }
  Totals totals;
  std::size_t batch_rows = chunk_rows;
  Chunks chunks(stream, chunk_rows, [&](std::size_t number) {
    const auto own = static_cast<std::size_t>(shard.index - 1);
    return number % static_cast<std::size_t>(shard.count) == own && !pieces.Has(number);
  });
  for (Chunk chunk = chunks.Next();; chunk = chunks.Next()) {
    totals.of = chunk.first_row;
    if (chunk.rows == 0) {
      totals.missing = pieces.Join(chunk.number, ResultStart(a, job, totals.of));
      return totals;
    }
    const auto explain = [&](AtomicFile& file) {
      ExplainChunk(job, chunk, batch_rows, [&](std::string_view text) { file.Write(text); });
    };
    if (!pieces.Save(chunk.number, explain)) {
      pieces.Join(0, "");
      return {.rows = totals.rows, .was_complete = true};
    }
    totals.rows += chunk.rows;
    bar.Show(chunk.done, totals.rows);
  }
}

bool OnProcessor(const Job& job) {
  return job.device == "cpu" || (job.explainer != nullptr && !job.explainer->why().empty());
}

// All that decides the bytes of a result, save the processor's vectors and what `files` tells. On a
// GPU that includes how many rows a call explains.
nlohmann::ordered_json Description(const Arguments& a, const Job& job, std::size_t chunk_rows,
                                   nlohmann::ordered_json files) {
  files.update({{"ignore", a.ignore},
                {"all_trees", a.all_trees},
                {"interactions", a.interactions},
                {"top_k", a.top_k},
                {"order", a.order},
                {"index", a.index},
                {"precision", a.precision},
                {"rows_a_piece", chunk_rows},
                {"device", OnProcessor(job) ? "cpu" : harness::DeviceClass()},
                {"gpus", a.gpus},
                {"program_sources", harness::FamilySourceHash("treeshap")}});
  return files;
}

harness::Shard ShardOf(const Arguments& a) {
  try {
    return harness::ParseShard(a.shard.value_or(""));
  } catch (const harness::ConfigError& problem) {
    throw harness::UsageError(problem.what());
  }
}

// What the user is told at the end.
std::string Summary(const Arguments& a, const Job& job, const Totals& totals, double seconds) {
  const std::string did =
      fmt::format("{} rows explained in {} by {} ({})", totals.rows, harness::DurationText(seconds),
                  job.method, OnProcessor(job) ? "cpu" : job.device);
  if (totals.was_complete) {
    return fmt::format("{}, complete already; remove it to begin anew: {}", a.out, did);
  }
  if (totals.missing > 0) {
    return fmt::format(
        "{}; {} pieces of {} are missing, which other processes make, or the same command with "
        "--resume in place of --shard",
        did, totals.missing, a.out);
  }
  return fmt::format("{}, written to {}", did, a.out) +
         (totals.of > totals.rows ? fmt::format(" with those before: {} rows", totals.of) : "");
}

int Run(const Arguments& a, std::ostream& out, std::ostream& err) {
  const bool in_pieces = a.resume || a.shard.has_value();
  const harness::Shard shard = ShardOf(a);
  if (in_pieces && a.out.empty()) {
    throw harness::UsageError("--shard and --resume need --out FILE: pieces are kept beside it");
  }
  KeepInputs(a.out, {a.model, a.data, a.background});
  if (in_pieces) KeepInputs(ResultPieces::AboutFile(a.out), {a.model, a.data, a.background});
  if (!in_pieces) ResultPieces::RefuseOthers(a.out);
  const auto say = [&](const std::string& what) {
    err << "retable shap: " << a.model << ": " << what << "\n";
  };
  std::string hash;
  nlohmann::ordered_json files;  // as they are before they are read
  if (in_pieces) files = {{"data", FileStamp(a.data)}, {"background", nullptr}};
  if (in_pieces && !a.background.empty()) files["background"] = FileStamp(a.background);
  // Does not move: explainer and stream refer to its model.
  Job job{.model = LoadModelFile(a.model, {.all_trees = a.all_trees, .say = say},
                                 in_pieces ? &hash : nullptr)};
  RowStream stream(a.data, job.model, a.ignore, static_cast<int>(a.threads));
  Plan(a, stream.names(), job);
  const std::size_t chunk_rows =
      a.chunk_rows > 0 ? static_cast<std::size_t>(a.chunk_rows)
                       : std::clamp<std::size_t>(kChunkBytes / 8 / job.per_row, 1, kMostChunkRows);
  Totals totals;
  double seconds = 0;
  {
    Bar bar(err);
    if (in_pieces) {
      files["model"] = hash;
      const ResultPieces pieces(a.out, a.data, Description(a, job, chunk_rows, files));
      totals = ExplainPieces(a, job, stream, chunk_rows, pieces, shard, bar);
    } else {
      totals = ExplainAll(a, job, stream, chunk_rows, out, bar);
    }
    seconds = bar.Seconds();
  }
  for (std::string& note : stream.notes()) job.notes.push_back(std::move(note));
  for (const std::string& note : job.notes) err << "retable shap: note: " << note << "\n";
  const bool changed = job.explainer != nullptr && !job.explainer->why().empty();
  if (changed) err << "retable shap: on the processor: " << job.explainer->why() << "\n";
  if (!a.out.empty()) {
    (IsStandardOutput(a.out) ? err : out) << Summary(a, job, totals, seconds) << "\n";
  }
  return 0;
}

void Declare(CLI::App& app, Arguments& a) {
  app.add_option("--model", a.model,
                 "XGBoost JSON or UBJ, LightGBM text, a file of retable forest, or what "
                 "apps/shap/from_scikit_learn.py or from_catboost.py wrote")
      ->required();
  app.add_option("--data", a.data, "rows to explain: .csv with a header line, .arff or .npy")
      ->required();
  app.add_option("--out", a.out, "a .npy file, or CSV; default: CSV to standard output");
  app.add_option("--ignore", a.ignore, "columns of the data to leave out, as the target")
      ->delimiter(',');
  app.add_flag("--all-trees", a.all_trees,
               "all trees of a model whose training stopped early, not those that predict uses");
  auto* pairs = app.add_flag("--interactions", a.interactions, "all pairs that are not zero");
  auto* top = app.add_option("--top-k", a.top_k, "the K strongest pairs of each row alone")
                  ->check(CLI::Range(1, 1000000000));
  auto* order =
      app.add_option("--order", a.order, "the interaction index of every set of this many features")
          ->check(CLI::Range(1, 64));
  auto* background = app.add_option("--background", a.background,
                                    "interventional values against the rows of this file");
  auto* index = app.add_option("--index", a.index, "shapley (default) or banzhaf")
                    ->check(CLI::IsMember({"shapley", "banzhaf"}));
  top->excludes(pairs)->excludes(background)->excludes(index);
  background->excludes(pairs)->excludes(index);
  order->excludes(pairs)->excludes(top)->excludes(background);
  app.add_option("--device", a.device, "auto (default), cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  app.add_option("--precision", a.precision, "float (default) or double, on the processor")
      ->check(CLI::IsMember({"float", "double"}));
  app.add_option("--gpus", a.gpus, "GPUs that share the rows")->check(CLI::Range(1, 1024));
  app.add_option("--threads", a.threads, "processor threads; 0: all")->check(CLI::Range(0, 65536));
  app.add_option("--chunk-rows", a.chunk_rows, "rows at a time; 0: as 256 MB of results allow")
      ->check(CLI::Range(0, 1000000000));
  app.add_option("--shard", a.shard,
                 "i/n: this process makes every n-th piece of --out; auto: as Slurm or MPI numbers "
                 "it; finished pieces are kept in OUT.parts and joined when all are there");
  app.add_flag("--resume", a.resume,
               "keep finished pieces in OUT.parts, go on with those that are there");
}

int ShapMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments arguments;
  CLI::App app{"retable shap: exact SHAP values of tree ensembles", "retable shap"};
  Declare(app, arguments);
  return harness::RunVerb(app, args, out, err, [&] { return Run(arguments, out, err); });
}

const harness::VerbRegistration registered_shap(
    {"shap", "explain the rows of a file by an XGBoost, LightGBM, CatBoost or scikit-learn model",
     ShapMain});

}  // namespace
}  // namespace retable::experiments::treeshap
