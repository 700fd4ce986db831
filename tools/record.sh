#!/usr/bin/env bash
# Keeps a run for others: copies what a report shows of a results folder (tables, tidy CSVs, verdicts,
# claims, environment), not the cells and samples, to results/recorded/NAME.
# usage: record.sh RESULTS_FOLDER NAME
set -euo pipefail
[ $# -eq 2 ] || { sed -n 's/^# usage/usage/p' "$0" >&2; exit 1; }
from=$1
to=$(dirname "$0")/../results/recorded/$2
[ -s "$from/run.json" ] || { echo "$from has no run.json: not a results folder" >&2; exit 1; }
mkdir -p "$to"
(cd "$from" && find . -maxdepth 2 \( -name '*.csv' -o -name '*.json' \) ! -path './cells/*' ! -path './runs/*' ! -name '*.samples.csv' ! -name '.figures.json' ! -name verdicts.csv) |
  while read -r file; do
    mkdir -p "$to/$(dirname "$file")"
    cp "$from/$file" "$to/$file"
  done
# The intervals of published cells stand in verdicts.csv alone: those of artifacts recorded before are kept.
[ -s "$to/verdicts.csv" ] && tail -n +2 "$from/verdicts.csv" >> "$to/verdicts.csv" || cp "$from/verdicts.csv" "$to/verdicts.csv"
# The command as anybody would type it, without this machine's paths.
sed -i -E 's|"command": "[^ "]*/?retable |"command": "build/retable |; s| --out [^ "]*||' "$to/run.json"
find "$to" -type f -exec sed -i -E 's|file://[^ ",;]*|the mirror|g' {} +
# Judged by the recorded tables, as it will be from now on.
"$(dirname "$0")/../build/retable" check --out "$to" --rewrite > /dev/null
du -sh "$to"
