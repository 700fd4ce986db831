#!/usr/bin/env bash
# Runs the test programs of all parallel host code under ThreadSanitizer, and prints a table: program,
# tests passed, seconds, findings. Ends 1 at a finding, a failed test, or when a planted race is not found.
# usage: tsan.sh [PROGRAM[:GTEST_FILTER]...]     none: all below; BUILD and JOBS as for make
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}-tsan
JOBS=${JOBS:-$(nproc)}
LIMIT=${LIMIT:-3600}  # seconds a program

# Every program whose code calls ParallelFor or starts threads.
programs=(
  base_tests datasets_tests harness_tests
  shuffle_tests baselines_shuffle_tests app_shuffle_tests experiments_shuffle_tests
  treeshap_tests baselines_treeshap_tests app_shap_tests experiments_treeshap_tests
  extratrees_tests baselines_extratrees_tests app_forest_tests experiments_extratrees_tests
  quantiles_tests experiments_quantiles_tests
  shapley_tests experiments_shapley_tests
)
[ $# -eq 0 ] || programs=("$@")

# OpenCV, XGBoost and CUDA bring threads of code that is not instrumented.
cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRETABLE_SANITIZE=thread -DRETABLE_CUDA=OFF \
  -DRETABLE_OPENCV=OFF -DXGBOOST_LIBRARY= >"$BUILD.log" 2>&1 || { cat "$BUILD.log"; exit 1; }
mv "$BUILD.log" "$BUILD/configure.log"
known=" $(ninja -C "$BUILD" -t targets all | sed -n 's/^\([a-z_]*_tests\): .*/\1/p' | tr '\n' ' ')"
for program in "${programs[@]%%:*}"; do
  [[ "$known" == *" $program "* ]] || { echo "there is no test program $program:$known" >&2; exit 1; }
done
cmake --build "$BUILD" -j "$JOBS" --target base_tests "${programs[@]%%:*}" >"$BUILD/build.log" 2>&1 \
  || { grep -E "error|FAILED" "$BUILD/build.log" | head -50; exit 1; }

# setarch -R: GCC 12's runtime does not start where the kernel spreads addresses widely. The worker
# processes of the harness go on after a fork.
export TSAN_OPTIONS="die_after_fork=0 second_deadlock_stack=1 exitcode=66 ${TSAN_OPTIONS:-}"
run() { setarch -R timeout "$LIMIT" "$BUILD/$1" "${@:2}"; }

run base_tests --gtest_also_run_disabled_tests --gtest_filter='*.DISABLED_PlantedRace' >"$BUILD/planted.log" 2>&1
if ! grep -q "WARNING: ThreadSanitizer: data race" "$BUILD/planted.log"; then
  cat "$BUILD/planted.log"
  echo "ThreadSanitizer does not find a planted race" >&2
  exit 1
fi

status=0
printf '%-32s %8s %8s %8s\n' program passed seconds findings
for entry in "${programs[@]}"; do
  program=${entry%%:*} start=$SECONDS
  filter=${entry#"$program"}
  filter=${filter#:}
  log="$BUILD/$program.tsan.log"
  run "$program" --gtest_filter="${filter:-*}" >"$log" 2>&1
  code=$?
  findings=$(grep -c "WARNING: ThreadSanitizer" "$log")
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}.*/\1/p' "$log")
  printf '%-32s %8s %8d %8d\n' "$program" "${passed:-none}" $((SECONDS - start)) "$findings"
  if [ "$code" -ne 0 ]; then
    status=1
    grep -E -A25 "WARNING: ThreadSanitizer|^\[  FAILED  \]" "$log" | head -80
    echo "$program ended with $code; all that it wrote: $log"
  fi
done
exit $status
