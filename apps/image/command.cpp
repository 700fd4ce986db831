//! @file
//! `retable image`: what each tile of an image adds to a network's answer, for a network of one's
//! own in an ONNX file, on a CPU or a GPU.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <memory>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"
#include "base/atomic_file.hpp"
#include "base/cuda/devices.hpp"
#include "base/files/output_paths.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/ppm.hpp"
#include "harness/cli/verbs.hpp"

namespace retable::experiments {
namespace {

constexpr std::size_t kBatch = 8;  // images that OpenCV runs at a time

struct Arguments {
  std::string network, image, out, method = "MC-antithetic", device = "cpu";
  std::vector<float> mean, deviation;
  std::size_t tile = 16;
  int permutations = 100;
  std::uint64_t seed = 0;
  bool logits = false;
};

// One number a channel: as given, or the same for all.
std::vector<float> EachChannel(std::vector<float> numbers, float fallback, std::size_t channels,
                               const char* option) {
  if (numbers.empty()) numbers = {fallback};
  if (numbers.size() == 1) numbers.resize(channels, numbers[0]);
  if (numbers.size() != channels) {
    throw harness::UsageError(std::string(option) + ": one number, or one for each of the " +
                              std::to_string(channels) + " channels");
  }
  return numbers;
}

TiledImage ReadTiles(const Arguments& a) {
  Image image = ReadPpm(ReadWhole(a.image), a.image);
  const auto mean = EachChannel(a.mean, 0, image.channels, "--mean");
  const auto deviation = EachChannel(a.deviation, 1, image.channels, "--deviation");
  std::vector<float> black(image.channels);
  const std::size_t plane = image.height * image.width;
  for (std::size_t c = 0; c < image.channels; ++c) {
    if (!std::isfinite(mean[c])) throw harness::UsageError("--mean: finite numbers");
    if (!(deviation[c] > 0) || !std::isfinite(deviation[c])) {
      throw harness::UsageError("--deviation: finite numbers above 0");
    }
    for (std::size_t k = c * plane; k < (c + 1) * plane; ++k) {
      image.values[k] = (image.values[k] - mean[c]) / deviation[c];
    }
    black[c] = -mean[c] / deviation[c];
  }
  const std::size_t common = std::gcd(image.height, image.width);
  if (!a.logits && common % a.tile != 0) {
    throw std::invalid_argument(a.image + ": tiles of " + std::to_string(a.tile) +
                                " do not fill an image of " + std::to_string(image.height) + " x " +
                                std::to_string(image.width) +
                                "; --tile takes a number that divides " + std::to_string(common));
  }
  return Tiled(std::move(image), a.logits ? common : a.tile, std::move(black));
}

LayerGraph ReadGraph(const Arguments& a, const std::string& onnx, const Image& like) {
  try {
    return ReadLayers(onnx, like);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(a.network + ": " + error.what());
  }
}

std::unique_ptr<shapley::ShapleyEstimator> MakeEstimator(const std::string& name) try {
  // External takes its program from an experiment.
  return MethodByName<shapley::ShapleyEstimator>("estimator", name, Device::kCpu, {"External"})
      .make({});
} catch (const std::invalid_argument& error) {
  throw harness::UsageError(error.what());
}

void WriteLogits(const std::vector<float>& logits, std::ostream& out) {
  out << "class,logit\n" << std::setprecision(9);
  for (std::size_t c = 0; c < logits.size(); ++c) out << c << "," << logits[c] << "\n";
}

// Tiles row by row, each by its first pixel.
void WriteValues(const std::vector<double>& values, const TiledImage& tiled, std::size_t tile,
                 std::ostream& out) {
  const std::size_t across = tiled.image.width / tile;
  out << "tile,y,x,value\n" << std::setprecision(17);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out << i << "," << i / across * tile << "," << i % across * tile << "," << values[i] << "\n";
  }
}

// OpenCV's evaluator, many times as fast, where the program has it and it gives the same logits;
// else the program's own.
std::shared_ptr<const ImageNetwork> FasterNetwork(const std::string& onnx, const Image& image,
                                                  const std::vector<float>& logits,
                                                  std::shared_ptr<const ImageNetwork> own) {
  if (WhyNoNetworks()) return own;
  try {
    std::shared_ptr<const ImageNetwork> other = ReadOnnx(onnx, image, kBatch, 0);
    if (other->classes() != logits.size()) return own;
    std::vector<float> others(logits.size());
    other->logits(image.values, others);
    float largest = 0;
    for (const float logit : logits) largest = std::max(largest, std::abs(logit));
    for (std::size_t c = 0; c < logits.size(); ++c) {
      if (!(std::abs(logits[c] - others[c]) <= 1e-4f * largest)) return own;
    }
    return other;
  } catch (const std::exception&) {  // operators that OpenCV does not know
    return own;
  }
}

int Run(const Arguments& a, std::ostream& out, std::ostream& err) {
  KeepInputs(a.out, {a.network, a.image});
  const bool on_device = a.device == "cuda";
  if (on_device) RequireDevice();
  const auto estimator = MakeEstimator(a.method);
  TiledImage tiled = ReadTiles(a);
  const std::string onnx = ReadWhole(a.network);
  const LayerGraph graph = ReadGraph(a, onnx, tiled.image);
  std::unique_ptr<OutputFile> file;
  if (!a.out.empty()) file = std::make_unique<OutputFile>(a.out);
  std::ostream& to = file ? *file : out;
  std::shared_ptr<const ImageNetwork> network;  // on a processor
  std::vector<float> logits(graph.classes());
  if (on_device) {
    const std::vector<std::uint64_t> all(shapley::CoalitionWords(tiled.players), ~std::uint64_t{0});
    logits = DeviceLogits(graph, tiled, all);
  } else {
    network = MakeLayerNetwork(graph);
    network->logits(tiled.image.values, logits);
    if (!a.logits) network = FasterNetwork(onnx, tiled.image, logits, network);
  }
  if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); })) {
    throw std::runtime_error(a.network + " has an output that is not finite for this image");
  }
  const auto answer = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
  if (a.logits) {
    WriteLogits(logits, to);
  } else {
    const auto game =
        on_device ? MakeDeviceImageGame(graph, tiled, answer) : MakeImageGame(network, tiled);
    const int d = game->dimension();
    // Methods walk pairs of orders, d + 1 evaluations a pair.
    const std::int64_t pairs = (std::int64_t{a.permutations} + 1) / 2, budget = pairs * (d + 1);
    if (const std::int64_t least = estimator->least_budget(d); budget < least) {
      throw harness::UsageError("--permutations: " + a.method + " needs at least " +
                                std::to_string((least + d) / (d + 1) * 2) + " for " +
                                std::to_string(d) + " tiles");
    }
    WriteValues(estimator->estimate(*game, budget, a.seed).values, tiled, a.tile, to);
    (IsStandardOutput(a.out) ? err : out)
        << "class " << answer << ", log-odds " << LogOdds(logits, answer) << ", " << d
        << " tiles by " << 2 * pairs << " permutations of " << a.method << "\n";
  }
  if (file) file->Commit();
  return 0;
}

int ImageMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments a;
  CLI::App app{
      "retable image: what each tile of an image adds to the log-odds of a network's answer: its "
      "Shapley value, where tiles left out are black. CSV: tile,y,x,value. The network is an ONNX "
      "file that takes batch x channels x height x width and gives logits (a Softmax at its end is "
      "passed over); the image is a binary PPM or PGM, its pixels from 0 to 1, less the mean, over "
      "the deviation.",
      "retable image"};
  app.add_option("--network", a.network, "ONNX file")->required();
  app.add_option("--image", a.image, "binary PPM (P6) or, of one channel, PGM (P5)")->required();
  app.add_option("--tile", a.tile, "side of a tile in pixels")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_option("--mean", a.mean, "default 0; as 0.485,0.456,0.406")->delimiter(',');
  app.add_option("--deviation", a.deviation, "default 1; as 0.229,0.224,0.225")->delimiter(',');
  app.add_option("--method", a.method, "estimator")->capture_default_str();
  app.add_option("--permutations", a.permutations, "that the budget of evaluations is worth")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", a.seed, "seed")->capture_default_str();
  app.add_option("--device", a.device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--logits", a.logits, "the network's logits of the whole image only");
  app.add_option("--out", a.out, "file; default: standard output");
  return harness::RunVerb(app, args, out, err, [&] { return Run(a, out, err); });
}

const harness::VerbRegistration registered_image(
    {"image", "--network N.onnx --image I.ppm: explain your own image network", ImageMain});

}  // namespace
}  // namespace retable::experiments
