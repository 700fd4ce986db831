#!/usr/bin/env bash
# Fuzzes the readers. Needs clang to build; without it, says so and ends 0: the corpora and fixed
# mutations of them are run by the unit tests in any case.
#
#   tools/fuzz.sh                         builds each target and runs RUNS inputs (default 50000) from its corpus
#   tools/fuzz.sh build                   builds them
#   tools/fuzz.sh long SECONDS [FOLDER]   runs the programs of a build, all at once on JOBS cores, restarts after
#                                         each finding, prints a table, ends 1 where there are findings
#   tools/fuzz.sh merge [FOLDER]          adds to the corpora what FOLDER/found has of new edges, smallest first,
#                                         and drops what earlier merges added and that no longer adds any
#   tools/fuzz.sh pack FILE.tar.xz        the programs with their libraries for a machine without our
#                                         compiler: unpack it there and give `long` its folder
#
# TARGETS names some of them ("arff model").
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
RUNS=${RUNS:-50000}
TARGETS=${TARGETS:-}

configure() {
  local clang
  clang=$(command -v clang++ || true)
  if [ -z "$clang" ]; then
    echo "fuzzing skipped: no clang++ (apt-get install clang)"
    exit 0
  fi
  cmake -S . -B "$BUILD-fuzz" -G Ninja -DRETABLE_FUZZ=ON -DRETABLE_FUZZ_RUNS="$RUNS" \
    -DCMAKE_CXX_COMPILER="$clang" >"$BUILD-fuzz.log" 2>&1 || { cat "$BUILD-fuzz.log"; exit 1; }
  mv "$BUILD-fuzz.log" "$BUILD-fuzz/configure.log"
}

# build TARGET...: of cmake
build() {
  if ! cmake --build "$BUILD-fuzz" -j "$JOBS" --target "$@" >"$BUILD-fuzz/fuzz.log" 2>&1; then
    tail -60 "$BUILD-fuzz/fuzz.log"
    exit 1
  fi
}

# Lines "name longest corpus" of the chosen targets in a folder.
targets() {
  while read -r name longest corpus; do
    [ -n "$TARGETS" ] && [[ " $TARGETS " != *" $name "* ]] || echo "$name $longest $corpus"
  done <"$1/fuzz/targets"
}

# worker SECONDS FOLDER NAME LONGEST CORPUS NUMBER
worker() {
  local end=$((SECONDS + $1)) found=$2/found/$3 failures=0
  while [ "$SECONDS" -lt "$end" ] && [ "$failures" -lt 20 ]; do
    LD_LIBRARY_PATH=$2/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} nice "$2/$3_fuzz" \
      -max_total_time=$((end - SECONDS)) -max_len="$4" -timeout=10 -malloc_limit_mb=256 -seed=$((RANDOM + 1)) \
      -print_final_stats=1 -artifact_prefix="$2/findings/$3." "$found" "$5" >>"$2/logs/$3.$6" 2>&1 && break
    failures=$((failures + 1))
  done
}

long() {
  local seconds=$1 folder spare name longest corpus
  folder=$(realpath "${2:-$BUILD-fuzz}")
  rm -rf "$folder/logs" "$folder/findings"
  mkdir -p "$folder/logs" "$folder/findings"
  # Cores beyond one a target go round, first to the slow ones.
  local -A workers
  local names
  names=$(targets "$folder" | cut -d' ' -f1)
  spare=$((JOBS - $(echo "$names" | wc -l)))
  for name in $names; do workers[$name]=1; done
  while [ "$spare" -gt 0 ]; do
    for name in sketch model $names; do
      if [ "$spare" -gt 0 ] && [ -n "${workers[$name]:-}" ]; then
        workers[$name]=$((workers[$name] + 1))
        spare=$((spare - 1))
      fi
    done
  done
  while read -r name longest corpus; do
    mkdir -p "$folder/found/$name"
    for ((k = 0; k < workers[$name]; ++k)); do
      worker "$seconds" "$folder" "$name" "$longest" "$corpus" "$k" &
    done
  done < <(targets "$folder")
  wait
  table "$seconds" "$folder"
}

# table SECONDS FOLDER
table() {
  printf '| target | workers | seconds | inputs | a second | edges | findings |\n|---|---|---|---|---|---|---|\n'
  local name
  for name in $(targets "$2" | cut -d' ' -f1); do
    cat "$2/logs/$name".* | awk -v name="$name" -v seconds="$1" \
      -v workers="$(find "$2/logs" -name "$name.*" | wc -l)" \
      -v findings="$(find "$2/findings" -name "$name.*" | wc -l)" '
      /^stat::number_of_executed_units:/ { runs += $2 }
      { for (i = 1; i < NF; ++i) if ($i == "cov:" && $(i + 1) > edges) edges = $(i + 1) }
      END { printf "| %s | %d | %d | %d | %d | %d | %d |\n", name, workers, seconds, runs, runs / seconds, edges, findings }'
  done
  [ -z "$(ls -A "$2/findings")" ] || { ls "$2"/findings/*; return 1; }
}

merge() {
  local folder name longest corpus old
  folder=$(realpath "${1:-$BUILD-fuzz}")
  while read -r name longest corpus; do
    mkdir -p "$folder/found/$name"
    old=$(mktemp -d)
    # libFuzzer names what it adds by a hash; the rest has names of ours, and stays.
    find "$corpus" -maxdepth 1 -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -exec mv {} "$old" \;
    LD_LIBRARY_PATH=$folder/lib "$folder/${name}_fuzz" -merge=1 -use_counters=0 -max_len="$longest" "$corpus" "$old" \
      "$folder/found/$name" >"$old.log" 2>&1 || { tail -5 "$old.log"; mv "$old"/* "$corpus"; }
    rm -rf "$old" "$old.log"
    echo "$name: $(find "$corpus" -type f | wc -l) inputs, $(cat "$corpus"/* | wc -c) bytes"
  done < <(targets "$folder")
}

pack() {
  local folder name
  folder=$(mktemp -d)
  mkdir -p "$folder/packed/lib" "$folder/packed/fuzz"
  targets "$BUILD-fuzz" >"$folder/packed/fuzz/targets"
  for name in $(targets "$BUILD-fuzz" | cut -d' ' -f1); do
    strip -d -o "$folder/packed/${name}_fuzz" "$BUILD-fuzz/${name}_fuzz"
    # All but the C library, which every machine has its own of.
    ldd "$BUILD-fuzz/${name}_fuzz" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread|libresolv)\.so/ { print $3 }'
  done | sort -u | xargs -r cp -L -t "$folder/packed/lib"
  tar -C "$folder" -cJf "$1" packed
  rm -rf "$folder"
  ls -l "$1"
}

case "${1:-}" in
  "")
    configure
    # shellcheck disable=SC2046,SC2086  # several words
    build $([ -z "$TARGETS" ] && echo fuzz || printf 'run_%s_fuzz ' $TARGETS)
    grep -E "^Done [0-9]+ runs" "$BUILD-fuzz/fuzz.log"
    ;;
  build)
    configure
    # shellcheck disable=SC2046
    build $(targets "$BUILD-fuzz" | sed 's/ .*/_fuzz/')
    ;;
  long) long "${2:?SECONDS}" "${3:-}" ;;
  merge) merge "${2:-}" ;;
  pack) pack "${2:?FILE.tar.xz}" ;;
  *)
    sed -n '5,14s/^# \{0,1\}//p' "$0" >&2
    exit 1
    ;;
esac
