#!/usr/bin/env bash
# Writes docs/configuration.md from the program's own table of fields. usage: write_docs.sh PROGRAM [FILE]
set -euo pipefail
program=${1:?usage: write_docs.sh PROGRAM [FILE]}
target=${2:-$(dirname "$0")/../docs/configuration.md}
{
  echo "# Every field of an experiment's TOML"
  echo
  echo "Written by \`make docs\` from the table that also validates the files (harness/config/schema.cpp). An unknown key, a wrong type or a"
  echo "value out of range is an error with file, line and column. Precedence: built in < experiment < profile < machine file"
  echo "(\`--machine\` or RETABLE_MACHINE) < \`--set key=value\`."
  echo
  "$program" list --fields
} >"$target"
