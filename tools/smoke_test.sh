#!/usr/bin/env bash
# The smoke profile end to end: run, report, check; then what must have come out of it.
# usage: smoke_test.sh PROGRAM
set -euo pipefail
program=$1
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
begin=$SECONDS
# What it times is not looked at here, so that timed cells need not have the machine to themselves.
together=(--set exclusive=false)
# Under sanitisers a worker takes ten times as long to start; the tables reach every family.
experiments='*'
[ "${SANITIZED:-}" = ON ] && experiments='*/table*'
"$program" run "$experiments" --profile smoke "${together[@]}" --out "$out" >"$out/log" 2>&1 || { tail -30 "$out/log"; exit 1; }
# A sanitised program judges the results; drawing them is Python's, and the release build's to test.
files="verdicts.csv claims.csv environment.json run.json quantiles/table2.csv quantiles/table2.tidy.csv"
if [ "${SANITIZED:-}" = ON ]; then
  "$program" check --out "$out" >>"$out/log" 2>&1 || { tail -30 "$out/log"; exit 1; }
else
  "$program" report --out "$out" >>"$out/log" 2>&1 || { tail -30 "$out/log"; exit 1; }
  files+=" report.html report.md quantiles/table2.png quantiles/fig1.svg"
  grep -q "^report  .*report.html" "$out/log" || { echo "the report's path was not printed"; exit 1; }
fi
elapsed=$((SECONDS - begin))
for file in $files; do
  [ -s "$out/$file" ] || { echo "missing: $file"; exit 1; }
done
rows=$(($(wc -l <"$out/quantiles/table2.csv") - 1))
[ "$rows" -ge 27 ] || { echo "table2.csv has $rows rows, fewer than the paper's 27"; exit 1; }
# A second run measures nothing.
"$program" run "$experiments" --profile smoke "${together[@]}" --out "$out" 2>&1 | grep -q "^0 measured" || { echo "measured twice"; exit 1; }
echo "smoke profile: $elapsed s, $rows rows in table 2"
# A slow, shared or sanitised machine is not a failure of the program; the time is in the line above.
