#!/usr/bin/env bash
# The oracle suites at length: random cases against slow, plain answers. Every test program's Oracle*
# tests run for SECONDS_EACH seconds each (default 60), then random models of XGBoost, LightGBM,
# scikit-learn and CatBoost are explained by the program (tools/oracle_trainers.py), in a Python
# environment under the build folder. Prints a table: suite, cases, seconds, failures; exit 1 on a
# failure. Logs and failing cases stay in BUILD/oracle.
#   ORACLE='treeshap_tests trainers'   these alone
#   XGBOOST_VERSIONS='1.7.6 2.1.4'     also models of these versions
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
export RETABLE_ORACLE_SECONDS=${SECONDS_EACH:-60} NO_COLOR=1
BUILD=$(realpath "$BUILD")
LOGS=$BUILD/oracle
mkdir -p "$LOGS"
RETABLE_CACHE=$(mktemp -d)
export RETABLE_CACHE ORACLE_FAILURES="$LOGS/failures"
trap 'rm -rf "$RETABLE_CACHE"' EXIT
# What is compared with the program, at the versions that the table is about.
packages=(xgboost==3.2.0 lightgbm==4.7.0 scikit-learn==1.9.1 catboost==1.2.10 numpy==2.4.6)

# wanted NAME: whether ORACLE names it, or nothing.
wanted() { [ -z "${ORACLE:-}" ] || [[ " $ORACLE " == *" $1 "* ]]; }

for name in ${ORACLE:-}; do
  [ "$name" = trainers ] || [ -x "$BUILD/$name" ] || { echo "ORACLE names $name: no test program of $BUILD" >&2; exit 1; }
done

# run_test PROGRAM TEST: one line of the table.
run_test() {
  local log
  log=$LOGS/$(basename "$1").$(tr / _ <<<"$2").log
  local begun=$EPOCHREALTIME status=0
  "$1" --gtest_filter="$2" >"$log" 2>&1 || status=1
  awk -v name="$(basename "$1" _tests).$2" -v begun="$begun" -v end="$EPOCHREALTIME" -v failed=$status -F= \
    '/^ORACLE_CASES=/ { cases += $2 } END { printf "%-76s %9s %9.1f %9d\n", name, cases ? cases : "-", end - begun, failed }' "$log"
  if [ $status -ne 0 ]; then
    grep -E "RETABLE_TEST_SEED|Failure|\[  FAILED" -A 12 "$log" | head -40 >&2
    echo "  log: $log" >&2
  fi
  return $status
}

# environment NAME PIP-ARGUMENTS...: a Python environment with these packages, made once.
environment() {
  local folder=$BUILD/$1
  shift
  [ "$(cat "$folder/made" 2>/dev/null)" = "$*" ] && return
  rm -rf "$folder"
  if ! { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"; } \
      >"$LOGS/environment.log" 2>&1; then
    tail -5 "$LOGS/environment.log" >&2
    return 1
  fi
  echo "$*" >"$folder/made"
}

printf '%-76s %9s %9s %9s\n' suite cases seconds failures
failed=0
for program in "$BUILD"/*_tests; do
  [ -x "$program" ] && wanted "$(basename "$program")" || continue
  tests=$("$program" --gtest_list_tests --gtest_filter='Oracle*:*/Oracle*' \
    | awk '/^[^ ].*\.( |$)/ { suite = $1; next } /^  / { print suite $1 }')
  for test in $tests; do run_test "$program" "$test" || failed=1; done
done

if wanted trainers; then
  trainers=(tools/oracle_trainers.py "$BUILD/retable" --seconds "$RETABLE_ORACLE_SECONDS")
  if environment oracle-venv "${packages[@]}"; then
    "$BUILD/oracle-venv/bin/python" "${trainers[@]}" || failed=1
  else
    echo "trainers: no Python environment; the reason stands above" >&2
    failed=1
  fi
  for version in ${XGBOOST_VERSIONS:-}; do
    if environment "oracle-venv-$version" --no-deps "xgboost==$version" numpy==2.2.6 scipy==1.15.3; then
      echo "XGBoost $version:"
      "$BUILD/oracle-venv-$version/bin/python" "${trainers[@]}" --only xgboost || failed=1
    else
      failed=1
    fi
  done
fi
exit $failed
