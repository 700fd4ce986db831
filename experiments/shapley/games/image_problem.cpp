// Images, their networks, and the games of explaining them.
//
// The network of ImageNet is no part of the program (102 MB): resnet50-v1-12.onnx of the ONNX model
// zoo, known by its SHA-256, in the folder RETABLE_IMAGENET, with the images beside it as binary
// PPM files of 224 x 224 pixels, in the order of their names.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shapley/games/images/game.hpp"
#include "experiments/shapley/games/images/ppm.hpp"
#include "experiments/shapley/games/problem.hpp"

namespace retable::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDigits = "digits";
constexpr const char* kFashion = "Fashion-MNIST";
constexpr const char* kImageNet = "imagenet";
constexpr const char* kResNet = "resnet50-v1-12.onnx";
constexpr const char* kResNetSha256 =
    "ab65bdc02c5b3123eb3cdf6dac01742438517d8635d4f233913b2be1c70db3b6";

struct Explained {
  Image image;
  std::size_t tile = 1;
  std::vector<float> black = {0.0f};
  std::string network;      // the file's bytes
  std::int64_t label = -1;  // -1: not known
  std::string name;
};

// The rows kept from training, in the order of the seed.
std::vector<std::size_t> TestRows(const std::string& dataset, std::int64_t rows,
                                  std::int64_t seed) {
  std::vector<std::size_t> test;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (IsTestRow(dataset, i)) test.push_back(static_cast<std::size_t>(i));
  }
  std::vector<std::int32_t> order(test.size());
  shapley::UniformOrder(static_cast<std::uint64_t>(seed), 0, 0, order);
  std::vector<std::size_t> shuffled;
  for (const std::int32_t k : order) shuffled.push_back(test[static_cast<std::size_t>(k)]);
  return shuffled;
}

// How rows of a data set become images.
struct Layout {
  bool digits;
  std::size_t side, border, whole;

  explicit Layout(const datasets::Frame& frame, const std::string& dataset)
      : digits(dataset == kDigits),
        side(digits ? 8 : 28),
        border(digits ? 0 : 2),
        whole(side + 2 * border) {
    if (frame.columns.size() != side * side || !frame.target) {
      throw std::invalid_argument(dataset + " has " + std::to_string(frame.columns.size()) +
                                  " columns, not " + std::to_string(side * side) +
                                  " pixels and a label");
    }
  }

  // Pixels of one row in a black frame, from 0 to 1.
  Image Draw(const datasets::Frame& frame, std::size_t row) const {
    Image image{1, whole, whole, std::vector<float>(whole * whole, 0.0f)};
    for (std::size_t k = 0; k < side * side; ++k) {
      const std::size_t y = k / side + border, x = k % side + border;
      image.values[y * whole + x] = frame.columns[k].values[row] / (digits ? 16.0f : 255.0f);
    }
    return image;
  }
  std::string_view Network() const { return NetworkFile(digits ? "digits" : "fashion"); }
};

Explained FromRow(const std::string& dataset, std::int64_t image, std::int64_t seed) {
  const auto frame = LoadData(dataset);
  const Layout layout(frame, dataset);
  const auto rows = TestRows(dataset, frame.rows, seed);
  if (image < 0 || image >= static_cast<std::int64_t>(rows.size())) {
    throw std::invalid_argument("image " + std::to_string(image) + " of " +
                                std::to_string(rows.size()) + " test images of " + dataset);
  }
  const std::size_t row = rows[static_cast<std::size_t>(image)];
  Explained explained;
  explained.image = layout.Draw(frame, row);
  explained.tile = layout.digits ? 1 : 2;
  explained.network = layout.Network();
  explained.label = std::lround(frame.target->values[row]);
  explained.name = dataset + " row " + std::to_string(row);
  return explained;
}

fs::path ImageNetFolder() {
  const char* folder = std::getenv("RETABLE_IMAGENET");
  return folder == nullptr ? fs::path() : fs::path(folder);
}

std::vector<fs::path> ImageNetImages() {
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(ImageNetFolder())) {
    if (entry.path().extension() == ".ppm") images.push_back(entry.path());
  }
  std::sort(images.begin(), images.end());
  return images;
}

// Mean and deviation of ImageNet's channels, as the zoo's networks want them.
Explained FromImageNet(std::int64_t image) {
  constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kDeviation[] = {0.229f, 0.224f, 0.225f};
  const auto images = ImageNetImages();
  if (image < 0 || image >= static_cast<std::int64_t>(images.size())) {
    throw std::invalid_argument("image " + std::to_string(image) + ": " +
                                ImageNetFolder().string() + " has " +
                                std::to_string(images.size()) + " .ppm files");
  }
  Explained explained;
  explained.network = ReadWhole(ImageNetFolder() / kResNet);
  if (Sha256(explained.network) != kResNetSha256) {
    throw std::invalid_argument((ImageNetFolder() / kResNet).string() +
                                " is not the ONNX model zoo's: its SHA-256 should be " +
                                kResNetSha256);
  }
  const fs::path& path = images[static_cast<std::size_t>(image)];
  explained.image = ReadPpm(ReadWhole(path), path.string());
  if (explained.image.channels != 3) throw std::invalid_argument(path.string() + " has no colours");
  explained.tile = 14;
  explained.black.clear();
  const std::size_t plane = explained.image.height * explained.image.width;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < plane; ++k) {
      float& value = explained.image.values[c * plane + k];
      value = (value - kMean[c]) / kDeviation[c];
    }
    explained.black.push_back(-kMean[c] / kDeviation[c]);
  }
  explained.name = path.filename().string();
  return explained;
}

harness::DatasetInfo ImageNetInfo() {
  harness::DatasetInfo info;
  info.name = kImageNet;
  info.origin = "the user's files";
  if (ImageNetFolder().empty() || !fs::exists(ImageNetFolder() / kResNet)) {
    info.reason = std::string("set RETABLE_IMAGENET to a folder with ") + kResNet +
                  " and images as .ppm (algorithms/shapley/README.md)";
    return info;
  }
  std::string hashes = kResNetSha256;
  for (const fs::path& path : ImageNetImages()) {
    hashes += Sha256(ReadWhole(path));
    ++info.rows;
  }
  info.present = true;
  info.sha256 = Sha256(hashes);
  return info;
}

}  // namespace

bool IsTestRow(const std::string& dataset, std::int64_t row) {
  return dataset == kDigits ? row % 5 == 4 : row >= 60000;
}

std::vector<harness::DatasetInfo> ResolveImages(const std::string& dataset) {
  if (dataset == kImageNet) return {ImageNetInfo()};
  auto infos = ResolveData(dataset);
  for (const auto& info : infos) {
    if (info.name != kDigits && info.name != kFashion) {
      throw harness::UnknownName(
          "\"" + dataset + "\": there are networks for digits, " + "Fashion-MNIST and imagenet",
          dataset, {kDigits, kFashion, kImageNet});
    }
  }
  return infos;
}

NetworkScore ScoreNetwork(const std::string& dataset) {
  if (dataset == kImageNet) throw std::invalid_argument("ImageNet's labels are not at hand");
  constexpr std::size_t kBatch = 100;
  const auto frame = LoadData(dataset);
  const Layout layout(frame, dataset);
  const auto rows = TestRows(dataset, frame.rows, 0);
  const Image like{1, layout.whole, layout.whole, {}};
  const auto network = ReadOnnx(layout.Network(), like, kBatch);
  std::size_t right = 0;
  std::vector<float> images, logits;
  for (std::size_t from = 0; from < rows.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, rows.size() - from);
    images.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const auto image = layout.Draw(frame, rows[from + k]);
      images.insert(images.end(), image.values.begin(), image.values.end());
    }
    logits.resize(count * network->classes());
    network->logits(images, logits);
    for (std::size_t k = 0; k < count; ++k) {
      const auto own = logits.begin() + static_cast<std::ptrdiff_t>(k * network->classes());
      const auto best =
          std::max_element(own, own + static_cast<std::ptrdiff_t>(network->classes()));
      right += best - own == std::lround(frame.target->values[rows[from + k]]) ? 1 : 0;
    }
  }
  return {static_cast<double>(right) / static_cast<double>(rows.size()), rows.size(),
          layout.Network().size()};
}

namespace {

// What both devices say of the problem, once its game stands: the full coalition is the image
// itself, so its value must be the network's log-odds.
void Describe(Problem& problem, const Explained& explained, const ImageNetwork& network,
              const std::string& model) {
  const shapley::Game& game = *problem.games.front();
  problem.features = game.dimension();
  problem.flop_count = network.flop_count();
  std::vector<float> logits(network.classes());
  network.logits(explained.image.values, logits);
  const auto answer =
      static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const double odds = LogOdds(logits, answer);
  problem.disagreement =
      std::abs(shapley::EndValues(game).all - odds) / std::max(1.0, std::abs(odds));
  problem.checked = "the network's answer to the whole image";
  problem.facts["reference"] = std::string("mean of the trials");
  problem.facts["features"] = static_cast<std::int64_t>(problem.features);
  problem.facts["model"] = model;
  problem.facts["explained"] = explained.name;
  problem.facts["answer"] = static_cast<std::int64_t>(answer);
  if (explained.label >= 0) problem.facts["label"] = explained.label;
}

}  // namespace

std::optional<std::string> WhyNoNetwork(const std::string& device) {
  return device == "cuda" ? std::nullopt : WhyNoNetworks();
}

std::vector<harness::AlgorithmInfo> OnBothDevices(std::vector<harness::AlgorithmInfo> methods) {
#if defined(RETABLE_HAS_CUDA)
  for (auto& info : methods) {
    if (std::find(info.devices.begin(), info.devices.end(), "cuda") == info.devices.end()) {
      info.devices.emplace_back("cuda");
    }
  }
#endif
  return methods;
}

Problem MakeImageProblem(const std::string& device, const std::string& dataset, std::int64_t image,
                         std::int64_t rows_seed, int threads) {
  const bool imagenet = dataset == kImageNet;
  const Explained explained = imagenet ? FromImageNet(image) : FromRow(dataset, image, rows_seed);
  TiledImage tiled = Tiled(explained.image, explained.tile, explained.black);
  std::shared_ptr<const ImageNetwork> network;
  Problem problem;
  if (device == "cuda") {
    const LayerGraph graph = ReadLayers(explained.network, explained.image);
    network = MakeLayerNetwork(graph);
    problem.games.push_back(MakeDeviceImageGame(graph, tiled, Answer(*network, explained.image)));
  } else {
    network = ReadOnnx(explained.network, explained.image,
                       static_cast<std::size_t>(tiled.players) + 1, threads);
    problem.games.push_back(MakeImageGame(network, std::move(tiled)));
  }
  Describe(problem, explained, *network, imagenet ? kResNet : "own residual network");
  return problem;
}

}  // namespace retable::experiments
