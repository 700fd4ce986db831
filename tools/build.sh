#!/usr/bin/env bash
# Configures FOLDER and builds targets there (none named: all), with a line that says how far it is.
# usage: build.sh FOLDER TARGETS [cmake arguments...]
#   NEEDED   families that the build must hold at least ("quantiles;shuffle"; "": all; any: what it has will do);
#            an argument -DRETABLE_ONLY says exactly which
#   RETABLE_CUDA   ON, OFF or AUTO; unset: as the folder has it, AUTO at first
#   RETABLE_CUDA_FAST_BUILD   ON, OFF; unset: as the folder has it
set -uo pipefail
cd "$(dirname "$0")/.." || exit
folder=$1 targets=$2
shift 2
JOBS=${JOBS:-$(nproc)}
export JOBS

NEEDED=${NEEDED:-}
if [ -f "$folder/CMakeCache.txt" ]; then
  has=$(sed -n 's/^RETABLE_ONLY:[A-Z]*=//p' "$folder/CMakeCache.txt")
  if [ -z "$has" ] || [ "$NEEDED" = any ]; then
    NEEDED=$has
  elif [ -n "$NEEDED" ]; then
    NEEDED=$(tr ';' '\n' <<<"$has;$NEEDED" | sort -u | paste -sd';')
  fi
fi
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DRETABLE_ONLY=${NEEDED/#any/}" \
  ${RETABLE_CUDA:+"-DRETABLE_CUDA=$RETABLE_CUDA"} \
  ${RETABLE_CUDA_FAST_BUILD:+"-DRETABLE_CUDA_FAST_BUILD=$RETABLE_CUDA_FAST_BUILD"} "$@" \
  >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
mv "$folder.log" "$folder/configure.log"
# shellcheck disable=SC2086  # several targets
ninja -C "$folder" -t commands ${targets:-all} >"$folder/plan"
# shellcheck disable=SC2086
if ! ninja -C "$folder" -j "$JOBS" $targets 2>&1 | tools/progress.sh build targets "$folder/build.log" "$folder/plan"; then
  grep -E "error|FAILED" "$folder/build.log" | head -50
  echo "The build failed; all that the compilers said: $folder/build.log" >&2
  exit 1
fi
