#!/usr/bin/env bash
# One command over the processes of an MPI launcher, each taking its part of the cells of a plan, or of the rows of a file;
# nothing is sent between them, so that any launcher does.
#
#   mpirun -n 8 tools/mpi_shards.sh 'shuffle/*' --profile paper --out results/cluster
#   build/retable run 'shuffle/*' --profile paper --out results/cluster     # measures what is missing, collects
#   mpirun -n 8 tools/mpi_shards.sh shap --model model.json --data rows.npy --out phi.npy
#
# Timed cells have one process to themselves, not the machine: start one process a node for them
# (mpirun --map-by ppr:1:node), or give each its GPU as below. RETABLE names the program.
set -euo pipefail
if [ -n "${OMPI_COMM_WORLD_LOCAL_RANK:-}" ] && command -v nvidia-smi >/dev/null; then
  devices=$(nvidia-smi -L | wc -l)
  [ "$devices" -gt 1 ] && export CUDA_VISIBLE_DEVICES=$((OMPI_COMM_WORLD_LOCAL_RANK % devices))
fi
verb=run
if [ "${1:-}" = shap ]; then
  verb=shap
  shift
fi
exec "${RETABLE:-build/retable}" "$verb" "$@" --shard auto
