// Explains random rows by a model file, and visits them in random order.

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <retable/core.hpp>
#include <retable/shuffle.hpp>
#include <retable/treeshap.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int Run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string(path) + " cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto model = retable::TreeModel::Read(bytes);
  const retable::TreeExplainer explainer(model);
  constexpr std::size_t kRows = 100;
  const auto features = static_cast<std::size_t>(model.features());
  const auto outputs = static_cast<std::size_t>(model.outputs());

  std::vector<double> x(kRows * features);
  std::mt19937_64 random(1);
  for (double& value : x) value = std::normal_distribution<>()(random);
  std::vector<double> phi(kRows * outputs * (features + 1));
  explainer.values(x, kRows, phi);
  const std::vector<double> margins = model.predict(x, kRows);

  // A row's values add up to its margin.
  double worst = 0;
  for (const std::uint64_t r : retable::SampleIndices(kRows, 50, 7)) {
    for (std::size_t g = 0; g < outputs; ++g) {
      double sum = 0;
      for (std::size_t i = 0; i <= features; ++i)
        sum += phi[(r * outputs + g) * (features + 1) + i];
      worst = std::max(worst, std::abs(sum - margins[r * outputs + g]));
    }
  }
  std::printf("retable %s: %zu trees, on the %s, values off the margin by at most %.1e\n",
              retable::Version(), model.trees(), explainer.device().c_str(), worst);
  return worst < 1e-4 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2) return Run(argv[1]);
    std::fputs("usage: example MODEL\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example: %s\n", error.what());
  }
  return 1;
}
