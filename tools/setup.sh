#!/usr/bin/env bash
# Installs what the build and the report need from the distribution's packages (Debian 12, Ubuntu
# 24.04). Does nothing when all is there. Without root and without sudo it prints the one command.
# usage: setup.sh [test] [docs]     with "test", also what only the tests need; with "docs", Doxygen
#   NEEDED   families ("quantiles;shuffle"): what only other families' peers need is left out; empty or unset: all
set -euo pipefail

packages=(
  build-essential cmake ninja-build git pkg-config ccache
  libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libfmt-dev libbenchmark-dev libgtest-dev
  libeigen3-dev libboost-dev libboost-math-dev libtbb-dev libcurl4-openssl-dev libssl-dev zlib1g-dev libzstd-dev
  python3 python3-matplotlib python3-jinja2 ca-certificates
)

candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/.*Candidate: \([0-9].*\)/\1/p'; }

# Who may install: root, or who has sudo without a password.
root=()
can_install=true
if [ "$(id -u)" -ne 0 ]; then
  root=(sudo env DEBIAN_FRONTEND=noninteractive)
  command -v sudo >/dev/null && sudo -n true 2>/dev/null || can_install=false
fi
export DEBIAN_FRONTEND=noninteractive

# ask COMMAND: the one command to type where this script may not install, and the end.
ask() {
  echo "Some packages are missing. Type this, then the same make again:" >&2
  if command -v sudo >/dev/null; then echo "  sudo sh -c '$1'" >&2; else echo "  su - -c '$1'" >&2; fi
  exit 1
}

# A fresh container has no list of packages yet; without one nobody knows what the distribution has.
if command -v apt-get >/dev/null && [ -z "$(candidate libfmt-dev)" ]; then
  $can_install || ask "apt-get update && $(realpath "$0")${1:+ $*}"
  "${root[@]}" apt-get update -qq
fi

# Welcome where the distribution has them: the own baseline of the tree SHAP paper, and what runs the
# networks of the Shapley image games.
for peer in treeshap:libxgboost-dev shapley:libopencv-dnn-dev; do
  [[ -n "${NEEDED:-}" && "${NEEDED:-}" != any && "${NEEDED:-}" != *"${peer%%:*}"* ]] && continue
  [ -n "$(candidate "${peer#*:}")" ] && packages+=("${peer#*:}")
done

# Offered, not installed: it takes gigabytes, and a build without it lacks the CUDA methods alone.
if nvidia-smi -L >/dev/null 2>&1 && [ -z "${CUDACXX:-}" ] && ! command -v nvcc >/dev/null \
  && [ ! -x "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc" ]; then
  toolkit=$(candidate nvidia-cuda-toolkit)
  echo "A card is seen but no CUDA toolkit, so CUDA methods are left out. To have them, install CUDA 12.0 or later" \
    "($([ "${toolkit%%.*}" -ge 12 ] 2>/dev/null && echo "apt-get install nvidia-cuda-toolkit, as root" \
      || echo https://developer.nvidia.com/cuda-downloads)), then the same make again." >&2
fi

if [[ " $* " == *" docs "* ]]; then packages+=(doxygen); fi
if [[ " $* " == *" test "* ]]; then
  # The fuzz targets need clang and its runtime library, whose package bears clang's version.
  runtime=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p' | head -1)
  packages+=(clang clang-format ${runtime:+"$runtime"} python3-dev python3-venv)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" && continue
  # A cmake or git from elsewhere does as well as the distribution's.
  [[ " cmake git ninja-build clang-format " == *" $package "* ]] && command -v "${package%-build}" >/dev/null && continue
  missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "Retable needs these packages (Debian's names): ${missing[*]}" >&2
  exit 1
fi
install=(apt-get install -y --no-install-recommends "${missing[@]}")
$can_install || ask "apt-get update && ${install[*]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# stage NAME apt's arguments...
stage() {
  local name=$1
  shift
  "${root[@]}" "${install[@]}" -qq "$@" -o APT::Status-Fd=1 2>"$work/errors" \
    | "$(dirname "$0")/progress.sh" "apt: $name" packages "$work/log" "$work/plan" || { cat "$work/errors"; return 1; }
}
if ! { "${root[@]}" apt-get update -qq && "${install[@]}" -s >"$work/all" && grep ^Inst "$work/all" >"$work/plan" \
  && stage fetching --download-only && stage installing; }; then
  echo "The packages could not be installed; the reason stands above. Once they are there, no network is needed:" >&2
  echo "  apt-get update && ${install[*]}" >&2
  exit 1
fi
