#!/usr/bin/env bash
# Shows how far a stage is, in done/total, time and time left: one renewed line on a terminal, else a line every 15 s
# (EVERY). Reads what ninja ("[3/90] Building ..."), CTest ("3/90 Test #7: ...") or apt (its status lines) writes, and
# keeps it in LOG.
# usage: COMMAND | progress.sh STAGE UNIT LOG PLAN
#   PLAN   a file that names each step in a line; what remains is forecast by what such steps cost
set -uo pipefail
stage=$1 unit=$2 log=$3 plan=$4
every=${EVERY:-15}
jobs=${JOBS:-$(nproc)}

# cost LINE: sets cost to the processor seconds of such a step, in tenths (two cores of a server, GCC 12).
cost() {
  case "$1" in
    *instantiate/*.cu.o*) cost=350 ;;
    *.cu.o*) cost=200 ;;
    *cmake_pch.hxx.gch*) cost=80 ;;
    *Unity/*) cost=130 ;;
    *.cpp.o*) cost=40 ;;
    *status:* | Inst\ *) cost=3 ;;
    *": fuzz"*) cost=1000 ;;
    *": adding_an_algorithm_page"*) cost=2000 ;;
    *": smoke"* | *": kills"* | *": plots"* | *": many_machines"* | *": course"*) cost=500 ;;
    *": program."*) cost=20 ;;
    *Test*) cost=5 ;;
    *) cost=10 ;;
  esac
}

# in_words SECONDS
in_words() {
  if [ "$1" -lt 60 ]; then words="$1 s"
  elif [ "$1" -lt 600 ]; then words="$(($1 / 60)) m $(($1 % 60)) s"
  else words="$((($1 + 30) / 60)) m"; fi
}

total_cost=0 steps=0
while IFS= read -r line; do
  cost "$line"
  total_cost=$((total_cost + cost)) steps=$((steps + 1))
done <"$plan"
if [[ $stage == *apt* ]]; then jobs=1; fi

# show: what stands now. Each core is taken to be busy with a step since the last one ended. A twentieth of the cost
# counts as forecast, so that the first steps do not speak for all.
done_cost=0 done=0 total=$steps shown=-$every stepped=0
show() {
  local all=$total_cost ahead running=$(((SECONDS - stepped) * 10 * jobs)) left
  if [ "$steps" -gt 0 ]; then
    all=$((total_cost * total / steps))
    [ "$running" -le $((jobs * total_cost / steps)) ] || running=$((jobs * total_cost / steps))
  fi
  running=$((done_cost + running))
  [ "$all" -ge "$running" ] || running=$all
  ahead=$((all / 20 + 1))
  left=$(((all - running) * (SECONDS * 10 + ahead / jobs) / (running + ahead) / 10))
  in_words $SECONDS
  local text="$stage $done/$total $unit, $words"
  in_words $left
  text+=", about $words left"
  if [ -t 1 ]; then printf '\r\033[K%s' "$text"; else printf '%s\n' "$text"; fi
  shown=$SECONDS
}

# step LINE: counts what a line says has ended.
step() {
  if [[ $1 =~ ^\[([0-9]+)/([0-9]+)\] || $1 =~ ^\ *([0-9]+)/([0-9]+)\ Test ]]; then
    done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    cost "$1"
    done_cost=$((done_cost + cost))
  elif [[ $1 =~ ^(dl|pm)status:[^:]*:([0-9]+) ]]; then
    done=$(((BASH_REMATCH[2] * steps + 99) / 100))
    done_cost=$((BASH_REMATCH[2] * total_cost / 100))
  else
    return 1
  fi
  stepped=$SECONDS
}

: >"$log"
line='' ended=''
while [ -z "$ended" ]; do
  IFS= read -r -t 1 part
  state=$?
  line+=$part
  if [ "$state" -gt 128 ]; then  # a second has passed
    news=yes
  else
    [ "$state" -eq 0 ] || ended=yes
    [ -z "$line" ] || printf '%s\n' "$line" >>"$log"
    step "$line" && news=yes || news=''
    line=''
  fi
  if [ -n "$news" ] && { [ -t 1 ] || [ $((SECONDS - shown)) -ge "$every" ]; }; then show; fi
done
[ ! -t 1 ] || printf '\r\033[K'
if [ "$done" -gt 0 ]; then
  in_words $SECONDS
  echo "$stage $done/$total $unit, $words"
fi
