#!/usr/bin/env bash
# test_outside.sh BUILD MODEL: installs the library of a build, then configures, builds and runs the program of
# examples/cpp against it: by find_package, and by pkg-config where it is installed. It must not read the tree.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$1 model=$2
work=$(mktemp -d)
# cached NAME DEFAULT: what the build has.
cached() {
  local value
  value=$(sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt")
  echo "${value:-$2}"
}
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" --component library > "$work/install.log"
for word in nlohmann toml algorithms/ base/ harness/; do
  if grep -rn "#include.*$word" "$work/prefix/include"; then
    echo "a public header includes $word" >&2
    exit 1
  fi
done
if grep -rn "$here" "$work/prefix" --include='*.cmake' --include='*.pc' --include='*.hpp'; then
  echo "an installed file names the tree" >&2
  exit 1
fi
cp -r "$here/examples/cpp" "$work/example"
cmake -S "$work/example" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="$(cached CMAKE_CUDA_ARCHITECTURES 90)" \
      -DCMAKE_CUDA_COMPILER="$(cached CMAKE_CUDA_COMPILER nvcc)" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"
"$work/build/example" "$model"
if [ -f "$work/prefix/include/retable/thrust_shuffle.cuh" ]; then "$work/build/thrust_example"; fi
if "$work/build/example" "$work/configure.log"; then
  echo "a file that is no model was taken" >&2
  exit 1
fi
# Without components all that are installed are found.
cp -r "$work/example" "$work/all"
sed -i 's/ COMPONENTS treeshap shuffle//' "$work/all/CMakeLists.txt"
cmake -S "$work/all" -B "$work/all/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
      -DCMAKE_CUDA_COMPILER="$(cached CMAKE_CUDA_COMPILER nvcc)" > "$work/all.log" 2>&1 || { cat "$work/all.log"; exit 1; }
# A component that is not installed is named.
sed -i 's/COMPONENTS treeshap shuffle/COMPONENTS treeshap nothing/' "$work/example/CMakeLists.txt"
if cmake -S "$work/example" -B "$work/wrong" -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/wrong.log" 2>&1 ||
   ! grep -q nothing "$work/wrong.log"; then
  echo "a missing component was not named" >&2
  exit 1
fi
if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name retable_treeshap.pc)")
  # shellcheck disable=SC2046
  "${CXX:-c++}" -std=c++20 "$work/example/main.cpp" -o "$work/by_pkg_config" \
    $(pkg-config --cflags --libs retable_treeshap retable_shuffle)
  "$work/by_pkg_config" "$model"
  # Mistakes that no answer may hide.
  cat > "$work/mistakes.cpp" << 'END'
#include <cstdio>
#include <retable/extratrees.hpp>
#include <retable/shapley.hpp>
#include <retable/shuffle.hpp>
#include <retable/treeshap.hpp>
#include <stdexcept>
using namespace retable;
int failures = 0;
template <class Call>
void Refused(const char* what, const Call& call) {
  try { call(); } catch (const std::invalid_argument&) { return; }
  std::fprintf(stderr, "not refused: %s\n", what);
  ++failures;
}
int main() {
  const std::vector<float> x{1, 2, 3, 4};
  const std::vector<double> wide(x.begin(), x.end());
  const std::vector<std::uint32_t> labels{0, 1};
  const Forest forest = Forest::FitClasses({x.data(), 2, 2}, labels, {}, {.device = "cpu"});
  const TreeModel model = TreeModel::Read(forest.to_json());
  const TreeExplainerOptions banzhaf{.device = "cpu", .index = "banzhaf"};
  Refused("banzhaf with background rows", [&] { TreeExplainer(model, banzhaf, wide); });
  Refused("strongest pairs of banzhaf", [&] { (void)TreeExplainer(model, banzhaf).top_interactions(wide, 2, 1); });
  Refused("negative threads", [&] { (void)model.predict(wide, 2, -1); });
  Refused("null rows", [&] { Forest::FitClasses({nullptr, 2, 2}, labels, {}, {.device = "cpu"}); });
  Refused("more rows than memory", [&] { forest.predict({x.data(), std::size_t{1} << 63, 2}, {}); });
  Refused("a game without values", [] { (void)ExactShapley(3, [](auto, auto) {}); });
  const auto huge = [](std::span<const std::uint64_t> of, std::span<double> v) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = of[i] % 2 == 1 ? 1.7e308 : -1.7e308;
  };
  Refused("values whose sums overflow", [&] { (void)ExactShapley(3, huge); });
  Refused("estimates that overflow", [&] { (void)EstimateShapley(3, huge, {}); });
  Permutation order(10, 1);
  const Permutation moved = std::move(order);
  return failures + (order[3] == moved[3] ? 0 : 1);
}
END
  # shellcheck disable=SC2046
  "${CXX:-c++}" -std=c++20 "$work/mistakes.cpp" -o "$work/mistakes" \
    $(pkg-config --cflags --libs retable_treeshap retable_extratrees retable_shapley retable_shuffle)
  "$work/mistakes"
  # Debian's folder of libraries below /usr is a level deeper.
  cmake -S "$here" -B "$work/deep" -DRETABLE_LIBRARY_ONLY=ON -DRETABLE_CUDA=OFF -DCMAKE_INSTALL_LIBDIR=lib/any \
    > "$work/deep.log" || { cat "$work/deep.log"; exit 1; }
  mkdir -p "$work/deeper/lib/any/pkgconfig"
  cp "$work/deep/lib"/*.pc "$work/deeper/lib/any/pkgconfig"
  found=$(PKG_CONFIG_PATH=$work/deeper/lib/any/pkgconfig pkg-config --variable=prefix retable_core)
  if [ "$(realpath "$found")" != "$(realpath "$work/deeper")" ]; then
    echo "installed below $work/deeper, pkg-config names $found" >&2
    exit 1
  fi
else
  echo "pkg-config is not installed: its files were not tried"
fi
