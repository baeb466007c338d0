#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A sweep as a Slurm array of 16 jobs: sbatch slurm.sh
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
exec schedlab sweep plan.toml -o "part-$SLURM_ARRAY_TASK_ID.db" --shard "$SLURM_ARRAY_TASK_ID/16" --jobs "$SLURM_CPUS_PER_TASK"
