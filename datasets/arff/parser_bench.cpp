//! @file
//! How fast ARFF is read, and in how much memory.
//!
//!     arff_bench [--benchmark_filter=...] [FILE.arff[.gz] ...]
//!
//! Without files it reads a generated text with MNIST's shape (7,000 x 785 bytes) and one of
//! decimals. bytes_per_second counts decompressed text. "peak/matrix" is the growth of the
//! process's peak resident memory over parsing, divided by the resulting matrix of float32 plus its
//! codes; it is measured in a child process, since a peak cannot be reset.

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "datasets/arff/parser.hpp"
#include "datasets/generators/generators.hpp"
#include "datasets/openml/gzip.hpp"

namespace retable::datasets {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  return bytes;
}

std::string PixelText(int rows, int columns) {
  const GeneratorSpec spec = ParseGenerator("zero_inflated(0.8)");
  std::string text = "@relation pixels\n";
  for (int c = 0; c < columns; ++c) text += "@attribute p" + std::to_string(c) + " real\n";
  text += "@data\n";
  std::vector<double> row(static_cast<std::size_t>(columns));
  for (int r = 0; r < rows; ++r) {
    Generate(spec, 1, static_cast<std::uint64_t>(r) * row.size(), row);
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) text += ',';
      text += std::to_string(static_cast<int>(row[c] * 60) % 256);
    }
    text += '\n';
  }
  return text;
}

std::string DecimalText(int rows, int columns) {
  const GeneratorSpec spec = ParseGenerator("normal");
  std::string text = "@relation decimals\n";
  for (int c = 0; c < columns; ++c) text += "@attribute p" + std::to_string(c) + " real\n";
  text += "@data\n";
  std::vector<double> row(static_cast<std::size_t>(columns));
  char buffer[64];
  for (int r = 0; r < rows; ++r) {
    Generate(spec, 1, static_cast<std::uint64_t>(r) * row.size(), row);
    for (std::size_t c = 0; c < row.size(); ++c) {
      text.append(buffer, static_cast<std::size_t>(std::snprintf(
                              buffer, sizeof buffer, c > 0 ? ",%.6f" : "%.6f", row[c])));
    }
    text += '\n';
  }
  return text;
}

void ParseText(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const Frame frame = ParseArff(text);
    benchmark::DoNotOptimize(frame.rows);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}

double PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

double MatrixBytes(const Frame& frame) {
  double bytes = 0;
  const auto add = [&bytes](const Column& column) {
    bytes += static_cast<double>(column.values.size_bytes() + column.codes8.size_bytes() +
                                 column.codes16.size_bytes() + column.wide.size_bytes());
  };
  for (const Column& column : frame.columns) add(column);
  if (frame.target) add(*frame.target);
  return bytes;
}

//! Streams the file through decompression and parsing, as the cache does.
Frame ParseStream(const std::string& path, std::int64_t& text_bytes) {
  ArffParser parser({path, std::int64_t{1} << 31, {}});
  Inflater inflater([&](std::string_view piece) {
    text_bytes += static_cast<std::int64_t>(piece.size());
    parser.Feed(piece);
  });
  std::ifstream in(path, std::ios::binary);
  std::string piece(1 << 18, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    inflater.Feed(std::string_view(piece.data(), static_cast<std::size_t>(in.gcount())));
  }
  inflater.Finish();
  return parser.Finish();
}

//! Peak memory over matrix, from a child process which does nothing else.
double PeakOverMatrix(const std::string& path) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const double before = PeakBytes();
    std::int64_t text_bytes = 0;
    const Frame frame = ParseStream(path, text_bytes);
    const double ratio = (PeakBytes() - before) / MatrixBytes(frame);
    const bool written = write(pipe_ends[1], &ratio, sizeof ratio) == sizeof ratio;
    _exit(written ? 0 : 1);
  }
  double ratio = -1;
  if (read(pipe_ends[0], &ratio, sizeof ratio) != sizeof ratio) ratio = -1;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  waitpid(child, nullptr, 0);
  return ratio;
}

void ParseFile(benchmark::State& state, const std::string& path) {
  std::int64_t text_bytes = 0;
  for (auto _ : state) {
    const Frame frame = ParseStream(path, text_bytes);
    benchmark::DoNotOptimize(frame.rows);
  }
  state.SetBytesProcessed(text_bytes);
}

}  // namespace
}  // namespace retable::datasets

int main(int argc, char** argv) {
  using namespace retable::datasets;
  benchmark::Initialize(&argc, argv);
  std::vector<std::pair<std::string, double>> peaks;
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(argc) + 2);
  // Peaks first: a child inherits its parent's resident memory.
  for (int i = 1; i < argc; ++i) peaks.emplace_back(argv[i], PeakOverMatrix(argv[i]));
  if (argc == 1) {
    texts.push_back(PixelText(7000, 785));
    texts.push_back(DecimalText(20000, 50));
    benchmark::RegisterBenchmark("pixels", ParseText, texts[0])->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("decimals", ParseText, texts[1])->Unit(benchmark::kMillisecond);
  }
  for (const auto& [path, peak] : peaks) {
    std::printf("peak/matrix %.3f  %s\n", peak, path.c_str());
    texts.push_back(ReadFile(path));
    if (IsGzip(texts.back())) texts.back() = Gunzip(texts.back());
    benchmark::RegisterBenchmark(("parse " + path).c_str(), ParseText, texts.back())
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("decompress and parse " + path).c_str(), ParseFile, path)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
