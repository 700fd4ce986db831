#!/usr/bin/env bash
# The examples of docs/many-machines.md: a Slurm array (under a stand-in for sbatch that does what Slurm
# does to the environment) and mpirun (where there is one) fill one folder, cell for cell as one run does.
# usage: test_many_machines.sh PROGRAM
set -euo pipefail
export RETABLE=$1 NO_COLOR=1
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RETABLE_CACHE=$work/cache
unset RETABLE_OPENML_URL
what=(quantiles/table2 --profile smoke --set 'datasets=["iris"]')

cat >"$work/sbatch" <<'SBATCH'
#!/usr/bin/env bash
# sbatch --array=A-B SCRIPT ARGUMENTS: all tasks at once, as an idle cluster would start them.
range=${1#--array=}; shift
first=${range%-*}; last=${range#*-}
status=0
for id in $(seq "$first" "$last"); do
  SLURM_ARRAY_TASK_ID=$id SLURM_ARRAY_TASK_MIN=$first SLURM_ARRAY_TASK_MAX=$last \
    SLURM_ARRAY_TASK_COUNT=$((last - first + 1)) bash "$@" >"$0.$id.log" 2>&1 &
done
for task in $(jobs -p); do wait "$task" || status=1; done
exit $status
SBATCH
chmod +x "$work/sbatch"

# same_as_whole FOLDER: after a collecting run that measures nothing, the same table to the letter.
same_as_whole() {
  "$RETABLE" run "${what[@]}" --out "$1" 2>&1 | grep -q "^0 measured" || { echo "$1: cells were left"; exit 1; }
  cmp "$work/whole/quantiles/table2.tidy.csv" "$1/quantiles/table2.tidy.csv"
}

"$RETABLE" run "${what[@]}" --out "$work/whole" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/sbatch" --array=1-3 tools/slurm_array.sh "${what[@]}" --out "$work/slurm" || { cat "$work"/sbatch.*.log; exit 1; }
[ ! -e "$work/slurm/.lock" ] || { echo "a shard took the lock"; exit 1; }
same_as_whole "$work/slurm"
echo "a Slurm array of three: the same as one run"

if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  mpirun --oversubscribe -n 2 tools/mpi_shards.sh "${what[@]}" --out "$work/mpi" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
else
  for rank in 0 1; do # what a launcher sets
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 tools/mpi_shards.sh "${what[@]}" --out "$work/mpi" >"$work/log.$rank" 2>&1 &
  done
  wait
fi
same_as_whole "$work/mpi"
echo "two MPI processes: the same as one run"
