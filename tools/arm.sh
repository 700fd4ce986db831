#!/usr/bin/env bash
# Compiles the library's families for 64-bit Arm on an x86-64 machine and runs their unit tests under qemu-user.
# usage: arm.sh [PROGRAM[:GTEST_FILTER]]...     none: base and the five families; BUILD and JOBS as for make
# Needs g++-aarch64-linux-gnu and qemu-user-static. Libraries for Arm come from the distribution's packages, unpacked
# into $BUILD-arm/root: nothing is installed. On an Arm machine there is no need for it: `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$(realpath "${BUILD:-build}")-arm
JOBS=${JOBS:-$(nproc)}
programs=(base_tests common_tests shuffle_tests quantiles_tests treeshap_tests extratrees_tests shapley_tests)
[ $# -eq 0 ] || programs=("$@")

# The newest cross compiler that is installed.
compiler=$(compgen -c aarch64-linux-gnu-g++ | grep -E '^aarch64-linux-gnu-g\+\+(-[0-9]+)?$' | sort -Vu | tail -1 || true)
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ -z "$compiler" ] || [ -z "$emulator" ]; then
  echo "Arm tests skipped: they need apt-get install g++-aarch64-linux-gnu qemu-user-static"
  exit 0
fi

root=$BUILD/root
# What setup.sh installs to link with.
mapfile -t libraries < <(sed -n '/^packages=(/,/^)/p' tools/setup.sh | grep -oE '[a-z0-9+-]+-dev')
packages=(libc6-dev libstdc++-12-dev "${libraries[@]}")
if [ "$(cat "$root/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$root"
  mkdir -p "$root/usr/lib" "$root/usr/bin" "$root/usr/sbin" "$BUILD"/apt/{lists,archives}/partial
  for folder in lib bin sbin; do ln -s "usr/$folder" "$root/$folder"; done
  : >"$BUILD/apt/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status="$BUILD/apt/status"
    -o Dir::State::Lists="$BUILD/apt/lists" -o Dir::Cache="$BUILD/apt" -o Dir::Cache::archives="$BUILD/apt/archives"
    -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  "${apt[@]}" update
  "${apt[@]}" install --download-only --no-install-recommends -y "${packages[@]}"
  for package in "$BUILD"/apt/archives/*.deb; do
    dpkg --fsys-tarfile "$package" | tar -C "$root" -x --keep-directory-symlink
  done
  rm -rf "$BUILD/apt"
  echo "${packages[*]}" >"$root/complete"
fi

cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRETABLE_CUDA=OFF -DRETABLE_OPENCV=OFF \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_SYSROOT="$root" \
  -DCMAKE_C_COMPILER="${compiler/g++/gcc}" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
  >"$BUILD.log" 2>&1 || { cat "$BUILD.log"; exit 1; }
mv "$BUILD.log" "$BUILD/configure.log"
ninja -C "$BUILD" -j "$JOBS" "${programs[@]%%:*}" >"$BUILD/build.log" 2>&1 \
  || { grep -E "error|warning|FAILED" "$BUILD/build.log" | head -50; exit 1; }

# Left out unless a filter is given: what starts its own program, which needs a kernel that knows qemu; what asks where
# "/" is, since qemu shows the libraries' folder there; statistics over many draws, which take qemu minutes.
without=-TemporaryFolder.WhatAKilledProcess*:OutputPaths.FoldersThatAreNotForResults*
without+=:*Oracle*:*niform*:*Battery*:Statistics*:Retable.*:Estimators.*:Discrepancy.Optimised*

status=0
for entry in "${programs[@]}"; do
  program=${entry%%:*} start=$SECONDS filter=${entry#"${entry%%:*}"}
  filter=${filter#:}
  log=$BUILD/$program.log
  code=0
  "$emulator" -L "$root" "$BUILD/$program" --gtest_filter="${filter:-$without}" >"$log" 2>&1 || code=$?
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}.*/\1/p' "$log")
  printf '%-20s %5s passed %5d s\n' "$program" "${passed:-none}" $((SECONDS - start))
  if [ "$code" -ne 0 ]; then
    status=1
    grep -E -B12 "^\[  FAILED  \]" "$log" | head -80 || true
    echo "$program ended with $code; all that it wrote: $log"
  fi
done
exit $status
