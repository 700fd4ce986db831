#!/usr/bin/env bash
# Runs every CUDA test of the test programs in a folder under NVIDIA's compute-sanitizer, each test with each tool in
# a process of its own, and prints a table: tool, program, tests, clean, over the limit, with findings.
#   tools/gpu_sanitize.sh [FOLDER]     FOLDER: build
# TOOLS: memcheck racecheck synccheck initcheck. LIMIT: seconds a test (600). JOBS: at once. LOGS: a folder.
# Ends 1 where a tool found something. Tests that judge times, or play a device's faults, say nothing here.
set -uo pipefail
FOLDER=${1:-build}
TOOLS=${TOOLS:-memcheck racecheck synccheck initcheck}
export LIMIT=${LIMIT:-600}
LOGS=${LOGS:-$(mktemp -d)}
export LOGS
SANITIZER=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
export SANITIZER
[ -x "$SANITIZER" ] || { echo "no compute-sanitizer: it comes with the CUDA toolkit" >&2; exit 1; }
mkdir -p "$LOGS"
: >"$LOGS/table.csv"

# sanitize TOOL PROGRAM TEST: one line of the table.
sanitize() {
  local log
  log="$LOGS/$(echo "$1.$(basename "$2").$3" | tr '/' '_').log"
  local start=$SECONDS status=0 findings
  timeout "$LIMIT" "$SANITIZER" --tool "$1" --error-exitcode 77 --print-limit 5 "$2" --gtest_filter="$3" >"$log" 2>&1 || status=$?
  findings=$(grep -oE '(ERROR SUMMARY: [0-9]+ error|RACECHECK SUMMARY: [0-9]+ hazard)' "$log" | grep -oE '[0-9]+' | tail -1)
  # A test of the CPU alone has nothing to instrument.
  grep -q "Target application terminated before first instrumented API call" "$log" && findings=0 status=0
  echo "$1,$(basename "$2"),$3,$status,${findings:-none},$((SECONDS - start))" >>"$LOGS/table.csv"
}
export -f sanitize

for tool in $TOOLS; do
  for program in "$FOLDER"/*_tests; do
    [ "$(basename "$program")" = harness_tests ] && continue  # judges times
    suite=
    "$program" --gtest_list_tests --gtest_filter='Cuda*:*/Cuda*:-CudaFaults*' | sed 's/ *#.*//' | while IFS= read -r line; do
      case "$line" in
        "  "*) echo "$tool $program $suite${line#  }" ;;
        *.) suite=$line ;;
      esac
    done
  done
done | xargs -r -P "${JOBS:-$(nproc)}" -L 1 bash -c 'sanitize "$@"' _

awk -F, '
  { k = $1 "," $2; tests[k]++; if ($4 == 124) late[k]++; else if ($4 == 0 && $5 == "0") clean[k]++; else bad[k]++ }
  END {
    print "tool,program,tests,clean,over the limit,findings or failures"
    for (k in tests) { print k "," tests[k] "," clean[k] + 0 "," late[k] + 0 "," bad[k] + 0 | "sort"; found += bad[k] }
    close("sort")
    exit found > 0
  }' "$LOGS/table.csv"
