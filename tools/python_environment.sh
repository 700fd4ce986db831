#!/usr/bin/env bash
# python_environment.sh FOLDER: a Python environment with what builds and tests the package's module (nanobind,
# NumPy, pytest), beside the distribution's packages, and the small ones of those whose models and frames its tests take,
# where they can be had. Made once; else prints why not, in one line, and exits 1.
set -uo pipefail
folder=$1
[ -f "$folder/made" ] && exit 0
python=/usr/bin/python3
[ -x "$python" ] || python=python3
if ! said=$("$python" -m venv --system-site-packages "$folder" 2>&1 &&
            "$folder/bin/pip" install --quiet --disable-pip-version-check --retries 1 "nanobind>=2.2" numpy pytest 2>&1); then
  rm -rf "$folder"
  echo "no Python environment with nanobind: $(grep -v '^ *$' <<<"$said" | tail -1)"
  exit 1
fi
# All anew, since the distribution's fit its own NumPy; the wheel of xgboost brings 300 MB for GPUs.
"$folder/bin/pip" install --quiet --disable-pip-version-check --retries 1 --ignore-installed scikit-learn pandas matplotlib lightgbm xgboost-cpu >"$folder/tests.log" 2>&1 ||
  echo "not installed, their tests are skipped: $(grep -v '^ *$' "$folder/tests.log" | tail -1)"
touch "$folder/made"
