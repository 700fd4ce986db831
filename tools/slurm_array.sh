#!/usr/bin/env bash
# One plan over a Slurm array: every task takes its part of the cells and writes into one results folder,
# which all nodes must see. Without locks: no two tasks share a cell, and files are renamed into place.
#
#   sbatch --array=1-8 tools/slurm_array.sh 'quantiles/*' --profile paper --out results/cluster
#   build/retable report --out results/cluster          # afterwards, anywhere
#
# A task that was killed is simply submitted again (sbatch --array=3 would be another part: submit the
# whole array, stored cells are not repeated). RETABLE names the program, by default build/retable.
#SBATCH --job-name=retable
#SBATCH --output=retable-%A-%a.log
set -euo pipefail
exec "${RETABLE:-build/retable}" run "$@" --shard auto
