#!/usr/bin/env bash
# Runs each parser's fuzz target for a fixed number of inputs (RUNS, default 50000), starting from its
# corpus; TARGETS names some of them ("arff model"). Needs clang; without it, says so and ends 0: the
# corpora and fixed mutations of them are run by the unit tests in any case.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
RUNS=${RUNS:-50000}
targets=fuzz
[ -z "${TARGETS:-}" ] || targets=$(printf 'run_%s_fuzz ' $TARGETS)
CLANG=$(command -v clang++ || true)
if [ -z "$CLANG" ]; then
  echo "fuzzing skipped: no clang++ (apt-get install clang)"
  exit 0
fi
cmake -S . -B "$BUILD-fuzz" -G Ninja -DRETABLE_FUZZ=ON -DRETABLE_FUZZ_RUNS="$RUNS" \
  -DCMAKE_CXX_COMPILER="$CLANG" >"$BUILD-fuzz.log" 2>&1 || { cat "$BUILD-fuzz.log"; exit 1; }
mv "$BUILD-fuzz.log" "$BUILD-fuzz/configure.log"
# shellcheck disable=SC2086  # several words
if ! cmake --build "$BUILD-fuzz" -j "$JOBS" --target $targets >"$BUILD-fuzz/fuzz.log" 2>&1; then
  tail -60 "$BUILD-fuzz/fuzz.log"
  exit 1
fi
grep -E "^Done [0-9]+ runs" "$BUILD-fuzz/fuzz.log"
