#!/usr/bin/env bash
# Everything CI runs: release build with warnings as errors, all tests, the smoke profile end to end,
# AddressSanitizer and UndefinedBehaviorSanitizer on host code, include directions, formatting.
# The last line counts all tests: "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
export NO_COLOR=1

# A mirror of real data beside the checkout is used where there is one; nothing needs it.
if [ -z "${RETABLE_OPENML_URL:-}" ] && [ -d ../shared/openml/api ]; then
  RETABLE_OPENML_URL="file://$(cd ../shared/openml && pwd)"
  export RETABLE_OPENML_URL RETABLE_SHARED="${RETABLE_SHARED:-$(cd ../shared && pwd)}"
fi
RETABLE_CACHE=$(mktemp -d)
export RETABLE_CACHE
trap 'rm -rf "$RETABLE_CACHE"' EXIT

say() { printf '\n== %s (%d s since the start)\n' "$1" "$SECONDS"; }

# configure_build FOLDER ARGUMENTS...: configures and builds all targets, or stops here.
configure_build() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$folder.log" 2>&1 \
    || { cat "$folder.log"; exit 1; }
  mv "$folder.log" "$folder/configure.log"
  cmake --build "$folder" -j "$JOBS" >"$folder/build.log" 2>&1 || { grep -E "error|FAILED" "$folder/build.log" | head -50; exit 1; }
}

# run_tests FOLDER: runs CTest, leaves its report in FOLDER/tests.xml.
run_tests() {
  (cd "$1" && ctest -j "$JOBS" --output-on-failure --no-tests=error --output-junit tests.xml) \
    | grep -vE "^ *(Start|[0-9]+/[0-9]+ Test +#[0-9]+: .*( Passed|\*\*\*Skipped))"
}

say "release build, warnings are errors"
configure_build "$BUILD" -DRETABLE_ONLY=  # whatever `make build ONLY=` left there
say "tests"
run_tests "$BUILD"
say "host code under AddressSanitizer and UndefinedBehaviorSanitizer"
configure_build "$BUILD-asan" -DRETABLE_SANITIZE=ON -DRETABLE_CUDA=OFF
ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 run_tests "$BUILD-asan"
say "done"
tools/count_tests.py "$BUILD/tests.xml" "$BUILD-asan/tests.xml"
