#!/usr/bin/env bash
# One plan over the processes of an MPI launcher, each taking its part of the cells; nothing is sent
# between them, so that any launcher does.
#
#   mpirun -n 8 tools/mpi_shards.sh 'shuffle/*' --profile paper --out results/cluster
#   build/retable run 'shuffle/*' --profile paper --out results/cluster     # measures what is missing, collects
#
# Timed cells have one process to themselves, not the machine: start one process a node for them
# (mpirun --map-by ppr:1:node), or give each its GPU as below. RETABLE names the program.
set -euo pipefail
if [ -n "${OMPI_COMM_WORLD_LOCAL_RANK:-}" ] && command -v nvidia-smi >/dev/null; then
  devices=$(nvidia-smi -L | wc -l)
  [ "$devices" -gt 1 ] && export CUDA_VISIBLE_DEVICES=$((OMPI_COMM_WORLD_LOCAL_RANK % devices))
fi
exec "${RETABLE:-build/retable}" run "$@" --shard auto
