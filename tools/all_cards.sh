#!/usr/bin/env bash
# Compiles every CUDA source, tests too, for every compute capability from 7.5 to 12.0 that the compiler knows, and
# links the program. Prints its size and the seconds. Warnings are errors.
# usage: all_cards.sh [targets instead]     BUILD and JOBS as for make; CUDACXX names another nvcc
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${BUILD:-build}-all-cards
options=(-DRETABLE_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=cards)
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
objects=$(ninja -C "$folder" -t targets all | sed -n 's/^\(.*\.cu\.o\): .*/\1/p')
[ -n "$objects" ] || { grep "CUDA" "$folder.log"; echo "no CUDA compiler was found: name one, CUDACXX=.../nvcc" >&2; exit 1; }
tools/build.sh "$folder" "${*:-$objects retable}" "${options[@]}"
[ $# = 0 ] || exit 0
echo "$(wc -l <<<"$objects") CUDA objects and the program in $SECONDS s; $folder/retable: $(stat -c %s "$folder/retable") bytes," \
  "device code $(size -A "$folder/retable" | awk '/nv_fatbin/ { sum += $2 } END { print sum + 0 }')"
