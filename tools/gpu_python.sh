#!/usr/bin/env bash
# gpu_python.sh [FOLDER]: the Python package on this machine's GPU: its tests, those of arrays in GPU memory among them,
# and the times of whole calls. FOLDER holds the package `retable`, built with CUDA (default: build/python;
# `make gpu-check FAMILY=python` builds it and runs this). PYTHON: the interpreter that it was built for, with NumPy and pytest; what else is there
# (scikit-learn, CuPy, PyTorch, xgboost ...) is tested too. No network. Exit 1 where anything is not right.
set -uo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH=$(realpath "${1:-build/python}")${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
python=${PYTHON:-python3}
"$python" - <<'END' || exit 1
import sys
import retable
retable.show_versions()
if not retable.cuda_devices():
    sys.exit("no CUDA device answers: " + retable._retable.why_no_cuda_device())
END
failed=0
"$python" -m pytest -q -p no:cacheprovider python/tests || failed=1
"$python" tools/time_python_calls.py || failed=1
[ "$failed" = 0 ] && echo "the Python package on a GPU: all right"
exit "$failed"
