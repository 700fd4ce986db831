#!/usr/bin/env bash
# The commands of docs/many-machines.md: a Slurm array, of which a node dies and another is drained, and the processes of
# mpirun fill one folder, and the tables are those of one run to the letter; a Slurm array explains the rows of one file.
# Where Slurm or Open MPI is not installed, a stand-in sets what they tell their processes, and a line says so.
# usage: test_many_machines.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
tools=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RETABLE=$program NO_COLOR=1 RETABLE_SELFTEST=1 RETABLE_ROOT=$work RETABLE_CACHE=$work/cache
cd "$work"
mkdir -p cluster bin plots experiments/selftest .git # a clone, where folders must be of results alone
cat >experiments/selftest/probe.toml <<'TOML'
version = 1
id = "selftest/probe"
protocol = "selftest/behaviour"
title = "Probe"
question = "Does it?"
citation = "nobody"
datasets = ["here"]
[settings]
milliseconds = 400
[axes]
size = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]
[[algorithm]]
name = "good"
label = "k = {k}"
k = [1, 2]
[table]
rows = "{label}"
over = ["size"]
columns = [{ name = "product", metric = "product", statistic = "mean" }]
TOML
what=(selftest/probe --profile smoke)
fail() { echo "$*" >&2; tail -n 5 "$work"/*.log >&2; exit 1; }

# same FOLDER: the table of one run, to the letter.
same() { cmp whole/selftest/probe.tidy.csv "$1/selftest/probe.tidy.csv" && cmp whole/selftest/probe.csv "$1/selftest/probe.csv"; }
stored() { find "$1/cells" -name '[0-9a-f]*.json' 2>/dev/null | wc -l; }
# until COMMAND...: waits for it to succeed, a minute at most.
until_true() { for ((i = 0; i < 300; ++i)); do "$@" && return; sleep 0.2; done; fail "waited in vain: $*"; }

# Within the cluster: the array loses one node, another takes no more tasks, all tasks are put back, and its follower is
# interrupted before; finished cells are kept.
hostile() {
  local run=("$RETABLE" run "${what[@]}" --jobs 1 --out slurm --submit 'slurm --array=1-4')
  enough() { [ "$(grep -sl '^\[1/' slurm/slurm/*-*.log | wc -l)" -eq 4 ]; }
  restarted() { scontrol --oneliner show job "$array" | grep -q "Restarts=1"; }
  "${run[@]}" >first.log 2>&1 & follower=$!
  until_true enough
  kill -INT $follower
  wait $follower && fail "an interrupted follower ended with 0" || [ $? -eq 130 ] || fail "its exit is not 130"
  grep -q "the same command follows them again" first.log || fail "it does not say what goes on"
  read -r array _ <slurm/slurm/jobs
  "$SLURM_CLUSTER/fail" node2
  scontrol update nodename=node2 state=down reason=killed
  until_true restarted
  scontrol update nodename=node3 state=drain reason=test
  scontrol requeue "$array" 2>requeue.log || true # it complains of tasks that are waiting already
  before=$(stored slurm)
  "${run[@]}" >second.log 2>&1 || fail "the array was not followed to its end"
  grep -q "array $array is still there" second.log || fail "a second array was submitted"
  grep -q "^0 measured, 48 stored before, none left" second.log || fail "the last job found cells missing"
  for log in slurm/slurm/"$array"-*.log; do
    read -r had < <(sed -n 's/^[0-9]* measured, \([0-9]*\) stored before.*/\1/p' "$log")
    [ "${had:-0}" -gt 0 ] || fail "$log: a task put back measured its cells again"
  done
  echo "Slurm, four nodes: one killed, one drained with $before of 48 cells stored, the array put back: the same as one run"
  sbatch --wait --array=1-4 --output=shap%a.log --wrap "'$RETABLE' shap ${shap[*]} --out phi.csv --chunk-rows 50 --shard auto" \
    >shap.log 2>&1 || fail "the array of retable shap"
  cmp one.csv phi.csv
  echo "Slurm, an array of four shares the rows of a file: the same as one call"
}

"$RETABLE" run "${what[@]}" --out whole >whole.log 2>&1 || fail "one run"
tree='{"feature": [0, -1, 1, -1, -1], "threshold": [500, 0, 7, 0, 0], "left": [1, -1, 3, -1, -1], "right": [2, -1, 4, -1, -1],
  "cover": [9, 4, 5, 2, 3], "value": [0, -1, 0, 2, 0.5]}'
echo '{"format": "retable-forest", "version": 1, "features": 2, "trees": ['"$tree"']}' >model.json
(echo a,b && for ((i = 0; i < 1000; ++i)); do echo $i,$((i % 10)); done) >rows.csv
shap=(--model model.json --data rows.csv --device cpu)
"$RETABLE" shap "${shap[@]}" --out one.csv >one.log 2>&1 || fail "one call of retable shap"

status=0
export -f hostile fail stored until_true
export what_words="${what[*]}" shap_words="${shap[*]}" work
"$tools/slurm_cluster.sh" cluster bash -euo pipefail -c 'read -ra what <<<"$what_words"; read -ra shap <<<"$shap_words"; hostile' ||
  status=$?
if [ $status -eq 77 ]; then
  cat >bin/sbatch <<'SBATCH'
#!/usr/bin/env bash
# All tasks of an array at once, as an idle cluster starts them; a job without array alone.
tasks=1-1
for word; do
  case $word in --array=*) tasks=${word#*=} ;; --output=*) output=${word#*=} ;; --wrap=*) wrap=${word#*=} ;; esac
done
export SLURM_JOB_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=${tasks#*-}
[ "$tasks" = 1-1 ] || SLURM_JOB_ID=1
for id in $(seq "${tasks#*-}"); do
  log=${output/\%[Aj]/$SLURM_JOB_ID}
  SLURM_ARRAY_TASK_ID=$id sh -c "$wrap" >"${log/\%a/$id}" 2>&1 &
done
wait
echo $SLURM_JOB_ID
SBATCH
  printf '#!/bin/sh\n' >bin/squeue # no job is left
  chmod +x bin/*
  PATH=$work/bin:$PATH "$RETABLE" run "${what[@]}" --out slurm --submit 'slurm --array=1-4' >slurm.log 2>&1 || fail "the array"
  grep -q "^0 measured, 48 stored before, none left" slurm.log || fail "the last job found cells missing"
  echo "an array of four under a stand-in for Slurm: the same as one run"
elif [ $status -ne 0 ]; then
  exit $status
fi
same slurm

if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  mpirun --oversubscribe -n 4 "$tools/mpi_shards.sh" "${what[@]}" --out mpi >mpi.log 2>&1 || fail mpirun
else
  echo "Open MPI is not tested: there is no mpirun (Debian: openmpi-bin)"
  for rank in 0 1 2 3; do # what a launcher sets
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=4 "$tools/mpi_shards.sh" "${what[@]}" --out mpi >"mpi$rank.log" 2>&1 &
  done
  wait
fi
"$RETABLE" run "${what[@]}" --out mpi 2>&1 | grep -q "^0 measured, 48 stored before, none left" || fail "cells were left"
same mpi
echo "four MPI processes: the same as one run"
