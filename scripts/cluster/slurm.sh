#!/usr/bin/env bash
# A sweep as a Slurm array: a task a shard, and a job behind them that puts them together.
# usage: sbatch --array=1-8 scripts/cluster/slurm.sh FOLDER OPTION...   (options of `tinytrain sweep`)
#        sbatch --dependency=afterok:JOB --wrap "tinytrain sweep merge FOLDER/shard-* --out FOLDER/whole"
#SBATCH --job-name=tinytrain-sweep
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --requeue
set -euo pipefail
folder=$1
shift
place=$folder/shard-$SLURM_ARRAY_TASK_ID
if [ -f "$place/sweep.json" ]; then
    # The task was requeued: members that have ended are not trained again.
    exec tinytrain sweep --resume "$place"
fi
exec tinytrain sweep "$@" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --threads "${SLURM_CPUS_PER_TASK:-1}" --out "$place"
