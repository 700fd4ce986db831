#!/usr/bin/env bash
# Installs what the build and the report need from the distribution's packages (Debian 12, Ubuntu
# 24.04). Does nothing when all is there. Without root and without sudo it prints the one command.
# usage: setup.sh [test]     with "test", also what only the tests need
set -euo pipefail

packages=(
  build-essential cmake ninja-build git pkg-config ccache
  libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libfmt-dev libbenchmark-dev libgtest-dev
  libeigen3-dev libboost-dev libboost-math-dev libtbb-dev libcurl4-openssl-dev libssl-dev zlib1g-dev
  clang-format python3 python3-matplotlib python3-jinja2 ca-certificates
)

# Welcome where the distribution has them: the own baseline of the tree SHAP paper, and what runs the
# networks of the Shapley image games (with what it needs, 13 MB to fetch).
for package in libxgboost-dev libopencv-dnn-dev; do
  if [ -n "$(apt-cache policy "$package" 2>/dev/null | sed -n 's/.*Candidate: \([0-9].*\)/\1/p')" ]; then
    packages+=("$package")
  fi
done

if [ "${1:-}" = test ]; then
  # The fuzz targets need clang and its runtime library, whose package bears clang's version.
  runtime=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p' | head -1)
  packages+=(clang ${runtime:+"$runtime"})
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing+=("$package")
done
# A cmake or git from elsewhere does as well as the distribution's.
kept=()
for package in "${missing[@]:-}"; do
  case "$package" in
    "") ;;
    cmake) command -v cmake >/dev/null || kept+=("$package") ;;
    git) command -v git >/dev/null || kept+=("$package") ;;
    ninja-build) command -v ninja >/dev/null || kept+=("$package") ;;
    clang-format) command -v clang-format >/dev/null || kept+=("$package") ;;
    *) kept+=("$package") ;;
  esac
done
[ "${#kept[@]}" -eq 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${kept[*]}"
if ! command -v apt-get >/dev/null; then
  echo "Retable needs these packages (Debian's names): ${kept[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
  run=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  run="sudo"
else
  echo "Some packages are missing. Type this, then the same make again:" >&2
  echo "  sudo apt-get update && sudo $install" >&2
  exit 1
fi
echo "installing ${#kept[@]} packages: ${kept[*]}"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086
$run $install -qq >/dev/null
