#!/usr/bin/env bash
# Everything CI runs: release build with warnings as errors, all tests, the smoke profile end to end,
# AddressSanitizer and UndefinedBehaviorSanitizer on host code, include directions, formatting.
# The last line counts all tests: "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
export NO_COLOR=1
# The same random cases in every run, so that a change alone can fail it; `make oracle` draws fresh ones.
export RETABLE_TEST_SEED=${RETABLE_TEST_SEED:-1}

# A mirror of real data beside the checkout is used where there is one; nothing needs it.
if [ -z "${RETABLE_OPENML_URL:-}" ] && [ -d ../shared/openml/api ]; then
  RETABLE_OPENML_URL="file://$(cd ../shared/openml && pwd)"
  export RETABLE_OPENML_URL RETABLE_SHARED="${RETABLE_SHARED:-$(cd ../shared && pwd)}"
fi
RETABLE_CACHE=$(mktemp -d)
export RETABLE_CACHE
trap 'rm -rf "$RETABLE_CACHE"' EXIT

say() { printf '\n== %s (%d s since the start)\n' "$1" "$SECONDS"; }

# run_tests FOLDER: runs CTest, leaves its report in FOLDER/tests.xml, prints what failed.
run_tests() {
  local folder=$1
  (cd "$folder" && ctest -N 2>/dev/null) | grep -E "^ *Test +#" >"$folder/plan"
  (cd "$folder" && ctest -j "$JOBS" --output-on-failure --no-tests=error --output-junit tests.xml 2>&1) \
    | tools/progress.sh tests tests "$folder/tests.log" "$folder/plan" \
    || grep -vE "^ *(Start|[0-9]+/[0-9]+ Test +#[0-9]+: .*( Passed|\*\*\*Skipped))" "$folder/tests.log"
}

say "release build, warnings are errors"
python=(-DRETABLE_PYTHON=OFF)
if tools/python_environment.sh "$BUILD/python-environment"; then
  python=(-DRETABLE_PYTHON=ON "-DPython_EXECUTABLE=$(realpath -s "$BUILD/python-environment/bin/python")")
fi
# The CUDA sources too, card or none, for one capability; and all families, whatever `make build ONLY=` left there.
tools/build.sh "$BUILD" "" -DRETABLE_CUDA=ON -DRETABLE_CUDA_FAST_BUILD=ON -DRETABLE_ONLY= "${python[@]}" || exit 1
say "tests"
run_tests "$BUILD"
say "host code under AddressSanitizer and UndefinedBehaviorSanitizer"
tools/build.sh "$BUILD-asan" "" -DRETABLE_SANITIZE=ON -DRETABLE_CUDA=OFF || exit 1
ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 run_tests "$BUILD-asan"
say "done"
tools/count_tests.py "$BUILD/tests.xml" "$BUILD-asan/tests.xml"
